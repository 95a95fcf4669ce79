"""The settings of a server, checked before the store is opened."""

from dataclasses import dataclass, field

from rebuno.errors import ValidationError
from rebuno.kernel import Settings
from rebuno.model.bounds import Bounds

SHORTEST_TOKEN = 16
# Seconds.
SHORTEST_LEASE = 10
# One that commits, and one that reads beside it.
FEWEST_CONNECTIONS = 2


@dataclass(frozen=True, slots=True)
class Config:
    """`db` is a path or URL. `bearer_token` lets its bearer do everything; where a server is `open_to_all`, so may who
    sends no token. `layers` are the paths of bundles for all agents, the outermost first; `shadows`
    are those of bundles that are tried beside them and decide nothing; `permissive` allows agents without a bundle what
    the layers allow. `webhooks` are the URLs below which agents may be (none: any), `manifest` the
    path of one. `notify` is the path of a file of targets that are told of questions, with links that begin with
    `public_url`. There are `connections` to a
    database at most. `bounds` are those of a
    body. Port 0 is any free one; `grace` is how long requests may take to end at a shutdown, in seconds. Where
    it is `traced`, requests, executions and steps are spans of OpenTelemetry. With `encrypt` every payload of a new
    execution is stored encrypted; `key_ring` is the path of a key ring, `key_command` a command that prints one."""

    db: str
    host: str = "127.0.0.1"
    port: int = 8080
    bearer_token: str = field(default="", repr=False)
    open_to_all: bool = False
    permissive: bool = False
    layers: tuple[str, ...] = ()
    shadows: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    manifest: str = ""
    notify: str = ""
    public_url: str = ""
    connections: int = 8
    settings: Settings = field(default_factory=Settings)
    bounds: Bounds = field(default_factory=Bounds)
    grace: float = 20.0
    traced: bool = False
    encrypt: bool = False
    key_ring: str = ""
    key_command: str = ""

    def check(self) -> None:
        """Raises `ValidationError` if the settings do not fit together."""
        if not self.db:
            raise ValidationError("a server needs a store; give `--db URL`, or set REBUNO_DB_URL")
        if not self.open_to_all and not self.bearer_token:
            raise ValidationError(
                "a server needs a token for its operators; give `--bearer-token`, or set REBUNO_BEARER_TOKEN"
            )
        if not self.open_to_all and len(self.bearer_token) < SHORTEST_TOKEN:
            raise ValidationError(f"the bearer token has fewer than {SHORTEST_TOKEN} characters, which can be guessed")
        if not self.bearer_token.isascii() or not self.bearer_token.isprintable() or " " in self.bearer_token:
            raise ValidationError("the bearer token holds a character that no header can carry; use letters and digits")
        if self.encrypt and not (self.key_ring or self.key_command):
            raise ValidationError("encryption needs a key ring; give `--key-ring FILE` or `--key-command CMD`")
        if self.db == ":memory:" and not self.open_to_all:
            raise ValidationError("a server that forgets everything is for `rebuno dev`; name a file or a database")
        if self.settings.max_attempts < 1 or self.settings.deliveries < 1:
            raise ValidationError("at least one attempt, and one delivery at once, are needed")
        if self.settings.max_keys < 1:
            raise ValidationError("at least one API key is needed; raise `--max-keys`")
        if self.settings.unreachable_for < 0:
            raise ValidationError("an agent cannot be unreachable for less than no time")
        if self.settings.lease < SHORTEST_LEASE:
            raise ValidationError(f"a lease lasts {SHORTEST_LEASE} seconds at least")
        if self.public_url and not self.notify:
            raise ValidationError("`--public-url` is for the links of notices; name their file with `--notify`")
        if self.connections < FEWEST_CONNECTIONS:
            raise ValidationError(f"a server needs {FEWEST_CONNECTIONS} connections to its database at least")
