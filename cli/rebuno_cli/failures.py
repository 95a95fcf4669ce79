"""Maps errors to exit codes and messages."""

import contextlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rebuno.errors import (
    APIError,
    BundleError,
    ConflictError,
    ForbiddenError,
    NetworkError,
    NotFoundError,
    NotJSON,
    RebunoError,
    SealErased,
    SealKeyMissing,
    StoreError,
    Terminated,
    UnauthorizedError,
    ValidationError,
)

YES: Final = 0
NO: Final = 1
USAGE: Final = 2
UNUSABLE: Final = 3
NOT_FOUND: Final = 4
INTERRUPTED: Final = 130
READER_GONE: Final = 141


_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (NotFoundError, NOT_FOUND),
    (ConflictError, NOT_FOUND),
    (Terminated, NOT_FOUND),
    (ForbiddenError, NO),
    (ValidationError, USAGE),
    (BundleError, USAGE),
    (NotJSON, USAGE),
    (SealErased, NOT_FOUND),
    (StoreError, UNUSABLE),
    (NetworkError, UNUSABLE),
    (OSError, UNUSABLE),
)


def report(error: RebunoError | OSError, *, as_json: bool) -> int:
    """Says on standard error what went wrong; returns the exit code."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), UNUSABLE)
    if isinstance(error, BundleError):
        _bundle(error.diagnostics, as_json=as_json)
        return code
    if isinstance(error, OSError):
        named = f"`{error.filename}`: " if error.filename else ""
        return say("os_error", f"{named}{(error.strerror or str(error)).lower()}", as_json=as_json, code=code)
    told = str(error)
    if isinstance(error, UnauthorizedError):
        told += "; set REBUNO_API_KEY to a key, or to the server's own token"
    return say(_name(error), told, as_json=as_json, code=code)


def _name(error: RebunoError) -> str:
    match error:
        case APIError():
            return error.code
        case SealKeyMissing():
            return "seal_key_missing"
        case SealErased():
            return "seal_erased"
        case StoreError():
            return "store_error"
        case NetworkError():
            return "network_error"
        case _:
            return "error"


def say(name: str, message: str, *, as_json: bool, code: int = USAGE, details: Sequence[Any] = ()) -> int:
    """Says one sentence on standard error, as JSON if asked to; returns `code`."""
    from rebuno_cli.render.escape import escape
    from rebuno_cli.render.output import write_json, write_text

    if as_json:
        error: dict[str, Any] = {"code": name, "message": message}
        if details:
            error["details"] = list(details)
        write_json({"error": error}, to=sys.stderr, indent=None)
    else:
        write_text(f"error: {escape(message, 2000)}", to=sys.stderr)
    return code


def _bundle(found: Sequence[Any], *, as_json: bool) -> None:
    from rebuno_cli.render import console, diagnostics, output

    if as_json:
        details = [diagnostics.diagnostic_json(d) for d in found]
        say("bundle_error", f"the bundle has {diagnostics.counted(len(found), 'error')}", as_json=True, details=details)
        return
    texts = _texts({d.path for d in found})
    console.write(diagnostics.diagnostics(found, texts, output.width(sys.stderr)), to=sys.stderr)


def _texts(paths: Iterable[str]) -> dict[str, str]:
    from rebuno.policy import read_source

    texts = {}
    for path in paths:
        with contextlib.suppress(BundleError):
            texts[path] = read_source(path).text
    return texts
