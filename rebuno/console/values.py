"""JSON values as people read them, short and with everything visible."""

import json
import re
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from rebuno.model import identity
from rebuno.model.visible import escape

LIMIT: Final = 4_000
# Characters. A longer text is not taken apart: it is shown as far as it fits, on one line.
_LARGE: Final = 65_536
# Behind an even number of backslashes, each pair of which is one.
_ESCAPED: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u00(26|3c|3e)")


@dataclass(frozen=True, slots=True)
class ShownValue:
    """The lines of a value, and how many characters were left out."""

    lines: tuple[str, ...]
    left_out: int = 0

    @property
    def content(self) -> Markup:
        """The lines as the content of an element. JSON is half quotes, which mean nothing there: they stay as they are,
        or pages would be a third longer."""
        text = "\n".join(self.lines)
        return Markup(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def pretty(text: str | None, limit: int = LIMIT) -> ShownValue:
    """A canonical JSON text with a line for each of its values."""
    if text is None:
        return ShownValue(("none",))
    whole = laid_out(text) if len(text) <= _LARGE else text
    left_out = max(0, len(whole) - limit)
    kept = whole[:limit] if left_out else whole
    return ShownValue(tuple(escape(line, None) for line in kept.split("\n")), left_out)


def plain(text: str) -> str:
    """The beginning of a canonical JSON text as people write it: canonical texts escape `&`, `<` and `>`."""
    return _ESCAPED.sub(lambda found: found[1] + chr(int(found[2], 16)), text)


def laid_out(text: str) -> str:
    """A canonical JSON text with one value a line."""
    try:
        return json.dumps(identity.parse(text), ensure_ascii=False, indent=2)
    except ValueError:
        # Python's own writer gives up on integers of thousands of digits.
        return text
