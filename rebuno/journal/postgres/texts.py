"""How values travel: a change is one JSON text. PostgreSQL's texts cannot hold NUL, so it is kept as two characters."""

import json
from typing import Any, Final

from rebuno.journal.rows import Row

ESCAPE: Final = "\x1a"
# The texts in it need not be ASCII; what is written here has no circles to look for.
_encode: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def held(text: str) -> str:
    """A text as the store holds it. Equal texts stay equal, and only they."""
    if "\0" in text or ESCAPE in text:
        return text.replace(ESCAPE, f"{ESCAPE}1").replace("\0", f"{ESCAPE}0")
    return text


def told(text: str) -> str:
    """The text that `held` was given."""
    return text.replace(f"{ESCAPE}0", "\0").replace(f"{ESCAPE}1", ESCAPE)


def packed(value: dict[str, Any]) -> str:
    """An object of texts, numbers, bytes as `hexed` has them, lists and objects as the text of a parameter."""
    text = _encode(value)
    # JSON writes both characters so; a backslash in a text before `u001a` is no harm, only slower.
    if "\\u0000" in text or "\\u001a" in text:
        text = _encode(_held(value))
    return text


def hexed(data: bytes) -> str:
    """Bytes as the server reads them from a text."""
    return f"\\x{data.hex()}"


def asked(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a question."""
    return {name: held(value) if isinstance(value, str) else value for name, value in values.items()}


def row_told(row: Row) -> Row:
    """A row as it was given."""
    return tuple(told(value) if type(value) is str and ESCAPE in value else value for value in row)


def _held(value: Any) -> Any:
    match value:
        case str():
            return held(value)
        case list():
            return [_held(item) for item in value]
        case dict():
            return {key: _held(item) for key, item in value.items()}
        case _:
            return value
