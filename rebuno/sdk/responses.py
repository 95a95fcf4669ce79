"""Reads a kernel's HTTP answers: values, and refusals as the same errors as in process."""

from typing import Any, Final

from rebuno.errors import (
    APIError,
    BundleError,
    ConflictError,
    ForbiddenError,
    LeaseSuperseded,
    NetworkError,
    NotFoundError,
    PolicyError,
    RateLimited,
    RebunoError,
    Terminated,
    UnauthorizedError,
    ValidationError,
)
from rebuno.model import identity
from rebuno.policy import Diagnostic, Severity, Span

# What is said of whole lists is longer than what a step can hold.
_LONGEST: Final = 1 << 30
_SHOWN: Final = 200
_BY_CODE: Final[dict[str, type[APIError]]] = {
    kind.code: kind for kind in (ConflictError, ForbiddenError, NotFoundError, UnauthorizedError, ValidationError)
}
_BY_STATUS: Final[dict[int, type[APIError]]] = {kind.status_code: kind for kind in _BY_CODE.values()}


def value(body: bytes) -> Any:
    """The JSON value of an answer.

    Raises:
        NetworkError: it is no JSON: something else than a kernel answers there.
    """
    try:
        return identity.parse(body, _LONGEST)
    except ValidationError as error:
        raise NetworkError(f"the answer is no kernel's: {error}; look at the URL") from None


def refusal(status: int, body: bytes) -> RebunoError:
    """The error for an answer with a status of 300 or more."""
    try:
        said = identity.parse(body, _LONGEST)
    except ValidationError:
        said = None
    fields: dict[str, Any] = said if isinstance(said, dict) else {}
    code, message = _text(fields, "code"), _text(fields, "message")
    if not message:
        message = f"the server answered {status}: {body[:_SHOWN].decode(errors='replace')}".removesuffix(": ")
    match code:
        case "execution_terminal":
            return Terminated(message)
        case "lease_superseded":
            return LeaseSuperseded(message)
        case "policy_denied":
            return PolicyError(message)
        case "rate_limited":
            return RateLimited(message)
        case "validation_error" if found := _diagnostics(fields.get("details")):
            return BundleError(found)
    # Something between us and the kernel may have answered, which knows no codes.
    kind = _BY_CODE.get(code) or (None if code else _BY_STATUS.get(status))
    return kind(message) if kind is not None else APIError(message, code=code or None, status_code=status)


def _diagnostics(details: object) -> list[Diagnostic]:
    found = details if isinstance(details, list) else []
    return [_diagnostic(one) for one in found if isinstance(one, dict) and _text(one, "code")]


def _diagnostic(said: dict[str, Any]) -> Diagnostic:
    line, column = (place if isinstance(place := said.get(key), int) else 1 for key in ("line", "column"))
    severity = _text(said, "severity")
    return Diagnostic(
        _text(said, "code"),
        _text(said, "message"),
        Span(line, column, line, column, 0, 0),
        _text(said, "path"),
        _text(said, "help"),
        Severity(severity) if severity in set(Severity) else Severity.ERROR,
    )


def _text(fields: dict[str, Any], key: str) -> str:
    found = fields.get(key)
    return found if isinstance(found, str) else ""
