"""The words of a trace: source text on one line, values cut short, and what each predicate says."""

import json
from collections.abc import Sequence
from typing import Any, Final

from rebuno.policy.facets.reading import Facet, Reading, reader_failures
from rebuno.policy.syntax.tree import Bundle, Op, Span
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, absent, is_json, shown

MAX_SEEN: Final = 8
_MAX_NODES: Final = 64
_MAX_TEXT: Final = 200
_MAX_BITS: Final = 200

# What a value does to the right side, on yes, no and maybe.
_VERBS: Final[dict[Op, tuple[str, str, str]]] = {
    Op.EQ: ("equals", "is not", "cannot be compared with"),
    Op.LT: ("is less than", "is not less than", "cannot be ordered against"),
    Op.LE: ("is at most", "is more than", "cannot be ordered against"),
    Op.GT: ("is more than", "is at most", "cannot be ordered against"),
    Op.GE: ("is at least", "is less than", "cannot be ordered against"),
    Op.IN: ("is in", "is not in", "cannot be compared with what is in"),
    Op.LIKE: ("is like", "is not like", "cannot be held against"),
    Op.MATCHES: ("matches", "does not match", "cannot be held against"),
    Op.CONTAINS_ANY: ("contains one of", "contains none of", "cannot be searched for one of"),
    Op.UNDER: ("is under", "is not under", "may be under"),
    Op.CONTAINS: ("contains", "does not contain", "cannot be searched for"),
    Op.STARTS: ("starts with", "does not start with", "cannot be held against"),
    Op.ENDS: ("ends with", "does not end with", "cannot be held against"),
    Op.IS: ("is of type", "is not of type", "cannot be told to be of type"),
}


def verb(op: Op, answer: Tri) -> str:
    """What the plain predicate says, in words."""
    yes, no, maybe = _VERBS[op]
    return maybe if answer is None else yes if answer else no


def one_line(bundle: Bundle, span: Span) -> str:
    """The source at a place, as one line without comments."""
    origin = bundle.origin(span)
    text = origin.text[span.start : span.end]
    if "#" in text:
        for comment in reversed(origin.comments):
            if span.start <= comment.span.start < span.end:
                text = text[: comment.span.start - span.start] + " " + text[comment.span.end - span.start :]
    return " ".join(text.split())


def short(text: str, width: int = 60) -> str:
    """At most `width` characters of the text."""
    return text if len(text) <= width else text[: width - 1] + "…"


def state(value: Any) -> str:
    """The value, or what stands in its place."""
    if value is UNREADABLE:
        return "out of reach: the value above it is of another type"
    if isinstance(value, Reading):
        told = value.json()
        return shown(told) if type(told) is str else short(json.dumps(told, ensure_ascii=False))
    return shown(value)


def note(value: Any) -> str:
    """What a trace adds to what it says of a value."""
    return f" ({value.note})" if isinstance(value, Reading) and value.note else ""


def unreadable(chain: Sequence[Facet]) -> str:
    """Why a value that no facet could read is maybe."""
    if chain:
        for facet in chain:
            if facet.name in reader_failures():
                error = reader_failures()[facet.name]
                return f"was not read: the reader of `{facet.name} of` failed ({error}), which is no fault of the value"
        return f"cannot be read: `{chain[-1].name} of` takes {chain[-1].of}"
    return f"is {state(UNREADABLE)}"


def absence(value: Any, negated: bool) -> str:
    """Why an absent value gives the answer that it gives."""
    verdict = "a negated test on an absent value is maybe" if negated else "a test on an absent value is no"
    return f"{shown(value)}, and {verdict}"


def visible(values: list[Any]) -> tuple[Any, ...]:
    """At most eight of the values as JSON; what is no strict JSON, or large, is described instead."""
    there = [value for value in values if value is not MISSING]
    return tuple(_as_json(value) for value in there[:MAX_SEEN])


def _as_json(value: Any) -> Any:
    if isinstance(value, Reading):
        value = value.json()
    if absent(value):
        return value
    if type(value) is str and is_json(value):
        return value if len(value) <= _MAX_TEXT else value[:_MAX_TEXT] + "…"
    return value if _small(value) else state(value)


def _small(value: Any) -> bool:
    stack, nodes = [value], 0
    while stack:
        item = stack.pop()
        nodes += 1
        if nodes > _MAX_NODES or not is_json(item):
            return False
        if type(item) is list:
            stack.extend(item)
        elif type(item) is dict:
            stack.extend(item.values())
            stack.extend(item.keys())
            if any(type(key) is not str for key in item):
                return False
        elif (type(item) is str and len(item) > _MAX_TEXT) or (type(item) is int and item.bit_length() > _MAX_BITS):
            return False
    return True
