"""What the judge answers with: the settings that an event belongs to, their gate, and the ports of HTTP hooks."""

import asyncio
import hmac
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts.answer import HookAnswer
from rebuno.hosts.judge.gates import Gates
from rebuno.hosts.run import answer_in_time, failed, read_event_text, ready_store
from rebuno.hosts.settings import HookSettings, read_settings, settings_of
from rebuno.hosts.spans import span_seconds

if TYPE_CHECKING:
    from rebuno.hosts.judge.web import HookServer

logger: Final = logging.getLogger("rebuno.hosts")

# The environments of so many sessions are kept for their HTTP hooks.
_SESSIONS: Final = 200
_OPTIONS: Final = {"--settings", "--policy", "--db", "--wait", "--timeout", "--note"}
# What a host sets for one session.
_OF_SESSION: Final = ("CLAUDE", "CODEX_", "GEMINI_", "OPENCODE")


@dataclass(slots=True)
class _Caller:
    # The last `rebuno-hook` that came with the settings of a token, and what each session of the host had around it.
    argv: Sequence[str]
    environ: Mapping[str, str]
    cwd: str
    sessions: dict[str, Mapping[str, str]] = field(default_factory=dict)


class Desk:
    """Answers the events of every host. Use it from one event loop."""

    def __init__(self) -> None:
        self._gates = Gates()
        self._servers: dict[int, HookServer] = {}
        self._callers: dict[str, _Caller] = {}
        self._tokens: dict[tuple[str, str], str] = {}

    @property
    def busy(self) -> bool:
        """A host with HTTP hooks cannot start a judge: one that serves a port stays."""
        return bool(self._servers)

    async def respond(self, argv: Sequence[str], event: bytes, environ: Mapping[str, str], cwd: str) -> HookAnswer:
        """The answer to an event, as `rebuno hook run` would give it."""
        host, observe = argv[0], "--observe" in argv
        try:
            settings = _settings(argv, environ, cwd)
            observe = settings.observe
            found = read_event_text(event)
            if settings.port and settings.token:
                await self._serve(settings, argv, environ, cwd, found)
            return await self._gates.use(
                settings,
                lambda: ready_store(host, found, environ, settings),
                lambda gate: answer_in_time(host, found, environ, gate, settings),
            )
        except Exception as error:
            return failed(error, host, environ, observe=observe)

    async def upkeep(self) -> None:
        """Completes sessions that had no call for a day, and closes stores that nobody uses."""
        await self._gates.upkeep()

    async def close(self) -> None:
        """Closes stores and ports."""
        await asyncio.gather(*(server.close() for server in self._servers.values()))
        await self._gates.close()

    async def _serve(
        self, settings: HookSettings, argv: Sequence[str], environ: Mapping[str, str], cwd: str, event: dict[str, Any]
    ) -> None:
        """Takes the token of these settings at their port, and keeps what an event there does not tell."""
        server = self._servers.get(settings.port)
        if server is None:
            from rebuno.hosts.judge.web import HookServer

            server = HookServer(self._over_http, settings.port)
            try:
                await server.start()
            except OSError as error:
                # Its hooks fail by themselves. What came here is no part of it.
                logger.warning("port %d of the HTTP hooks cannot be had: %s", settings.port, error.strerror)
                return
            self._servers[settings.port] = server
        named = (argv[0], settings.path)
        before = self._tokens.get(named)
        if before is not None and before != settings.token:
            self._callers.pop(before, None)
        self._tokens[named] = settings.token
        caller = self._callers.get(settings.token)
        if caller is None:
            caller = self._callers[settings.token] = _Caller(argv, environ, cwd)
        caller.argv, caller.environ, caller.cwd = argv, environ, cwd
        caller.sessions.pop(session := str(event.get("session_id")), None)
        caller.sessions[session] = environ
        if len(caller.sessions) > _SESSIONS:
            del caller.sessions[next(iter(caller.sessions))]
        server.tokens = {token for token in self._tokens.values() if token in self._callers}

    async def _over_http(self, token: str, host: str, event: bytes) -> HookAnswer:
        from rebuno.hosts.judge.web import HttpError

        caller = self._callers.get(token)
        if caller is None or caller.argv[0] != host:
            raise HttpError(404, "the settings with this token are those of another host")
        try:
            session = str(read_event_text(event).get("session_id"))
        except ValidationError:
            session = ""
        environ = caller.sessions.get(session)
        if environ is None:
            environ = {name: value for name, value in caller.environ.items() if not name.startswith(_OF_SESSION)}
        if not hmac.compare_digest(_settings(caller.argv, environ, caller.cwd).token.encode(), token.encode()):
            self._callers.pop(token, None)
            raise HttpError(401, "the token of the settings is another one now")
        return await self.respond(caller.argv, event, environ, caller.cwd)


def _settings(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> HookSettings:
    """The settings of a host, with what the command line puts in their place. Paths are those of the host's folder.

    Raises:
        ValidationError: the settings, or an option, are none.
    """
    path, given = _options(argv[1:])
    settings = replace(read_settings(argv[0], environ, _absolute(path, cwd) if path else None), **given)
    return replace(
        settings,
        policy=tuple(_absolute(file, cwd) for file in settings.policy),
        db=settings.db if ":" in settings.db else _absolute(settings.db, cwd),
    )


def _options(words: Sequence[str]) -> tuple[str | None, dict[str, Any]]:
    path: str | None = None
    found: dict[str, Any] = {}
    left = list(words)
    while left:
        name, is_given, value = left.pop(0).partition("=")
        if name == "--observe" and not is_given:
            found["observe"] = True
            continue
        if name not in _OPTIONS or not (is_given or left):
            raise ValidationError(f"`rebuno hook run` has no option `{name[:40]}`, or it lacks its value")
        value = value if is_given else left.pop(0)
        match name:
            case "--settings":
                path = value
            case "--policy":
                found.setdefault("policy", []).append(value)
            case "--db":
                found["db"] = value
            case "--note":
                pass
            case _:
                found[name[2:]] = span_seconds(name, value)
    checked = settings_of({"version": 1, **found})
    return path, {name: getattr(checked, name) for name in found if getattr(checked, name)}


def _absolute(path: str, cwd: str) -> str:
    return os.path.join(cwd or "/", path)
