"""What `secret` seals: the places of a policy, and the search for sealed values in whatever is written later."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from rebuno.model.obligation import PathSign, ValuePath
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.index import subject_patterns
from rebuno.policy.matcher.mentions import (
    MAX_CANDIDATES,
    MAX_SEARCHED,
    SHORTEST_HIDDEN,
    forms,
    fragments,
    searchable,
    spelling_of,
)
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Each, Index, Key, PathPart, Values
from rebuno.policy.values.globs import glob
from rebuno.policy.values.json_values import absent, is_number
from rebuno.policy.values.readings import readings
from rebuno.policy.values.tokens import found_numbers

# Shorter values are sealed where they stand, and not looked for elsewhere.
SHORTEST_SPREAD: Final = 8
# The levels of a JSON value below which no object can stand.
_DEEPEST: Final = 127
# So few values are looked for one after the other.
_FEW: Final = 16
# How a text ends that was cut.
_CUT: Final = "…"
# What stands in the place of what could not be searched to its end.
UNSEARCHED: Final = "#unsearched"

Parts = tuple[PathPart, ...]
MarkOf = Callable[[Any], str]


# The steps that a place is of, by a wire kind (None: any) and a pattern, and the way from their arguments or result on.
Place = tuple[str | None, str, Parts]


@dataclass(frozen=True, slots=True)
class SealedPlaces:
    """Where sealed values stand: in arguments and results of steps, in the input; and, in an execution that another one
    began, in the input of the root and in the arguments of the delegating step."""

    args: tuple[Place, ...] = ()
    results: tuple[Place, ...] = ()
    input: tuple[Parts, ...] = ()
    root: tuple[Parts, ...] = ()
    read_args: tuple[Parts, ...] = ()

    @classmethod
    def of_policy(cls, policy: Policy) -> "SealedPlaces":
        """Those of a policy: the union over its layers, its shadows aside."""
        found: dict[str, list[Any]] = {"args": [], "result": [], "input": []}
        for bundle in policy.bundles:
            secrets = [line for line in bundle.statements if isinstance(line, tree.Secret)]
            values = names_of(bundle).values if secrets else {}
            lists = {name: value if isinstance(value, list) else [value] for name, value in values.items()}
            for secret in secrets:
                subject = () if secret.subject is None else subject_patterns(secret.subject, lists)
                for path in secret.paths:
                    if secret.subject is None:
                        found["input"].append(_plain(path.parts))
                    else:
                        found[path.root] += [(one.kind, one.glob.pattern, _plain(path.parts)) for one in subject]
        return cls(tuple(found["args"]), tuple(found["result"]), tuple(found["input"]))

    def __bool__(self) -> bool:
        return any((self.args, self.results, self.input, self.root, self.read_args))

    def __or__(self, other: "SealedPlaces") -> "SealedPlaces":
        names = ("args", "results", "input", "root", "read_args")
        return SealedPlaces(*(tuple(dict.fromkeys((*getattr(self, n), *getattr(other, n)))) for n in names))

    def of_args(self, kind: str, target: str) -> list[Parts]:
        """The sealed places in the arguments of a step."""
        return _of_step(self.args, kind, target)

    def of_result(self, kind: str, target: str) -> list[Parts]:
        """The sealed places in the result of a step."""
        return _of_step(self.results, kind, target)

    def below(self, kind: str = "", target: str = "") -> "SealedPlaces":
        """Those of an execution that this one begins, in the body of a step or (empty) beside all of them."""
        read = self.of_args(kind, target) if kind else []
        return SealedPlaces(root=(*self.input, *self.root), read_args=(*read, *self.read_args))

    def of_value(self, path: ValuePath, kind: str, target: str) -> bool:
        """Whether the value at a path of a step, such as that of a pot, is sealed or holds what is."""
        places = self.input if path.root == "input" else self.of_args(kind, target) if path.root == "args" else ()
        return any(all(map(_may_be_same, path.parts, parts)) for parts in places)

    def to_json(self) -> dict[str, Any]:
        """The places as JSON data."""
        steps = {n: [[k, g, _written(parts)] for k, g, parts in getattr(self, n)] for n in ("args", "results")}
        return steps | {n: [_written(parts) for parts in getattr(self, n)] for n in ("input", "root", "read_args")}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "SealedPlaces":
        """The places that `to_json` wrote."""
        args, results = (tuple((k, g, _read(parts)) for k, g, parts in data[n]) for n in ("args", "results"))
        return cls(args, results, *(tuple(map(_read, data[n])) for n in ("input", "root", "read_args")))


def sealed_places(policy: Policy) -> SealedPlaces | None:
    """The places of a policy; None where it has no `secret`."""
    if policy.secrets is None:
        has = any(isinstance(line, tree.Secret) for bundle in policy.bundles for line in bundle.statements)
        policy.secrets = SealedPlaces.of_policy(policy) if has else False
    return policy.secrets if isinstance(policy.secrets, SealedPlaces) else None


def _of_step(places: Sequence[Place], kind: str, target: str) -> list[Parts]:
    return [parts for of, pattern, parts in places if of in (None, kind) and glob(pattern).matches(target)]


def _plain(parts: Parts) -> Parts:
    # However a key is written, it is the same place.
    return tuple(Key(part.name) if isinstance(part, Key) else part for part in parts)


def _written(parts: Parts) -> list[Any]:
    signs = {Each: "[]", Values: ".*"}
    return [
        {"key": part.name} if isinstance(part, Key) else part.position if isinstance(part, Index) else signs[type(part)]
        for part in parts
    ]


def _read(parts: list[Any]) -> Parts:
    return tuple(
        Key(part["key"]) if isinstance(part, dict) else Index(part) if isinstance(part, int) else _SIGNS[part]()
        for part in parts
    )


_SIGNS: Final[dict[str, type[Each | Values]]] = {"[]": Each, ".*": Values}


def _may_be_same(one: str | int | PathSign, other: PathPart) -> bool:
    if isinstance(other, Key):
        return one == other.name or isinstance(one, PathSign)
    return not isinstance(other, Index) or not isinstance(one, int) or one == other.position


class _Mark(dict[str, str]):
    """A mark that this seal has set."""


def mark_of(digest: str) -> dict[str, str]:
    """What stands in the place of a sealed value; `digest` is `#` and 8 hex digits."""
    return _Mark(secret=digest)


def sealed_at(value: Any, places: Sequence[Parts], digest_of: MarkOf) -> tuple[Any, list[Any]]:
    """The value with marks at these places, and the values that stood there.

    What is missing or null on the way is not there. A value of another type on the way, such as a text where an object
    was expected, is sealed whole.
    """
    found: list[Any] = []
    for parts in sorted(places, key=len):
        value = _cut(value, parts, found, digest_of)
    return value, found


def _cut(value: Any, parts: Parts, found: list[Any], digest_of: MarkOf) -> Any:
    if isinstance(value, _Mark) or absent(value):
        return value
    if not parts:
        found.append(value)
        return mark_of(digest_of(value))
    part, rest = parts[0], parts[1:]
    if isinstance(part, Each):
        if type(value) is list:
            return [_cut(item, rest, found, digest_of) for item in value]
        return _cut(value, rest, found, digest_of)
    if isinstance(part, Values) and type(value) is dict:
        return {key: _cut(item, rest, found, digest_of) for key, item in value.items()}
    if isinstance(part, Key) and type(value) is dict:
        return {key: _cut(one, rest, found, digest_of) if key == part.name else one for key, one in value.items()}
    if isinstance(part, Index) and type(value) is list:
        at = part.position
        return [_cut(item, rest, found, digest_of) if at == number else item for number, item in enumerate(value)]
    return _cut(value, (), found, digest_of)


def leaves(value: Any) -> Iterator[str | int | float]:
    """The texts and numbers in a value; the keys of objects are none."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if type(one) is dict:
            waiting.extend(one.values())
        elif type(one) is list:
            waiting.extend(one)
        elif type(one) is str or is_number(one):
            yield one


