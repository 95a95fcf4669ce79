"""The configuration of a proxy: one YAML file, its secrets from the environment."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic import ValidationError as Misfit

from rebuno.errors import ValidationError
from rebuno.mcp_proxy.redaction import Redaction
from rebuno.model.step import Idempotency
from rebuno.policy import LiteralError, parse_duration, read_source, read_yaml

# INVARIANT: no dot, no `__`, no `_` at the end: `SERVER__TOOL` has one reading, whatever the tool is called.
_SERVER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?=[A-Za-z0-9-])){0,63}", re.ASCII)
_VARIABLE: Final = re.compile(r"\$\{([^}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MOST_WRONG: Final = 10
# Where `${NAME}` is replaced.
_FILLED: Final = ("servers", "session", "token")

Protocol = Literal["auto", "2025-11-25", "2026-07-28"]
Retry = Literal["at_most_once", "safe_to_retry"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ProxyBounds(_Part):
    """`result` is the largest result in bytes, `calls` how many calls of a session run at once, `seconds` how long a
    call may take, `start` how long a server may take to answer at first."""

    result: int = Field(default=4 * 1024 * 1024, ge=1024)
    calls: int = Field(default=32, ge=1)
    seconds: float = Field(default=300.0, gt=0)
    start: float = Field(default=30.0, gt=0)

    @field_validator("seconds", "start", mode="before")
    @classmethod
    def _a_duration(cls, value: Any) -> Any:
        return _seconds(value)


class ServerConfig(_Part):
    """A server behind the proxy: a `command`, or a `url`. `protocol` is the version that it is spoken to in;
    `idempotency` says of its tools, by name, which may be called again, `trust_hints` lets its own hints say so."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    protocol: Protocol = "auto"
    trust_hints: bool = False
    idempotency: dict[str, Retry] = Field(default_factory=dict)

    @field_validator("args", mode="before")
    @classmethod
    def _a_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("url")
    @classmethod
    def _an_address(cls, value: str) -> str:
        if value and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
            raise ValueError("is no http or https URL")
        return value

    @model_validator(mode="after")
    def _one_way(self) -> "ServerConfig":
        if bool(self.command) == bool(self.url):
            raise ValueError("needs a `command` or a `url`, and not both")
        for name, of in (("args", "command"), ("env", "command"), ("cwd", "command"), ("headers", "url")):
            if getattr(self, name) and not getattr(self, of):
                raise ValueError(f"`{name}` goes with `{of}`")
        return self

    def safe(self, tool: str, hinted: bool) -> bool:
        """Whether a call of this tool may be made again after one whose outcome is unknown. `hinted`: the server says
        so."""
        told = self.idempotency.get(tool)
        return told == Idempotency.SAFE.value if told else self.trust_hints and hinted


class _ConfigFile(_Part):
    servers: dict[str, ServerConfig] = Field(min_length=1)
    policy: str | tuple[str, ...] = ()
    store: str = ""
    agent: str = Field(default="mcp", min_length=1, max_length=256)
    lock: str = ""
    wait: float = Field(default=0.0, ge=0)
    session: str = Field(default="", max_length=256)
    token: str = Field(default="", repr=False)
    bounds: ProxyBounds = Field(default_factory=ProxyBounds)

    @field_validator("policy", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("wait", mode="before")
    @classmethod
    def _a_duration(cls, value: Any) -> Any:
        return _seconds(value)

    @field_validator("servers")
    @classmethod
    def _named(cls, value: dict[str, ServerConfig]) -> dict[str, ServerConfig]:
        for name in value:
            if not _SERVER.fullmatch(name):
                raise ValueError(
                    f"`{name[:80]}` is no name of a server: at most 64 letters, digits, `-` and single `_` inside"
                )
        alike: dict[str, str] = {}
        for name in value:
            if (other := alike.setdefault(name.lower(), name)) != name:
                raise ValueError(f"`{other}` and `{name}` differ by case alone, which some hosts do not keep")
        return value


@dataclass(frozen=True, slots=True)
class ProxyConfig:
    """What a configuration file says. `policy` are paths of bundles, `store` a path or URL, `lock` the path of the file
    of pinned definitions, or empty; `wait` is in seconds; `session` names the session of a client on stdio, `token` is
    what clients send over HTTP. `redaction` takes the secrets out of texts."""

    path: Path
    servers: Mapping[str, ServerConfig]
    policy: tuple[Path, ...]
    store: str
    agent: str
    lock: Path | None
    wait: float
    session: str
    token: str = field(repr=False)
    bounds: ProxyBounds
    redaction: Redaction


def read_config(path: str | Path, environment: Mapping[str, str] = os.environ) -> ProxyConfig:
    """The configuration at `path`. Every `${NAME}` in the values below `servers`, in `session` and in `token` is
    replaced from the environment; other paths are relative to the file's folder.

    Raises:
        BundleError: it cannot be read, or is no YAML.
        ValidationError: a variable is not set, or a key does not fit; the message names the keys, never their values.
    """
    data = read_yaml(read_source(path), "proxy", "write `servers:` and a server by its name").plain()
    where = f"the configuration `{path}`"
    if not isinstance(data, dict):
        raise ValidationError(f"{where} does not fit: write `servers:` and a server by its name")
    secrets: list[str] = []
    filled = {
        key: _filled(value, environment, [] if key == "session" else secrets, where) if key in _FILLED else value
        for key, value in data.items()
    }
    try:
        file = _ConfigFile.model_validate(filled)
    except Misfit as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = "; ".join(_said(one["loc"], one["msg"]) for one in found[:_MOST_WRONG])
        raise ValidationError(f"{where} does not fit: {Redaction(secrets)(wrong)}") from None
    secrets += [file.token]
    for server in file.servers.values():
        secrets += [*server.env.values(), *server.headers.values()]
    folder = Path(path).absolute().parent
    policy = (file.policy,) if isinstance(file.policy, str) else file.policy
    store = file.store
    return ProxyConfig(
        path=Path(path),
        servers=file.servers,
        policy=tuple(folder / one for one in policy if one),
        store=str(folder / store) if store and "://" not in store and store != ":memory:" else store,
        agent=file.agent,
        lock=folder / file.lock if file.lock else None,
        wait=file.wait,
        session=file.session,
        token=file.token,
        bounds=file.bounds,
        redaction=Redaction(secrets),
    )


def _said(place: tuple[int | str, ...], message: str) -> str:
    text = message.removeprefix("Value error, ")
    return f"`{'.'.join(map(str, place)) or 'the file'}`: {text[:1].lower()}{text[1:]}"


def _seconds(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return float(parse_duration(value))
        except LiteralError as error:
            raise ValueError(f"{error.message}; {error.help}") from None
    return value


def _filled(data: Any, environment: Mapping[str, str], secrets: list[str], where: str) -> Any:
    if isinstance(data, dict):
        return {name: _filled(value, environment, secrets, where) for name, value in data.items()}
    if isinstance(data, list):
        return [_filled(value, environment, secrets, where) for value in data]
    if not isinstance(data, str):
        return data

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if not _NAME.fullmatch(name):
            raise ValidationError(f"{where}: `${{{name[:80]}}}` names no variable; write it like `${{API_TOKEN}}`")
        if name not in environment:
            raise ValidationError(f"{where} needs the variable `{name}`, which is not set")
        secrets.append(environment[name])
        return environment[name]

    return _VARIABLE.sub(value, data)
