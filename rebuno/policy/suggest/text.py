"""Writes values and names as text of a bundle. Nothing that was recorded reaches a bundle in another way."""

import json
import re
import unicodedata
from collections.abc import Iterable
from enum import Enum
from typing import Any

from rebuno.policy.suggest.words import words
from rebuno.policy.syntax.keywords import RESERVED_WORDS


class Part(Enum):
    """A step of a path that is no key: each element of a list, or each value of an object."""

    EACH = "[]"
    EACH_VALUE = ".*"


Path = tuple[str | Part, ...]


def quoted(value: Any) -> str:
    """A scalar as a literal. Letters and digits of any script stay; all else beyond ASCII is written `\\uXXXX`."""
    if not isinstance(value, str):
        return json.dumps(value)
    plain = json.dumps(value, ensure_ascii=False)
    return "".join(char if _plain(char) else json.dumps(char)[1:-1] for char in plain)


def _plain(char: str) -> bool:
    return " " <= char <= "~" or unicodedata.category(char) in ("Lu", "Ll", "Nd")


def listed(values: Iterable[Any]) -> str:
    """A list of literals, each once, in a stable order."""
    return "[" + ", ".join(sorted({quoted(value) for value in values})) + "]"


def pattern(target: str) -> str:
    """A literal that matches just this target."""
    escaped = "".join("\\" + char if char in "*?[]\\" else char for char in target)
    return quoted(escaped)


def operand(root: str, path: Path) -> str:
    """A path below a root: `args.items[].id`."""
    return root + relative(path, dotted=True)


def relative(path: Path, *, dotted: bool = False) -> str:
    """A path as it stands after `at`: `[].id`, `items.*.id`, `["odd key"]`."""
    out = ""
    for part in path:
        if isinstance(part, Part):
            out += "*" if part is Part.EACH_VALUE and not out and not dotted else part.value
        elif part.isascii() and part.isidentifier():
            out += f".{part}" if out or dotted else part
        else:
            out += f"[{quoted(part)}]"
    return out


def bare(test: str) -> str:
    """A test without the parentheses that hold all of it."""
    if not test.startswith("("):
        return test
    depth = 0
    for number, char in enumerate(_without_texts(test)):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return test[1:-1] if number == len(test) - 1 else test
    return test


def _without_texts(test: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: '"' * len(found[0]), test)


def name_of(text: str, taken: set[str], *, joint: str, rest: str) -> str:
    """A name of one's own for a rule (`joint` is `-`) or a set (`_`), which is then taken."""
    said = joint.join(words(text)[:6]) or rest
    if said[0].isdigit() or said in RESERVED_WORDS or said in ("default", "local", "permissive", "asked"):
        said = f"{rest}{joint}{said}"
    found, number = said, 2
    while found in taken:
        found, number = f"{said}{joint}{number}", number + 1
    taken.add(found)
    return found
