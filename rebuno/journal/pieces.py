"""Long arguments in pieces: of what the calls of one execution repeat, each piece is stored once.

A model call repeats the whole conversation. Its arguments, as canonical JSON, are cut where elements of lists end, and
within long ones after so many characters; the pieces of an execution are numbered as they first come. In the place of
the arguments, the step's row holds which pieces they are, and its `kind` a mark.

INVARIANT: the pieces of an execution are only added to, with the event of the step that brings them, and removed all at
once with the execution. So what is known of them stays true, and the first ones are the same for every reader.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from rebuno.journal.rows import Row

# The name under which a store says that they are written in it.
PIECES: Final = "pieces"
# Arguments of so many characters are cut.
LONG: Final = 8192
# In characters: no end of an element is looked for before, what is longer is cut, and into what. Many pieces fit into a
# page of a database, so that little of it is left empty.
SHORTEST: Final = 64
LONGEST: Final = 1500
BLOCK: Final = 1000
# Old kernels know no such kind of a step, and call its row damaged.
_MARK: Final = "/pieces"
# The columns of a step: its arguments, its execution, its kind, and the number of the event that decided it.
ARGS: Final = 5
_EXECUTION, _KIND, _DECIDED = 1, 3, 19

# A piece: its number, from 1 in each execution, and its text.
Piece = tuple[int, str]


class MissingPieceError(ValueError):
    """A piece that a step's row names is not there, or another one is."""


def cut(text: str, at: int = 0) -> list[str]:
    """A text from `at` on in pieces, which together are the text. What stands before an end of an element is cut as it
    is in every other text that begins in the same way."""
    pieces: list[str] = []
    length = len(text)
    # Where the next element of a list of objects begins, and where the next such list ends.
    element = ending = 0
    while at < length:
        least = at + SHORTEST
        if element < least:
            element = _after(text, '},{"', least)
        if ending < least:
            ending = _after(text, "}]", least)
        end = min(element, ending)
        while end - at > LONGEST:
            pieces.append(text[at : at + BLOCK])
            at += BLOCK
        pieces.append(text[at:end])
        at = end
    return pieces


def _after(text: str, what: str, least: int) -> int:
    # Behind the bracket. Not before `least`.
    found = text.find(what, least - 1)
    return len(text) if found < 0 else found + 1


@dataclass(slots=True)
class Laid:
    """Arguments that are written: their text, where each of its pieces ends, and the pieces' numbers."""

    text: str
    ends: list[int]
    numbers: list[int]

    def shared(self, text: str) -> int:
        """How many of the first pieces another text begins with, or fewer."""
        back, count = 1, len(self.ends)
        # The next call differs in its last pieces. The further back one must go, the longer are the strides.
        while count and not text.startswith(self.text[: self.ends[count - 1]]):
            count = max(0, count - back)
            back *= 2
        return count


