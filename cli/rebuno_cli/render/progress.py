"""A bar that shows how far a command has come; on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

_FEW: Final = 2


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None] | None]:
    """Gives a function to call after each of `total` parts, and takes the bar away at the end; gives None where there
    is no bar: standard error is no terminal, or there is hardly anything to do."""
    if total < _FEW or not sys.stderr.isatty():
        yield None
        return
    # It draws when it is told to: no thread of its own, which new processes would be started beside.
    with Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    ) as shown:
        task = shown.add_task(what, total=total)
        shown.refresh()

        def done() -> None:
            shown.advance(task)
            shown.refresh()

        yield done
