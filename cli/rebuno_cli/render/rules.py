"""Shows what the codes of `policy check` mean."""

import re
from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from rebuno_cli.render.layout import Rows

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_SENTENCE = re.compile(r"(?<=[.:])\s")


def listed(told: Mapping[str, str]) -> Iterator[RenderableType]:
    """A table of all codes, each with its first sentence."""
    yield Rows(("code", "meaning"), [(code, _SENTENCE.split(_plain(text), 1)[0]) for code, text in told.items()])


def one(code: str, text: str) -> Iterator[RenderableType]:
    """A code and all that is said of it."""
    yield Text(code, "bold")
    for paragraph in text.split("\n\n"):
        yield Text()
        yield Text(paragraph if paragraph.startswith(("```", "|", "- ")) else _plain(paragraph))


def _plain(text: str) -> str:
    """A paragraph of Markdown on one line, its links as their words."""
    return _LINK.sub(r"\1", " ".join(text.split("\n\n", 1)[0].split()))
