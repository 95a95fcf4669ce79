"""One event on standard input to one answer: whatever goes wrong, the call does not run.

`run_hook` judges in this process. A judge that stays uses the pieces: `read_event_text`, `hook_gate`, `answer_in_time`,
`failed`.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, Final

from rebuno.errors import BundleError, ConflictError, LeaseSuperseded, RebunoError, StoreError, ValidationError, text_of
from rebuno.hosts.answer import HookAnswer
from rebuno.hosts.events import CallBegins, CallEnded
from rebuno.hosts.failures import failure_answer
from rebuno.hosts.host import host_named
from rebuno.hosts.settings import HookSettings, read_settings, state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rebuno.gate import Gate

# Of an event, in bytes. Hosts send whole files.
LARGEST: Final = 64 * 1024 * 1024
# How often a session that another hook holds is asked for again, in seconds.
_AGAIN: Final = 0.05
# For how long another hook may be at making the store, in seconds.
_MADE: Final = 0.5


class HookTimeoutError(RebunoError):
    """There was no answer before the host would have given the hook up."""


def run_hook(
    host: str,
    stream: IO[bytes],
    environ: Mapping[str, str],
    *,
    path: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> HookAnswer:
    """The answer to the event on `stream`. `path` names the settings, `given` what stands in their place where it is
    not None, False or empty. Never raises."""
    observe = bool(given and given.get("observe"))
    try:
        settings = read_settings(host, environ, path)
        settings = replace(settings, **{name: value for name, value in (given or {}).items() if value})
        observe = settings.observe
        with _watched(host, environ, settings):
            event = read_event_text(stream.read(LARGEST + 1))
            return asyncio.run(_judged(host, event, environ, settings))
    except BaseException as error:
        return failed(error, host, environ, observe=observe)


def failed(error: BaseException, host: str, environ: Mapping[str, str], *, observe: bool) -> HookAnswer:
    """The answer where there is none: a refusal with the cause and the fix. Where the policy is only observed the host
    goes on, and `rebuno hook doctor` tells of it."""
    return failure_answer(failure_sentence(error, host), host, environ, observe=observe)


def failure_sentence(error: BaseException, host: str) -> str:
    """What went wrong and how it is put right, in one sentence."""
    doctor = f"`rebuno hook doctor {host}` says more"
    match error:
        case BundleError():
            found = error.diagnostics
            first = _brief(str(found[0])) if found else "it cannot be read"
            return f"the policy has {len(found)} errors, first {first}; fix the bundle, `rebuno policy check` shows all"
        case HookTimeoutError() | StoreError():
            return f"{_brief(text_of(error))}; {doctor}"
        case ConflictError(holder=holder) if holder:
            return f"another hook held this session for too long ({_brief(text_of(error))}); {doctor}"
        case ValidationError() | RebunoError():
            return f"{_brief(text_of(error))}; {doctor}"
        case OSError():
            named = f"`{error.filename}`: " if error.filename else ""
            return f"{named}{_brief(error.strerror or text_of(error))}; {doctor}"
        case KeyboardInterrupt() | asyncio.CancelledError():
            return f"the hook was interrupted; {doctor}"
        case ModuleNotFoundError():
            out = f"`rebuno hook uninstall {host}`"
            return f"the package `{error.name}` is missing; install rebuno-kernel again, or take the hook out: {out}"
        case _:
            return f"a fault in rebuno: {type(error).__name__}: {_brief(text_of(error))}; {doctor}"


def read_event_text(text: bytes) -> dict[str, Any]:
    """The JSON object of an event.

    Raises:
        ValidationError: it is none, or longer than 64 MiB.
    """
    from rebuno.model.identity import parse

    if len(text) > LARGEST:
        raise ValidationError(f"the event is longer than {LARGEST:,} bytes")
    if not text.strip():
        raise ValidationError("the event is empty: the host sent nothing on standard input")
    try:
        event = parse(text)
    except (ValidationError, RecursionError) as error:
        from rebuno.hosts.results import readable_result

        # What ran is recorded, whatever it gave. An event of any other kind is read to the letter or not at all.
        event = readable_result(text)
        if event is None:
            raise ValidationError(f"the event cannot be read: {text_of(error)}") from None
    if not isinstance(event, dict):
        raise ValidationError("the event is no JSON object")
    return event


@asynccontextmanager
async def hook_gate(settings: HookSettings) -> "AsyncIterator[Gate]":
    """The gate that the settings describe.

    Raises:
        BundleError, StoreError: see `rebuno.gate.open_gate`.
    """
    from rebuno.gate import open_gate

    async with open_gate(
        settings.db, policy=policy_files(settings), observe=settings.observe, retention=settings.retention
    ) as gate:
        yield gate


def policy_files(settings: HookSettings) -> list[str]:
    """The bundles of the settings, the shipped one for coding agents where they name none."""
    if settings.policy:
        return list(settings.policy)
    from rebuno.packaged import policies

    return [str(policies() / "coding.rbp")]


async def answer_in_time(
    host: str, event: dict[str, Any], environ: Mapping[str, str], gate: "Gate", settings: HookSettings
) -> HookAnswer:
    """`sessions.answer`, within the time that the host gives it. A session that another process holds is waited for.

    Raises:
        HookTimeoutError: there was no answer in time.
        RebunoError: as `sessions.answer`.
    """
    from rebuno.hosts.sessions import answer

    name = event.get("hook_event_name", event.get("event"))
    short = host_named(host).SHORT_EVENTS.get(name if isinstance(name, str) else "", settings.timeout)
    deadline = min(settings.deadline, short * 0.8)
    held = ""
    try:
        async with asyncio.timeout(deadline):
            while True:
                try:
                    return await answer(host, event, environ, gate, settings)
                except LeaseSuperseded:
                    await asyncio.sleep(_AGAIN)
                except ConflictError as error:
                    if not error.holder:
                        raise
                    held = f": another hook or judge held this session ({_brief(text_of(error))})"
                    await asyncio.sleep(_AGAIN)
    except TimeoutError:
        raise HookTimeoutError(f"there was no answer within {deadline:g} seconds{held}") from None


async def _judged(host: str, event: dict[str, Any], environ: Mapping[str, str], settings: HookSettings) -> HookAnswer:
    await ready_store(host, event, environ, settings)
    async with hook_gate(settings) as gate:
        return await answer_in_time(host, event, environ, gate, settings)


async def ready_store(host: str, event: dict[str, Any], environ: Mapping[str, str], settings: HookSettings) -> None:
    """Makes the folder of the store where nobody named one, and looks that a call does not begin a new store in the
    place of one that is gone: what the session did before would be forgotten, and rules ask about it.

    Raises:
        StoreError: the store of a running session is gone.
        ValidationError: the event lacks what it must have.
    """
    from rebuno.errors import StoreUnreachable

    if "://" in settings.db or settings.db.startswith("sqlite:"):
        return
    until = asyncio.get_running_loop().time() + _MADE
    while _is_gone(settings.db):
        if not isinstance(host_named(host).read_event(event, environ), CallBegins | CallEnded):
            break
        if asyncio.get_running_loop().time() > until:
            raise StoreUnreachable(
                f"the store `{settings.db}` is gone, and with it what this session did; begin a new session",
                path=settings.db,
            )
        # Another hook makes it just now, perhaps.
        await asyncio.sleep(_AGAIN)
    folder = state_folder(environ)
    if os.path.dirname(settings.db) == folder:
        os.makedirs(folder, mode=0o700, exist_ok=True)


def _is_gone(store: str) -> bool:
    # A store keeps its owners in a folder beside it: without one there never was a store.
    return not os.path.exists(store) and os.path.exists(f"{store}-owners")


@contextmanager
def _watched(host: str, environ: Mapping[str, str], settings: HookSettings) -> "Iterator[None]":
    """Ends the process with a refusal where code of ours does not come back in time: a host lets the call run after a
    time of its own."""

    def late() -> None:
        answer = failed(
            HookTimeoutError(f"there was no answer within {settings.deadline:g} seconds"),
            host,
            environ,
            observe=settings.observe,
        )
        os.write(2, answer.stderr.encode("utf-8", "replace"))
        os.write(1, answer.stdout.encode())
        os._exit(answer.code)

    # After the deadline that is kept by itself.
    timer = threading.Timer(settings.deadline + 1.0, late)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _brief(text: str) -> str:
    whole = " ".join(text.split())
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in whole)
    return shown if len(shown) <= 600 else f"{shown[:600]}…"
