"""What is logged of a failure in an execution in which something is sealed."""

import logging
import traceback
from collections.abc import Mapping
from typing import Final, Protocol

logger: Final = logging.getLogger("rebuno.agent")


class SealedLog(Protocol):
    """What logs may tell of an execution: of one that is sealed as a `whole` only kinds, since the rest may hold
    anything; of any other a `text` with marks in the place of what is sealed."""

    whole: bool

    def text(self, text: str) -> str:
        """The text as it may be shown."""
        ...


def log_of(transport: object) -> SealedLog | None:
    """What logs may tell of the execution that a transport is of; None where nothing of it is sealed."""
    found: SealedLog | None = getattr(transport, "sealed", None)
    return found


def log_sealed(
    sealed: SealedLog | None, level: int, what: str, error: BaseException | None, where: Mapping[str, object]
) -> None:
    """Logs that something failed by an error; as it is where nothing is sealed."""
    if sealed is None:
        logger.log(level, "%s: %s", what, type(error).__name__, exc_info=error, extra=dict(where))
        return
    if sealed.whole:
        logger.log(level, "%s: %s", what, type(error).__name__, extra=dict(where))
        return
    trace = "" if error is None else "\n" + "".join(traceback.format_exception(error)).rstrip()
    logger.log(level, "%s", sealed.text(what + trace), extra=dict(where))