class SealedValues:
    """The sealed values of one execution, of 8 characters or more, looked for in everything that is written later.

    `digest_of` gives the mark's digest of a value. Linear in the text, however many values there are.
    """

    def __init__(self, digest_of: MarkOf) -> None:
        self.digest_of = digest_of
        # Each text with its digest, and all texts by their first characters and by the very first.
        self._digests: dict[str, str] = {}
        self._heads: dict[str, list[str]] = {}
        self._first: dict[str, list[str]] = {}
        self._longest = 0
        self._numbers: dict[Decimal, str] = {}
        # The texts in which a value may hide, with its digest, each under the rarest of its fragments.
        self._forms: dict[str, str] = {}
        self._by_fragment: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, value: str | int | float) -> bool:
        """Takes in a value. False where it is too short to spread, or known."""
        text = value if isinstance(value, str) else repr(value)
        if len(text) < SHORTEST_SPREAD or text in self._digests:
            return False
        self._longest = max(self._longest, len(text))
        self._first.setdefault(text[0], []).append(text)
        digest = self._digests[text] = self.digest_of(value)
        self._heads.setdefault(text[:SHORTEST_SPREAD], []).append(text)
        spelling = spelling_of(value)
        if isinstance(spelling, Decimal):
            self._numbers[spelling] = digest
        for form in forms(spelling) if spelling is not None else ():
            if form not in self._forms:
                self._forms[form] = digest
                rarest = min(fragments(form), key=lambda fragment: len(self._by_fragment.get(fragment, ())))
                self._by_fragment.setdefault(rarest, []).append(form)
        return True

    def masked(self, value: Any, level: int = 0, also: Collection[Any] = ()) -> Any:
        """The value with marks wherever a sealed one stands, and wherever one of the texts and numbers `also` stands
        alone; the value itself where none does."""
        kind = type(value)
        if also and (kind is str or is_number(value)) and value in also:
            return mark_of(self.digest_of(value)) if level < _DEEPEST else in_text(self.digest_of(value))
        if kind is str:
            return self._scalar(value, value, level)
        if kind is int or kind is float:
            return self._scalar(value, repr(value), level)
        if kind is list:
            return [self.masked(item, level + 1, also) for item in value]
        if kind is not dict:
            return value
        made: dict[str, Any] = {}
        for key, item in value.items():
            name = plain = self.text(key)
            number = 2
            while name in made:
                name = f"{plain} ({number})"
                number += 1
            made[name] = self.masked(item, level + 1, also)
        return made

    def text(self, text: str) -> str:
        """A text with marks in it, or as a mark."""
        found = self._search(text)
        return found if isinstance(found, str) else in_text(found[0])

    def begins(self, text: str) -> int:
        """Where in a text a value may begin that goes on behind its end; the text's length where none does."""
        last = len(text)
        for at in range(max(0, last - self._longest + 1), last):
            if any(value.startswith(text[at:]) for value in self._first.get(text[at], ())):
                return at
        return last

    def _scalar(self, value: Any, text: str, level: int) -> Any:
        found = self._search(text)
        if isinstance(found, str):
            return value if found == text else found if type(value) is str else self._whole(text, level)
        return mark_of(found[0]) if level < _DEEPEST else in_text(found[0])

    def _whole(self, text: str, level: int) -> Any:
        # Of a number no part can be a mark.
        first = min(self._spans(text))[2]
        return mark_of(self._digests[first]) if level < _DEEPEST else in_text(self._digests[first])

    def _search(self, text: str) -> str | tuple[str]:
        """The text with marks in the place of the values in it, or the digest of one that stands there perhaps."""
        # What is shorter in every reading is in none.
        if not self._digests or len(text) < SHORTEST_HIDDEN:
            return text
        text = self._replaced(text)
        hidden = self._hidden(text)
        return text if hidden is None else (hidden,)

    def _replaced(self, text: str) -> str:
        spans = self._spans(text)
        if not spans:
            return text
        pieces: list[str] = []
        done = at = 0
        while at < len(spans):
            start, end, longest = spans[at]
            at += 1
            # Values that overlap are one.
            while at < len(spans) and spans[at][0] < end:
                end = max(end, spans[at][1])
                longest = max(longest, spans[at][2], key=len)
                at += 1
            pieces += (text[done:start], in_text(self._digests[longest]))
            done = end
        return "".join((*pieces, text[done:]))

    def _spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where which values stand, in order. A text that was cut may end within the last one."""
        if len(self._heads) <= _FEW and not any(head in text for head in self._heads):
            return []
        end = len(text) - len(_CUT) if text.endswith(_CUT) else None
        return sorted(
            (at, min(at + len(value), len(text)), value)
            for at in range(len(text) - SHORTEST_SPREAD + 1)
            for value in self._heads.get(text[at : at + SHORTEST_SPREAD], ())
            if text.startswith(value, at) or (end is not None and value.startswith(text[at:end]))
        )

    def _hidden(self, text: str) -> str | None:
        if not searchable(text):
            return UNSEARCHED
        if self._numbers:
            for number, _ in found_numbers(text):
                if number in self._numbers:
                    return self._numbers[number]
        found = readings(text) if self._forms else {}
        if found is None:
            return UNSEARCHED
        left = MAX_SEARCHED
        for reading in found:
            if len(self._forms) <= _FEW:
                close = list(self._forms)
            else:
                there = fragments(reading)
                close = [form for fragment in self._by_fragment.keys() & there for form in self._by_fragment[fragment]]
            left -= len(close) * len(reading)
            if len(close) > MAX_CANDIDATES or left < 0:
                return UNSEARCHED
            for form in close:
                if form in reading:
                    return self._forms[form]
        return None


def in_text(digest: str) -> str:
    """A mark as a part of a text."""
    return f'{{"secret": "{digest}"}}'
