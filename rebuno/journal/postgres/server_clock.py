"""The server's clock as seen from here: leases and times are its, whatever this machine's clock says."""

import time
from collections.abc import Callable
from typing import Final

# An answer that took longer says less than the clock knows already, in seconds.
_LATE: Final = 1.0


class ServerClock:
    """Tells the server's time by this process's monotonic clock and what the server last said.

    Set from several threads, read from all: one number is replaced at a time.
    """

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()
        self._asked = False

    def now(self) -> float:
        """Seconds since 1970 by the server's clock."""
        return time.monotonic() + self._ahead

    def ask(self, question: Callable[[], float]) -> None:
        """Sets the clock by the answer, which is taken for the middle of the time that it took; one that comes late is
        of use to a clock only that was never set."""
        before = time.monotonic()
        answer = question()
        after = time.monotonic()
        if after - before < _LATE or not self._asked:
            self._asked = True
            self._ahead = answer - (before + after) / 2
