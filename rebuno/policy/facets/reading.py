"""The parts of a facet: how it reads a JSON value, the values that it gives, and how they compare."""

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Marker, Tri

if TYPE_CHECKING:
    from rebuno.policy.facets.shell.effects.table_set import TableSet


@dataclass(frozen=True, slots=True)
class PathContext:
    """The `workdir` and the `home` of a bundle: absolute paths, or None if the bundle does not name them. `zone` is the
    name of its time zone, None without one. `tables` are the tables of programs that it names beside those that
    come along, None without any.

    `workdir` is empty if a session works in a folder such as `/`, below which everything lies: no relative path is told
    from there, and a test against a relative literal is maybe.

    `today` is the day on which the user wrote the text that is read: `UNREADABLE` if the time of the text is unknown.
    It is None for all other texts and without a `zone`: then no text names a day by *today* or *tomorrow*.

    `begins` is the directory in which the commands of the text begin: absolute, relative to `workdir` (the empty text:
    `workdir` itself), or None if it is not known. Only a facet that `begins` gets another one than `workdir`.
    """

    workdir: str | None = None
    home: str | None = None
    zone: str | None = None
    today: date | Marker | None = None
    tables: "TableSet | None" = None
    begins: str | None = ""


NO_CONTEXT: Final = PathContext()


class _ReaderFailures(threading.local):
    def __init__(self) -> None:
        self.by_facet: dict[str, str] = {}


_FAILURES: Final = _ReaderFailures()


def reader_failed(facet: str, error: str) -> Any:
    """Records the failure of a facet's reader and gives `UNREADABLE`. The explanation of a decision reports the
    failure. `error` is the name of the exception, which the caller has logged."""
    _FAILURES.by_facet[facet] = error
    return UNREADABLE


def reader_failures() -> dict[str, str]:
    """The facets whose readers failed in this thread since the last clear, each with the name of the exception."""
    return _FAILURES.by_facet


class Reading:
    """A value of a facet that is no plain string or number: a path, a day, a command.

    Subclasses are immutable and implement the predicates; a predicate that a subclass does not implement is maybe.
    `right` is always the result of the facet's `literal` for the right side, or another reading of the same facet.

    A trace shows `note` beside every such value: the limits of the reader. A `symmetric` value can be compared with a
    path from either side.
    """

    __slots__ = ()
    note: ClassVar[str] = ""
    symmetric: ClassVar[bool] = False

    def equals(self, right: Any, fold: bool) -> Tri:
        """`== right`; `fold` is `ignoring case`."""
        return None

    def compare(self, right: Any) -> int | None:
        """Negative if this is less than `right`, zero if equal, positive if more; None for maybe."""
        return None

    def contains(self, right: Any, fold: bool) -> Tri:
        """`contains right`: a text as it is written, or any other value of the right side."""
        return None

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """`like`, `matches`, `starts with` or `ends with` one text. For `like`, `right` is the result of `pattern` if
        the facet has one, else the text as it is written."""
        return None

    def under(self, right: Any) -> Tri:
        """`under right`."""
        return None

    def index_keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The keys under which a `known` set holds this value: hashable, each with True if it certainly stands for this
        value, and False if it does so in one of two readings only. Two readings are certainly equal if they share a
        certain key, and possibly equal if they share any other key. Without keys the value cannot be in a set, and the
        answer is maybe."""
        return ()

    def lookup_keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The keys under which this value is looked up, if they differ from `index_keys`. `January 11` finds
        `2025-01-11` and the other way around, but a day does not find the same day of another year."""
        return self.index_keys(fold)

    def elements(self) -> Sequence[Any] | None:
        """The elements for `any it …` and `it[0]`: the words of a command, `UNREADABLE` for an unknown word. None for a
        single value."""
        return None

    def json(self) -> Any:
        """The value as a trace shows it."""
        return str(self)


class UncertainReading(Reading):
    """One of several readings, texts or numbers of one facet. It is unknown which of them is right.

    If all of them give the same answer to a test, that is the answer; otherwise it is maybe.
    """

    __slots__ = ("readings",)

    def __init__(self, readings: tuple[Any, ...]) -> None:
        self.readings = readings

    def agreed(self, test: Callable[[Any], Tri]) -> Tri:
        """The common answer of all readings to the test; maybe if the answers differ."""
        answers = {test(one) for one in self.readings}
        return answers.pop() if len(answers) == 1 else None

    def equals(self, right: Any, fold: bool) -> Tri:
        """The common answer of all readings."""
        return self._asked(lambda one: one.equals(right, fold))

    def contains(self, right: Any, fold: bool) -> Tri:
        """The common answer of all readings."""
        return self._asked(lambda one: one.contains(right, fold))

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """The common answer of all readings."""
        return self._asked(lambda one: one.text_test(op, right, fold))

    def under(self, right: Any) -> Tri:
        """The common answer of all readings."""
        return self._asked(lambda one: one.under(right))

    def _asked(self, test: Callable[[Reading], Tri]) -> Tri:
        return self.agreed(lambda one: test(one) if isinstance(one, Reading) else None)

    def json(self) -> Any:
        """All readings."""
        return " or ".join(str(one.json() if isinstance(one, Reading) else one) for one in self.readings)


