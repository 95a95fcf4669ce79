"""What becomes of an exception in a step's body: what the journal keeps of it."""

import logging
from typing import Any, Final

from rebuno.errors import NotJSON, RebunoError
from rebuno.model import identity, raised
from rebuno.sdk.sealed_log import SealedLog, log_sealed

_LONGEST_TEXT: Final = 64 * 1024
# What is shown of a step's name, in characters.
_LONGEST_NAME: Final = 200


class OutcomeUnknownError(Exception):
    """Raised by a body that lost the connection to its service: the effect may have happened."""


class BodyError(Exception):
    """Raised by a body that chooses the recorded form of its failure: `error`, a JSON object."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message", ""))
        self.error = error


def kept_of(execution_id: str, step_id: str, target: str, error: BaseException, sealed: SealedLog | None = None) -> str:
    """The journal's record of a body's own exception, which is logged too, as far as `sealed` lets."""
    if isinstance(error, BodyError | OutcomeUnknownError | NotJSON | RebunoError):
        return ""
    where = {"execution_id": execution_id, "step_id": step_id}
    # A handler may deal with what a service says; a mistake of the code's own is told wherever it is caught.
    level = logging.WARNING if raised.mistaken(error) else logging.INFO
    log_sealed(sealed, level, f"the body of the step `{recordable(target[:_LONGEST_NAME])}` failed", error, where)
    return identity.canonical(raised.of(error))


def recordable(text: str) -> str:
    """An exception's text as the journal can store it: no lone surrogates, at most 64 Ki characters."""
    return text[:_LONGEST_TEXT].encode("utf-8", "replace").decode()
