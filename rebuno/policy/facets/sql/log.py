"""Keeps sqlglot from logging texts that it does not read: an agent's text is no news of the program's."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Quiet(logging.Filter):
    # A filter and no subclass of the parser: the compiled parser of `sqlglot[c]` has none.
    def __init__(self) -> None:
        super().__init__()
        self.reading = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is somebody else's."""
        return not getattr(self.reading, "now", False)


_QUIET = _Quiet()
logging.getLogger("sqlglot").addFilter(_QUIET)


@contextmanager
def quiet() -> Iterator[None]:
    """While it lasts sqlglot logs nothing in this thread: what it keeps as text is refused by the caller."""
    _QUIET.reading.now = True
    try:
        yield
    finally:
        _QUIET.reading.now = False