@dataclass(frozen=True, slots=True)
class UncertainValue:
    """A value that `find` found in a text, and that the text may not mean. A set holds it as a possible value."""

    value: Any


@dataclass(frozen=True, slots=True)
class UncertainText(Reading):
    """A link or an address in a text that programs read differently or end at different places. The answer to every
    test is maybe. `text` is the part of the text that was found."""

    text: str

    def json(self) -> str:
        """The text as it is written."""
        return self.text


@dataclass(frozen=True, slots=True)
class Perhaps(Reading):
    """An element that its set may not have, as a word that may be no option. `value` is what it is if it is there; a
    missing one says that the set may have no element at all.

    Under `every` it passes if its value does, and is maybe otherwise; under `any` it is maybe if its value passes. A
    test that does not know this class finds it maybe. Only a facet with `commands` may give one.
    """

    value: Any

    def json(self) -> str:
        """The value, said to be in doubt."""
        if self.value is MISSING:
            return "perhaps nothing"
        return f"perhaps {self.value.json() if isinstance(self.value, Reading) else self.value}"


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet: a reader of JSON values, with the functions that compare its values.

    `of` describes the values that it reads and `gives` those that it gives, for the documentation. `value` is the type
    of its values for the checker: `string`, `number`, `date` (can be ordered), `list` (a command: `like` compares
    words, `contains` one word) or `option` (the name of an option: `==` and `in` alone compare it). `many` is true for
    a facet that gives a set.

    `read` takes a JSON value (never null, missing or an empty list) and gives a string, a number or a `Reading`; with
    `many` it gives a list of them, which is empty if the text contains none. It gives `UNREADABLE` for a value of the
    wrong type, for a text that it cannot read with certainty, and beyond its bounds. It never raises, never recurses on
    its input, and takes time linear in the input. It gives `MISSING` if the value has no such part (a file without
    extension).

    With `placed`, `read` also gets a `Placed`, a word of a command that runs in another directory than `workdir`; any
    other facet gets its text. With `lower`, the values are in lower case, and a part of a value on the right side
    (`ends with`, `like`, …) is lowered too. With `sees_empty`, `read` also gets an empty list (its size is 0).

    `literal` normalises a literal of the right side, or raises a `ValueError` whose message the checker prints.
    `pattern` does so for the right side of `like`, if the facet has its own globs; None stands for the usual globs on a
    string. `network` does so for the right side of `under`; None if the facet has no `under`. `under` then answers for
    a string or a number, and a `Reading` answers for itself.

    `find` gives the values of this facet in a free text, for `FACET of … in` a `known` set with `input`; None if the
    facet cannot be found in a text. An uncertain value is an `UncertainValue`, an unknown one `UNREADABLE`.

    With `begins` the facet reads commands, which begin in the `cwd` beside the text; `read` gets a context that says
    where.

    With `structural` the facet reads how a list or an object is built, not what a value says: a quantifier does not
    split the lists that it reads, and its values are looked up in a `known` set as they are.

    With `commands` the facet reads a command of a shell text as a whole: in a block over `command of`, a quantifier
    does not split `it` into words before the facet reads it. `read` then gets a `Command`, a text, or any other value,
    and `many` is true. Its values may be `Placed` words, which tests see as texts, and with `perhaps` also `Perhaps`.

    `with_text` makes the facet of `NAME "…" of`, and raises a `ValueError` whose message the checker prints. The name
    of that facet is its own and the text, as in `FacetWithText.text`. None for a facet that takes no text.

    `of_unreadable` is what the facet reads from a value that another facet or a path could not read.

    `ahead` belongs to a facet that needs milliseconds for a long text. It reads a text in any thread and caches the
    result, so that a later `read` of the same text is fast.
    """

    name: str
    of: str
    gives: str
    value: str
    read: Callable[[Any, PathContext], Any]
    literal: Callable[[Any, PathContext], Any]
    many: bool = False
    sees_empty: bool = False
    lower: bool = False
    placed: bool = False
    begins: bool = False
    structural: bool = False
    commands: bool = False
    perhaps: bool = False
    of_unreadable: Any = UNREADABLE
    pattern: Callable[[str, PathContext], Any] | None = None
    network: Callable[[str, PathContext], Any] | None = None
    under: Callable[[Any, Any], Tri] | None = None
    find: Callable[[str, PathContext], Iterable[Any]] | None = None
    ahead: Callable[[str], object] | None = None
    with_text: "Callable[[str], Facet] | None" = None