class ExecutionPieces:
    """The pieces of one execution, as far as they are known: those up to the number `last`."""

    __slots__ = ("_numbers", "last", "latest", "newest")

    def __init__(self) -> None:
        # The arguments that were written last.
        self.newest: Laid | None = None
        # By their hashes: the texts are long.
        self._numbers: dict[bytes, int] = {}
        self.last = 0
        # The hash of the last one.
        self.latest = b""

    def number(self, key: bytes) -> int | None:
        """The number of the piece with this hash."""
        return self._numbers.get(key)

    def learn(self, pieces: Iterable[Row]) -> bool:
        """Takes in the pieces that the store has from the number `last` on, in their order. False where the last one is
        not the one that was known: nothing is known then, and all are to be read.

        Raises:
            MissingPieceError: some are left out.
        """
        rest = iter(pieces)
        if self.last:
            number, text = next(rest, (0, ""))
            if number != self.last or _key(text) != self.latest:
                self._numbers.clear()
                self.last, self.latest, self.newest = 0, b"", None
                return False
        for number, text in rest:
            self.add(number, _key(text))
        return True

    def add(self, number: int, key: bytes) -> None:
        """Takes in one, by its hash."""
        if number != self.last + 1:
            raise MissingPieceError(f"piece {number} follows piece {self.last}")
        self._numbers.setdefault(key, number)
        self.last, self.latest = number, key

    @property
    def size(self) -> int:
        """How much memory this takes, in pieces."""
        return self.last + 8 + (len(self.newest.text) // 256 if self.newest is not None else 0)


class Laying:
    """What a change makes of arguments: the pieces that it adds to those that are known."""

    def __init__(self, known: ExecutionPieces | None = None) -> None:
        self.known = ExecutionPieces() if known is None else known
        self.added: list[Piece] = []
        self._keys: dict[bytes, int] = {}
        self._newest: Laid | None = None

    def lay_all(self, rows: Sequence[Row]) -> list[Row]:
        """The columns of steps, with pieces in the place of long arguments, and with nothing where the step is there
        already: then they are not written."""
        return [self._lay(values) if is_long(values[ARGS]) else values for values in rows]

    def _lay(self, values: Row) -> Row:
        text = values[ARGS]
        if not values[_DECIDED]:
            return (*values[:ARGS], "", *values[ARGS + 1 :])
        return (
            *values[:_KIND],
            f"{values[_KIND]}{_MARK}",
            values[_KIND + 1],
            _named(len(text), self._numbers(text)),
            *values[ARGS + 1 :],
        )

    def _numbers(self, text: str) -> list[int]:
        before = self._newest or self.known.newest
        count = 0 if before is None else before.shared(text)
        ends, numbers = ([], []) if before is None else (before.ends[:count], before.numbers[:count])
        at = ends[-1] if ends else 0
        for piece in cut(text, at):
            at += len(piece)
            ends.append(at)
            numbers.append(self._number(piece))
        self._newest = Laid(text, ends, numbers)
        return numbers

    def _number(self, text: str) -> int:
        key = _key(text)
        number = self.known.number(key) or self._keys.get(key)
        if number is None:
            number = self.known.last + len(self.added) + 1
            self._keys[key] = number
            self.added.append((number, text))
        return number

    def keep(self) -> None:
        """The change is written: what it added is known."""
        for key, number in self._keys.items():
            self.known.add(number, key)
        self.known.newest = self._newest or self.known.newest


class KnownPieces:
    """The pieces of those executions that were written to last, with what each knowledge rests on."""

    def __init__(self, most: int) -> None:
        """`most` is how many pieces it keeps: some hundred bytes each."""
        self._most = most
        self._count = 0
        self._kept: OrderedDict[str, tuple[ExecutionPieces, Any]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._kept)

    def take(self, execution_id: str) -> tuple[ExecutionPieces, Any] | None:
        """What is known of an execution's pieces. Until it is put back it is not known any more."""
        found = self._kept.pop(execution_id, None)
        if found is not None:
            self._count -= found[0].size
        return found

    def put(self, execution_id: str, pieces: ExecutionPieces, basis: Any = None) -> None:
        """Keeps what is known, and forgets what nobody has asked for for the longest."""
        self.take(execution_id)
        self._kept[execution_id] = (pieces, basis)
        self._count += pieces.size
        while self._count > self._most:
            self._count -= self._kept.popitem(last=False)[1][0].size

    def clear(self) -> None:
        """Forgets all."""
        self._kept.clear()
        self._count = 0


def is_long(args: str) -> bool:
    """Whether arguments are cut. Sealed ones are one string, and share nothing with others."""
    return len(args) >= LONG and not args.startswith('"')


def are_long(rows: Iterable[Row]) -> bool:
    """Whether the columns of some steps hold long arguments."""
    return any(is_long(values[ARGS]) for values in rows)


def bring_long(rows: Iterable[Row]) -> bool:
    """Whether some of these steps are new."""
    return any(is_long(values[ARGS]) and values[_DECIDED] for values in rows)


def joined(read: Callable[[], Sequence[Row]], fetch: Callable[[str, int, int], Iterable[Row]]) -> Sequence[Row]:
    """The rows of steps that `read` gives, with their arguments. `fetch` gives the pieces of an execution from a number
    to another.

    Raises:
        MissingPieceError: a piece is not there.
        ValueError: a row is damaged.
    """
    try:
        return _whole(read(), fetch)
    except MissingPieceError:
        # Retention may have taken the execution between the two questions.
        return _whole(read(), fetch)


def _whole(rows: Sequence[Row], fetch: Callable[[str, int, int], Iterable[Row]]) -> Sequence[Row]:
    marked = [index for index, row in enumerate(rows) if row[_KIND].endswith(_MARK)]
    if not marked:
        return rows
    named = {index: _read(rows[index][ARGS]) for index in marked}
    found: dict[str, dict[int, str]] = {}
    for execution_id in {rows[index][_EXECUTION] for index in marked}:
        own = [named[index][1] for index in marked if rows[index][_EXECUTION] == execution_id]
        first = min(span.start for spans in own for span in spans)
        last = max(span.stop for spans in own for span in spans) - 1
        found[execution_id] = dict(fetch(execution_id, first, last))
    whole = list(rows)
    for index in marked:
        row = rows[index]
        args = _joined(row, *named[index], found[row[_EXECUTION]])
        whole[index] = (*row[:_KIND], row[_KIND].removesuffix(_MARK), row[_KIND + 1], args, *row[ARGS + 1 :])
    return whole


def _joined(row: Row, length: int, spans: Sequence[range], texts: dict[int, str]) -> str:
    try:
        text = "".join([texts[number] for span in spans for number in span])
    except KeyError as missing:
        raise MissingPieceError(f"piece {missing} of the arguments of step `{row[0]}` is missing") from None
    if len(text) != length:
        raise MissingPieceError(f"a piece of the arguments of step `{row[0]}` was changed")
    return text


def _named(length: int, numbers: Iterable[int]) -> str:
    """Which pieces a text is. It begins with a line feed, so that no page of successes takes its step for a short one
    (`success_page`)."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    written = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
    return f"\n{length}:{written}"


def _read(text: str) -> tuple[int, list[range]]:
    length, _, written = text.removeprefix("\n").partition(":")
    spans = []
    for span in written.split(","):
        first, _, last = span.partition("-")
        spans.append(range(int(first), int(last or first) + 1))
    return int(length), spans


def _key(text: str) -> bytes:
    return sha256(text.encode()).digest()
