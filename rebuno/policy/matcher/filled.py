"""Fills the values of a submission into `f"…"`: the texts that a rule tells people and agents."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from rebuno.model.decision import Decision
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.paths import one
from rebuno.policy.syntax import tree
from rebuno.policy.values.invisible import blank, ignorable
from rebuno.policy.values.json_values import MAX_NODES, UNREADABLE, absent, is_json

# The number of characters of one value.
MAX_TOLD: Final = 200
# Of an integer; Python writes out no more than 4,300 digits.
MAX_BITS: Final = 10_000
LEFT_OUT: Final = "(left out)"
OUT_OF_REACH: Final = "(out of reach)"


class FilledDecision:
    """The decision of a rule with an `f"…"` in its `because` or its `message`; `plain` has empty texts there."""

    __slots__ = ("_message", "_reason", "plain")

    def __init__(self, plain: Decision, rule: tree.Rule) -> None:
        texts = filled_texts(rule)
        self.plain = plain
        self._reason = texts.get(tree.Because)
        self._message = texts.get(tree.Message)

    def fill(self, facts: Facts) -> Decision:
        """The decision with its texts, as the submission fills them."""
        plain = self.plain
        if facts.shown is not None:
            facts = facts.shown(facts)
        message = plain.message if self._message is None else told(self._message, facts)
        obligations = tuple(
            obligation
            if obligation.asking is None
            else replace(obligation, asking=replace(obligation.asking, message=message))
            for obligation in plain.obligations
        )
        return Decision(
            plain.verdict,
            plain.rule_id,
            plain.reason if self._reason is None else told(self._reason, facts),
            bundle=plain.bundle,
            digest=plain.digest,
            message=message,
            line=plain.line,
            obligations=obligations,
        )


def filled_texts(rule: tree.Rule) -> dict[type, tree.Filled]:
    """The texts of a rule with values in them, by the type of their clause."""
    return {
        type(clause): clause.text
        for clause in rule.clauses
        if isinstance(clause, tree.Because | tree.Message) and isinstance(clause.text, tree.Filled)
    }


def told(filled: tree.Filled, facts: Facts) -> str:
    """The text with the values of a submission. It never fails."""
    return "".join(
        str(part.value) if isinstance(part, tree.Literal) else value_told(one(getattr(facts, part.root), part.parts))
        for part in filled.parts
    )


def value_told(value: Any) -> str:
    """A value as JSON, texts in quotes. What cannot be seen stands there as `\\uXXXX`. Of more than 200 characters the
    first ones, and the number of those left out."""
    if absent(value):
        return LEFT_OUT
    if value is UNREADABLE:
        return OUT_OF_REACH
    if type(value) is str:
        told_part, left = _beginning(value, _in_quotes)
        return f'"{told_part}"' if not left else f'"{told_part}…" {_counted(left)}'
    pieces: list[str] = []
    size = 0
    for piece in _pieces(value):
        if piece is None:
            return OUT_OF_REACH
        size += len(piece)
        if size - len(piece) <= MAX_TOLD:
            pieces.append(piece)
    told_part, _ = _beginning("".join(pieces), _seen)
    return told_part if size <= MAX_TOLD else f"{told_part}… {_counted(size - MAX_TOLD)}"


def _pieces(value: Any) -> Iterator[str | None]:
    """The JSON text of a value in pieces; None for what is no strict JSON, and beyond 100,000 values and keys."""
    stack: list[tuple[str, Any]] = [("", value)]
    left = MAX_NODES
    while stack:
        text, item = stack.pop()
        if text:
            yield text
            continue
        inner = len(item) if type(item) is list or type(item) is dict else 0
        left -= 1 + inner
        if left < 0:
            yield None
            return
        if type(item) is list:
            stack += _joined("[", [[("", one)] for one in item], "]")
        elif type(item) is dict:
            stack += _joined("{", [[("", key), (": ", None), ("", one)] for key, one in item.items()], "}")
        elif not is_json(item) or (type(item) is int and item.bit_length() > MAX_BITS):
            yield None
            return
        else:
            yield json.dumps(item, ensure_ascii=False)


def _joined(opening: str, items: list[list[tuple[str, Any]]], closing: str) -> list[tuple[str, Any]]:
    """The parts of a list or an object, the last one first."""
    parts: list[tuple[str, Any]] = [(opening, None)]
    for at, item in enumerate(items):
        parts += [(", ", None), *item] if at else item
    return [*parts, (closing, None)][::-1]


def _beginning(text: str, shown: Callable[[str], str]) -> tuple[str, int]:
    """The beginning of a text of at most 200 characters as it is shown, and the number of characters behind it."""
    if len(text) <= MAX_TOLD and text.isascii() and text.isalnum():
        return text, 0
    pieces: list[str] = []
    room = MAX_TOLD
    for character in text[: MAX_TOLD + 1]:
        piece = shown(character)
        room -= len(piece)
        if room < 0:
            break
        pieces.append(piece)
    return "".join(pieces), len(text) - len(pieces)


def _counted(left: int) -> str:
    return f"({left:,} character{'' if left == 1 else 's'} left out)"


def _in_quotes(character: str) -> str:
    return f"\\{character}" if character in '"\\' else _seen(character)


def _seen(character: str) -> str:
    if character == " " or (character.isprintable() and not ignorable(character) and not blank(character)):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
