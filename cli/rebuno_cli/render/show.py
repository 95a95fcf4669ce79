"""The one way in which a command says what it has found: as data for programs, or as a view for people."""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from rebuno_cli.render import output

if TYPE_CHECKING:
    from rich.console import RenderableType

Item: TypeAlias = "RenderableType"
View: TypeAlias = "str | Iterable[Item]"


def show(as_json: bool, data: Callable[[], Any], view: Callable[[], View], *, indent: int | None = 2) -> None:
    """Prints `data` as JSON if `as_json` says so, else `view`: a line of text, or lines and what rich lays out, below
    each other. Only the one that is printed is made. `indent` is None for JSON on one line.

    Raises:
        ReaderGoneError: the other end of the pipe is closed.
    """
    if as_json:
        output.write_json(data(), indent=indent)
        return
    found = view()
    for lines, items in groupby([found] if isinstance(found, str) else found, lambda item: isinstance(item, str)):
        if lines:
            output.write_text("\n".join(map(str, items)))
        else:
            from rebuno_cli.render import console

            console.write(items)
