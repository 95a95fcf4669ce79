"""Maps errors to HTTP statuses and to the messages for the caller."""

import logging
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rebuno.errors import (
    APIError,
    BundleError,
    NotJSON,
    RateLimited,
    RebunoError,
    SealBroken,
    SealErased,
    SealKeyMissing,
    StoreError,
    Terminated,
)
from rebuno.policy import Diagnostic
from rebuno.server.wire import answers

logger: Final = logging.getLogger("rebuno.server")

# What Starlette and the limits on bodies refuse by themselves.
_CODES: Final = {404: "not_found", 500: "internal_error", 503: "internal_error"}


class BodyTooLargeError(APIError):
    """A body of more than 10 MiB."""

    code = "validation_error"
    status_code = 413


def refusal(error: RebunoError) -> tuple[int, str, str, Any]:
    """The status, code, message and details of an error."""
    match error:
        case APIError():
            return error.status_code, error.code, error.message, None
        case Terminated():
            return 409, "execution_terminal", str(error), None
        case BundleError():
            count = len(error.diagnostics)
            said = f"the bundle has {count} error{'s' if count != 1 else ''}"
            return 400, "validation_error", said, [_diagnostic(one) for one in error.diagnostics]
        case NotJSON():
            return 400, "validation_error", str(error), None
        case SealKeyMissing():
            return 409, "conflict", str(error), {"seal_key": error.key_id}
        case SealErased() | SealBroken():
            return 409, "conflict", str(error), None
        case RateLimited():
            return 429, "rate_limited", error.reason, None
        case _:
            # What a store says of itself is for its operator.
            return 500, "internal_error", "the kernel cannot do this now; its log says why", None


async def refused(request: Request, error: Exception) -> Response:
    """Answers a typed error."""
    if not isinstance(error, RebunoError):
        raise error
    status, code, message, details = refusal(error)
    if status >= 500:
        where = {"execution_id": request.path_params.get("id", "")}
        kind = "the store" if isinstance(error, StoreError) else type(error).__name__
        logger.error("%s failed a request: %s", kind, error, extra=where)
    return answer(status, answers.error(code, message, details))


async def not_served(request: Request, error: Exception) -> Response:
    """Answers a request without a route."""
    if not isinstance(error, HTTPException):
        raise error
    said = "there is no such route" if error.status_code == 404 else error.detail.lower()
    return answer(error.status_code, answers.error(_CODES.get(error.status_code, "validation_error"), said))


async def broken(request: Request, error: Exception) -> Response:
    """Answers an unexpected error; the server's log has the details."""
    return answer(500, answers.error("internal_error", "an internal error; the server's log says more"))


def answer(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(text, status, headers, "application/json")


def _diagnostic(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": str(found.code),
        "message": found.message,
        "severity": found.severity.value,
        "path": found.path,
        "line": found.span.line,
        "column": found.span.column,
        "help": found.help,
    }
