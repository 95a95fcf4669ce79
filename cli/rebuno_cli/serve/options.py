"""The shared options and startup of `rebuno dev` and `rebuno server`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rebuno.errors import ValidationError
from rebuno.packaged import needing
from rebuno_cli.options import Number

if TYPE_CHECKING:
    import logging

    from rebuno.server.config import Config

_Command = TypeVar("_Command", bound=Callable[..., object])

bearer_token = click.option(
    "--bearer-token",
    default="",
    metavar="TOKEN",
    envvar="REBUNO_BEARER_TOKEN",
    show_envvar=True,
    help="Who sends it may do everything.",
)
host = click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="HOST",
    envvar="REBUNO_HOST",
    show_envvar=True,
    help="Where to listen.",
)
port = click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    default=8080,
    show_default=True,
    metavar="PORT",
    envvar="REBUNO_PORT",
    show_envvar=True,
    help="0: any free port.",
)
layers = click.option(
    "--layer",
    multiple=True,
    metavar="FILE",
    help="A bundle for all agents, before their own; may be given again.",
)
shadows = click.option(
    "--shadow",
    multiple=True,
    metavar="FILE",
    help="A bundle to try: what it says of each step is recorded, and decides nothing; may be given again.",
)
manifest = click.option("--config", default="", metavar="FILE", help="A manifest of agents and their policies.")
notify = click.option(
    "--notify",
    default="",
    metavar="FILE",
    envvar="REBUNO_NOTIFY",
    show_envvar=True,
    help="Who is told of questions: a YAML file of targets.",
)
public_url = click.option(
    "--public-url",
    default="",
    metavar="URL",
    envvar="REBUNO_PUBLIC_URL",
    show_envvar=True,
    help="Where browsers find this server, for the links of notices.",
)
webhooks = click.option(
    "--allow-webhook",
    multiple=True,
    metavar="URL",
    help="Agents may be below this URL only (`https://*.example.com` too); may be given again.",
)
max_attempts = click.option(
    "--max-attempts",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    envvar="REBUNO_DISPATCH_MAX_ATTEMPTS",
    show_envvar=True,
    help="After so many deliveries that reached its handler an execution fails.",
)
unreachable_for = click.option(
    "--unreachable-for",
    default="24h",
    show_default=True,
    metavar="DURATION",
    envvar="REBUNO_UNREACHABLE_FOR",
    show_envvar=True,
    help="An execution fails whose agent is not reached for so long.",
)
lease = click.option(
    "--lease",
    type=Number(min=10),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    envvar="REBUNO_LEASE",
    show_envvar=True,
    help="How long an agent may be silent that names no time of its own.",
)
default_deadline = click.option(
    "--default-deadline",
    default="",
    metavar="DURATION",
    envvar="REBUNO_DEFAULT_DEADLINE",
    show_envvar=True,
    help="Cancel new executions so long after their creation, such as 12h; never if not given.",
)
approval_timeout = click.option(
    "--approval-timeout",
    default="",
    metavar="DURATION",
    envvar="REBUNO_APPROVAL_TIMEOUT",
    show_envvar=True,
    help="How long a question stands whose rule does not say it with `expires`; for ever if not given.",
)
deliveries = click.option(
    "--deliveries",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    metavar="N",
    envvar="REBUNO_DELIVERIES",
    show_envvar=True,
    help="So many webhooks are on their way at once.",
)
connections = click.option(
    "--connections",
    type=click.IntRange(min=2),
    default=8,
    show_default=True,
    metavar="N",
    envvar="REBUNO_CONNECTIONS",
    show_envvar=True,
    help="So many connections to a database at most.",
)
cleanup_interval = click.option(
    "--cleanup-interval",
    default="2s",
    show_default=True,
    metavar="DURATION",
    envvar="REBUNO_CLEANUP_INTERVAL",
    show_envvar=True,
    help="How often what is overdue is ended, and what is old removed.",
)
retention = click.option(
    "--retention",
    default="",
    metavar="DURATION",
    envvar="REBUNO_RETENTION",
    show_envvar=True,
    help="How long ended executions are kept: 30d, 24h; or ever.",
)
grace = click.option(
    "--grace",
    type=Number(min=0),
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    envvar="REBUNO_GRACE",
    show_envvar=True,
    help="How long requests may take at a shutdown.",
)
max_values = click.option(
    "--max-values",
    type=click.IntRange(min=100),
    default=100_000,
    show_default=True,
    metavar="N",
    envvar="REBUNO_MAX_VALUES",
    show_envvar=True,
    help="So many values a body may hold.",
)
max_digits = click.option(
    "--max-digits",
    type=click.IntRange(min=20),
    default=4_300,
    show_default=True,
    metavar="N",
    envvar="REBUNO_MAX_DIGITS",
    show_envvar=True,
    help="So many digits a number in a body may have.",
)
max_keys = click.option(
    "--max-keys",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    metavar="N",
    envvar="REBUNO_MAX_KEYS",
    show_envvar=True,
    help="So many API keys there may be, without revoked ones.",
)
encrypt = click.option(
    "--encrypt",
    is_flag=True,
    envvar="REBUNO_ENCRYPT",
    show_envvar=True,
    help="Store every payload of new executions encrypted; a key ring is needed.",
)
key_ring = click.option(
    "--key-ring",
    default="",
    metavar="FILE",
    envvar="REBUNO_KEY_RING",
    show_envvar=True,
    help="The key ring, a file of mode 0600; `rebuno keyring create` makes one.",
)
key_command = click.option(
    "--key-command",
    default="",
    metavar="CMD",
    envvar="REBUNO_KEY_COMMAND",
    show_envvar=True,
    help="A command that prints the key ring, in the place of a file.",
)
log_format = click.option(
    "--log-format",
    type=click.Choice(["json", "text"]),
    default="json",
    show_default=True,
    envvar="REBUNO_LOG_FORMAT",
    show_envvar=True,
    help="One JSON object a line, or lines for people.",
)
log_level = click.option(
    "--log-level",
    default="info",
    show_default=True,
    metavar="LEVEL",
    envvar="REBUNO_LOG_LEVEL",
    show_envvar=True,
    help="`debug` names every decision; or info, warning, error.",
)


def db(default: str) -> Callable[[_Command], _Command]:
    """The store's option, and which store is used where none is named."""
    return click.option(
        "--db",
        default=default,
        show_default=bool(default),
        metavar="URL",
        envvar="REBUNO_DB_URL",
        show_envvar=True,
        help="The store.",
    )


