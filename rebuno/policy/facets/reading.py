"""What every facet is made of: how it reads a JSON value, what it gives, and how that compares."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import UNREADABLE, Tri


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a bundle says about where it stands: `workdir` and `home`, absolute paths, or None where it does not."""

    workdir: str | None = None
    home: str | None = None


NOWHERE: Final = Surroundings()


class _Failures(threading.local):
    def __init__(self) -> None:
        self.by_facet: dict[str, str] = {}


_FAILURES: Final = _Failures()


def failed(facet: str, error: str) -> Any:
    """What a reader gives that failed on a value: nothing that can be read. An explanation says that it was the
    reader's fault; `error` is the name of the exception, which the caller has logged."""
    _FAILURES.by_facet[facet] = error
    return UNREADABLE


def failures() -> dict[str, str]:
    """The facets whose readers failed in this thread since this was last cleared, each with the exception's name."""
    return _FAILURES.by_facet


class Reading:
    """A value that a facet gives and that is no plain string or number: a path, a day, a command.

    Subclasses are immutable and answer for themselves what a predicate asks; what they leave out is maybe. `right` is
    always what the facet's `literal` made of the right side, or another reading of the same facet.

    `note` is what a trace says beside every such value: what the rule did not see.
    """

    __slots__ = ()
    note: ClassVar[str] = ""

    def equals(self, right: Any, fold: bool) -> Tri:
        """`== right`; `fold` is `ignoring case`."""
        return None

    def compare(self, right: Any) -> int | None:
        """Negative, zero or positive as this is less than, equal to or more than `right`; None is maybe."""
        return None

    def contains(self, right: Any, fold: bool) -> Tri:
        """`contains right`: a text as it is written, or whatever stands on the right."""
        return None

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """`like`, `matches`, `starts with` or `ends with` one text; for `like` it is what `pattern` made of it where
        the facet has one, else the text as it is written."""
        return None

    def under(self, right: Any) -> Tri:
        """`under right`."""
        return None

    def keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """What a `known` files this value under: hashable keys, each with whether it is this value for sure (True) or
        only under one of two readings (False). Two readings are the same for sure where they share a sure key, maybe
        where they share any other. Empty: it cannot be in a set, the answer is maybe."""
        return ()

    def sought(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """What this value is looked up under, where that is not what it is filed under: `January 11` is found where
        `2025-01-11` is filed, and the other way about, but not another year's `January 11`."""
        return self.keys(fold)

    def elements(self) -> Sequence[Any] | None:
        """What `any it …` goes through and `it[0]` reaches: the words of a command, `values.UNREADABLE` for one that
        is not known. None: this is a single value."""
        return None

    def json(self) -> Any:
        """The value as a trace shows it."""
        return str(self)


class Either(Reading):
    """One of several readings, texts or numbers, all of one facet; which one is not known.

    A test has an answer where all of them give the same one; else it is maybe.
    """

    __slots__ = ("readings",)

    def __init__(self, readings: tuple[Any, ...]) -> None:
        self.readings = readings

    def agreed(self, test: Callable[[Any], Tri]) -> Tri:
        """What the test says of every one of them; maybe where they differ."""
        answers = {test(one) for one in self.readings}
        return answers.pop() if len(answers) == 1 else None

    def equals(self, right: Any, fold: bool) -> Tri:
        """As all of the readings answer."""
        return self._asked(lambda one: one.equals(right, fold))

    def contains(self, right: Any, fold: bool) -> Tri:
        """As all of the readings answer."""
        return self._asked(lambda one: one.contains(right, fold))

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """As all of the readings answer."""
        return self._asked(lambda one: one.text_test(op, right, fold))

    def under(self, right: Any) -> Tri:
        """As all of the readings answer."""
        return self._asked(lambda one: one.under(right))

    def _asked(self, test: Callable[[Reading], Tri]) -> Tri:
        return self.agreed(lambda one: test(one) if isinstance(one, Reading) else None)

    def json(self) -> Any:
        """All of them."""
        return " or ".join(str(one.json() if isinstance(one, Reading) else one) for one in self.readings)


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A value that `find` saw in a text and that may not be what the text means: in a set it stands perhaps."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unsure(Reading):
    """A link or an address in a text that programs read differently, or end at different places: whatever is asked of
    it is maybe. `text` is what was found."""

    text: str

    def json(self) -> str:
        """What was found, as it stands there."""
        return self.text


@dataclass(frozen=True, slots=True)
class Facet:
    """One reading of JSON values, as a row of the registry.

    `of` says what it reads and `gives` what comes out, in words for documentation; `value` is the type of what it
    gives, for `check`: `string`, `number`, `date` (ordering allowed) or `list` (a command: `like` by words, `contains`
    one word). `many` tells a set.

    `read` takes a JSON value that is there (never null, missing or an empty list) and gives a string, a number or a
    `Reading`; with `many` a list of them, empty where the text is there and holds none. It gives
    `values.UNREADABLE` for a value of the wrong type, text that cannot be read honestly, and anything beyond its
    bounds. It never raises, never recurses on its input, and takes time linear in it.

    With `placed` it is also given a `placed.Placed`, where the value is a word of a command that stands elsewhere than
    in `workdir`; any other facet is given its text.

    With `lower` what it gives is always in lower case; a part of it on the right side (`ends with`, `like`, …) is
    lowered too. With `sees_empty` it is given an empty list too (its size is 0). It gives `values.MISSING` where the
    value has nothing of the kind (a file without extension).

    `literal` normalises a literal of the right side, or raises `ValueError` with the reason in words (`check` prints
    it). `pattern` does so for the right side of `like` where the facet has its own globs (None: the usual globs on the
    string). `network` does so for the right side of `under` (None: there is no `under`); `under` then answers for a
    string or a number, while a `Reading` answers for itself.

    `find` gives the values of this facet that stand in a free text, for `FACET of … in` a `known` with `input`; None
    where the facet cannot be looked for in a text. A value that may be another one comes as `Doubtful`.

    `ahead` is for a facet that takes milliseconds for a long text: it reads one in any thread and keeps what it finds,
    so that `read` of the same text soon after takes none.
    """

    name: str
    of: str
    gives: str
    value: str
    read: Callable[[Any, Surroundings], Any]
    literal: Callable[[Any, Surroundings], Any]
    many: bool = False
    sees_empty: bool = False
    lower: bool = False
    placed: bool = False
    pattern: Callable[[str, Surroundings], Any] | None = None
    network: Callable[[str, Surroundings], Any] | None = None
    under: Callable[[Any, Any], Tri] | None = None
    find: Callable[[str, Surroundings], Iterable[Any]] | None = None
    ahead: Callable[[str], object] | None = None
