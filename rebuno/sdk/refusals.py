"""Encodes a refused model call as an HTTP answer for a provider's SDK, and reads it back from the SDK's errors."""

import re
from collections.abc import Iterator
from typing import Any, Final

from rebuno.errors import (
    Blocked,
    LeaseSuperseded,
    NotJSON,
    PolicyError,
    RateLimited,
    RebunoError,
    Terminated,
    ToolError,
    ValidationError,
)

# The type of the error in a refusal's body, and the extension of its response that holds the refusal itself.
TYPE: Final = "rebuno_refusal"
_MARK: Final = re.compile(rf"{TYPE}: (\w+)(?: reason=(.*))?", re.DOTALL)
# What an error's text ends with after the reason, where it shows the body of the response as Python or JSON does.
_AFTER: Final = "'\"}] \n"
_TOKEN: Final = re.compile(r"[a-z0-9_]+\Z")
# Longer chains of causes than this are loops.
_CAUSES: Final = 32


def body(error: RebunoError) -> tuple[int, dict[str, Any]]:
    """The status and the JSON body of the response that says so: 403 denied, 429 a limit, 400 no call that could be
    judged, else 409."""
    status, decision, reason = _said(error)
    message = f"{TYPE}: {decision}" + (f" reason={reason}" if reason else "")
    return status, {"error": {"type": TYPE, "message": message}}


def _said(error: RebunoError) -> tuple[int, str, str]:
    match error:
        case PolicyError():
            return 403, "denied", error.reason
        case RateLimited():
            return 429, "rate_limited", error.reason
        case Blocked():
            return 409, "blocked" if error.step_id else "execution_blocked", ""
        case Terminated():
            return 409, "execution_terminal", ""
        case LeaseSuperseded():
            return 409, "lease_superseded", ""
        case ToolError():
            return 409, "failed", error.reason or str(error.error.get("message", ""))
        case NotJSON() | ValidationError():
            return 400, "invalid", str(error)
        case _:
            return 409, "error", str(error)


def raise_for_refusal(exc: BaseException) -> None:
    """Raises the refusal that a provider's SDK has turned into an error of its own; returns if there is none.

    Looked at are the exception, its causes, and the members of a group.

    Raises:
        PolicyError: a rule or a person denied the call; `reason` says why.
        RateLimited: a limit is used up.
        Blocked: a person must decide first; let it pass.
        Terminated, LeaseSuperseded, StoreError: the attempt is over; let it pass.
        ToolError: nobody knows how the call ended, or its response cannot be recorded.
        ValidationError, NotJSON: the body of the request is no JSON that could be judged.
    """
    refusal = of(exc) or _read(exc)
    if refusal is not None:
        raise refusal from exc


def of(exc: BaseException) -> RebunoError | None:
    """The refusal behind a provider's error, or None. Texts are not evidence here."""
    for error in _chain(exc):
        extensions = getattr(getattr(error, "response", None), "extensions", None)
        refusal = extensions.get(TYPE) if isinstance(extensions, dict) else None
        if isinstance(refusal, RebunoError):
            return refusal
    return None


def _read(exc: BaseException) -> RebunoError | None:
    # Where a framework keeps nothing of the response but its text.
    for error in _chain(exc):
        if found := _MARK.search(str(error)):
            decision, reason = found[1], (found[2] or "").rstrip(_AFTER)
            return _meant(decision, reason)
    return None


def _meant(decision: str, reason: str) -> RebunoError:
    match decision:
        case "denied":
            return PolicyError(reason or "policy_denied")
        case "rate_limited":
            return RateLimited(reason or "rate_limit_exceeded")
        case "blocked" | "execution_blocked":
            return Blocked()
        case "execution_terminal":
            return Terminated()
        case "lease_superseded":
            return LeaseSuperseded()
        case "failed":
            said: dict[str, Any] = {"message": reason}
            return ToolError(said | ({"reason": reason} if _TOKEN.match(reason) else {}))
        case "invalid":
            return ValidationError(reason)
        case _:
            return RebunoError(reason or decision)


def _chain(exc: BaseException) -> Iterator[BaseException]:
    waiting = [exc]
    for _ in range(_CAUSES):
        if not waiting:
            return
        error = waiting.pop(0)
        yield error
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(error.exceptions)
        if (cause := error.__cause__ or error.__context__) is not None:
            waiting.append(cause)
