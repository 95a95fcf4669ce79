"""What the generated bundles use. A construct is switched on when the compiler, `explain` and the parser have it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

CONSTRUCTS: Final[dict[str, bool]] = {
    # The first edition.
    "after": True,
    "count": True,
    "block": True,
    "condition": True,
    "in known": True,
    "contains any known": True,
    "contains any list": True,
    "several paths": True,
    "text of": True,
    "as of": True,
    # The second edition, section by section.
    "delegation": True,  # `root_input`, `root_turns`, `read_args`
    "words at": True,
    "values": True,  # `.*`
    "key of": True,
    "word of": True,
    "known in where": True,
    "known as source": True,
    "join": True,  # `outer`
    "who": True,  # `allowed`, `approved` in a history test
    "who in known": True,  # `result of allowed`
    "since": True,
    "within": True,
    "sum": True,
    "error": True,
    "turns": True,
    "definition": True,
    "parent": True,
}


_all: ContextVar[bool] = ContextVar("_all", default=False)


def on(*names: str) -> bool:
    """Whether all these constructs are switched on."""
    return _all.get() or all(CONSTRUCTS[name] for name in names)


@contextmanager
def everything() -> Iterator[None]:
    """Switches all constructs on: what is drawn here is for the plain evaluator alone."""
    token = _all.set(True)
    try:
        yield
    finally:
        _all.reset(token)


@st.composite
def in_full(draw: st.DrawFn, strategy: st.SearchStrategy[T]) -> T:
    """What the strategy gives with all constructs switched on."""
    with everything():
        return draw(strategy)