console_hosts = click.option(
    "--console-host",
    multiple=True,
    metavar="NAME",
    help="A name by which browsers reach /console, besides the server's addresses; may be given again.",
)
console_https = click.option("--console-https", is_flag=True, help="Browsers reach /console by https only.")
console_proxies = click.option(
    "--console-proxy",
    multiple=True,
    metavar="ADDRESS",
    help="A reverse proxy that says who a person is, as an address or a network; may be given again.",
)
console_header = click.option(
    "--console-header",
    default="X-Forwarded-User",
    show_default=True,
    metavar="NAME",
    help="The header in which the proxy does so.",
)
console_scopes = click.option(
    "--console-scope",
    multiple=True,
    metavar="SCOPE",
    help="What these people may do; may be given again. If not given: read, and answer questions.",
)


def serve(
    config: "Config",
    started: Callable[[str], None],
    handler: "logging.Handler",
    level: int,
    console: Mapping[str, Any] | None = None,
) -> int:
    """Serves until it is told to stop, its log going to `handler`. `console` are the arguments of
    `rebuno.console.ConsoleSettings.read`.

    Raises:
        RebunoError, OSError: as `rebuno.server.run.run`; also where the extra `server` is not installed.
    """
    config.check()
    import asyncio

    with needing("server", "a server"):
        import uvloop

        from rebuno.console import ConsoleSettings, mounted
        from rebuno.server.run import run

    settings = ConsoleSettings.read(**(console or {}))

    with logged(handler, level), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(config, started, lambda server: mounted(server, settings)))
    return 0


@contextmanager
def logged(handler: "logging.Handler", level: int) -> Iterator[None]:
    """While the context is open, what is said goes to `handler`."""
    import logging

    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    # What these libraries say of their own work is of no use to an operator, unless it is a warning.
    for name in ("uvicorn", "httpx2", "httpcore2", "asyncio", "psycopg"):
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        root.removeHandler(handler)


def seconds_or_none(option: str, duration: str) -> float | None:
    """As `seconds`; None for an empty text."""
    return seconds(option, duration) if duration else None


def seconds(option: str, duration: str) -> float:
    """The seconds of a duration such as `30d` or `12h`; `ValidationError` where it is none."""
    from rebuno.policy import LiteralError, parse_duration

    try:
        return float(parse_duration(duration))
    except LiteralError as error:
        raise ValidationError(f"`{option}`: {error.message}; {error.help}") from None


def level_of(name: str) -> int:
    """The level of a log by its name; `ValidationError` where there is none."""
    import logging

    levels = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
    if name.lower() not in levels:
        raise ValidationError(f"`{name}` is no level of a log; one of {', '.join(levels)}")
    return levels[name.lower()]
