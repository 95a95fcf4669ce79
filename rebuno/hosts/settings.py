"""The settings of a hook: one small JSON file a host, written by `rebuno hook install`."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts import HOSTS

# In seconds: what a host waits for a hook, where its settings do not say, and what we leave it to hear the answer.
TIMEOUT: Final = 60.0
MARGIN: Final = 3.0
RETENTION_DAYS: Final = 30.0
_VERSION: Final = 1
_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class HookSettings:
    """How the hook of one host judges.

    `policy` are files of bundles, the strictest answer of which holds; empty for the shipped `policies/coding.rbp`.
    `db` is the store's file or URL. With `observe` everything is decided and recorded, and nothing is stopped. `wait`
    is for how many seconds a question is held open, `timeout` after how many the host gives the hook up.
    `retention_days` is for how long ended sessions are kept, None for ever. `port` and `token` are those of the judge
    that hosts with HTTP hooks ask; 0 and empty where there is none. `path` is the file that they were read from, empty
    where there is none."""

    policy: tuple[str, ...] = ()
    db: str = ""
    observe: bool = False
    wait: float = 0.0
    timeout: float = TIMEOUT
    retention_days: float | None = RETENTION_DAYS
    port: int = 0
    token: str = ""
    path: str = ""

    @property
    def deadline(self) -> float:
        """The seconds after which the hook answers by itself, below the time at which the host gives it up."""
        return max(self.timeout - MARGIN, self.timeout / 2)

    @property
    def retention(self) -> float | None:
        """`retention_days` in seconds."""
        return None if self.retention_days is None else self.retention_days * _DAY


def settings_path(host: str, environ: Mapping[str, str]) -> str:
    """Where the settings of a host lie unless the hook's command names another file."""
    return os.path.join(_folder(environ, "XDG_CONFIG_HOME", ".config"), "rebuno", "hooks", f"{host}.json")


def state_folder(environ: Mapping[str, str]) -> str:
    """The user's folder for the store of hooks and the list of their failures."""
    return os.path.join(_folder(environ, "XDG_STATE_HOME", ".local/state"), "rebuno")


def read_settings(host: str, environ: Mapping[str, str], path: str | None = None) -> HookSettings:
    """The settings of a host, from the file `path`, or from where they lie; the defaults where nobody wrote any.

    Raises:
        ValidationError: the file named is missing or cannot be read, or what stands in it are no settings.
    """
    if host not in HOSTS:
        raise ValidationError(f"`{host}` is no host; write one of {', '.join(HOSTS)}")
    file = path or settings_path(host, environ)
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
    except FileNotFoundError:
        if path:
            raise ValidationError(f"the settings `{path}` are missing; run `rebuno hook install {host}`") from None
        return _with_store(HookSettings(), environ)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValidationError(f"the settings `{file}` cannot be read: {why}") from None
    try:
        found = settings_of(json.loads(text))
    except (ValueError, RecursionError):
        raise ValidationError(f"the settings `{file}` are no JSON; run `rebuno hook install {host}`") from None
    except ValidationError as error:
        raise ValidationError(f"the settings `{file}`: {error.message}") from None
    return _with_store(replace(found, path=file), environ)


def settings_of(value: Any) -> HookSettings:
    """Settings from their JSON: `{"version": 1, "policy"?, "db"?, "observe"?, "wait"?, "timeout"?, "retention_days"?,
    "port"?, "token"?}`.

    Raises:
        ValidationError: a field is unknown or of the wrong kind.
    """
    if not isinstance(value, dict):
        raise ValidationError("they are no JSON object")
    if value.get("version") != _VERSION:
        raise ValidationError(f"their `version` is not {_VERSION}; they were written by another version of rebuno")
    fields: dict[str, Any] = {}
    for name, given in value.items():
        if name == "version":
            continue
        if name not in _READERS:
            raise ValidationError(f"`{name}` is no setting; write one of {', '.join(_READERS)}")
        fields[name] = _READERS[name](name, given)
    return HookSettings(**fields)


def settings_json(settings: HookSettings) -> dict[str, Any]:
    """The JSON of settings, as `settings_of` reads it; what is the default is left out."""
    plain = HookSettings()
    value: dict[str, Any] = {"version": _VERSION}
    for name in _READERS:
        given = getattr(settings, name)
        if given != getattr(plain, name):
            value[name] = list(given) if name == "policy" else given
    return value


def _with_store(settings: HookSettings, environ: Mapping[str, str]) -> HookSettings:
    return settings if settings.db else replace(settings, db=os.path.join(state_folder(environ), "hooks.db"))


def _folder(environ: Mapping[str, str], name: str, below: str) -> str:
    # The base directory specification: a relative path there counts for nothing.
    given = environ.get(name, "")
    if os.path.isabs(given):
        return given
    return os.path.join(environ.get("HOME") or os.path.expanduser("~"), below)


def _policy(name: str, value: Any) -> tuple[str, ...]:
    files = [value] if isinstance(value, str) else value
    if not isinstance(files, list) or not all(isinstance(one, str) and one for one in files):
        raise ValidationError(f"`{name}` is a path or a list of paths")
    return tuple(files)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValidationError(f"`{name}` is no text")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValidationError(f"`{name}` is neither true nor false")
    return value


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10**9:
        raise ValidationError(f"`{name}` is no number of seconds")
    return float(value)


def _timeout(name: str, value: Any) -> float:
    seconds = _seconds(name, value)
    if seconds < 1:
        raise ValidationError(f"`{name}` is less than a second")
    return seconds


def _days(name: str, value: Any) -> float | None:
    return None if value is None else _seconds(name, value)


def _port(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**16:
        raise ValidationError(f"`{name}` is no port")
    return value


_READERS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "policy": _policy,
    "db": _text,
    "observe": _flag,
    "wait": _seconds,
    "timeout": _timeout,
    "retention_days": _days,
    "port": _port,
    "token": _text,
}
