"""The texts of `words at`: whole words and numbers in what earlier steps gave, found without a look at every text."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from rebuno.policy.values.json_values import Tri
from rebuno.policy.values.tokens import SearchableTexts, found_numbers, occurs, pieces

# Says whether an event came before the submission.
ByThen = Callable[[int | None], bool]
# The place of a value in an index of what is waited for.
Place = tuple[str, Any]
# Where every value is waited for that any text may hold: truth values, and what no text can be searched for.
ANY_TEXT: Final[Place] = ("text", None)


class _GivenText:
    """One text, whether it was given for certain, and by which event."""

    __slots__ = ("folded", "seq", "sure", "text")

    def __init__(self, text: str, sure: bool, seq: int) -> None:
        self.text = text
        self.folded = text.casefold()
        self.sure = sure
        self.seq = seq

    def holds(self, value: str, folded: str, fold: bool) -> Tri:
        """Whether the value stands in the text, as `SearchableTexts.find` says."""
        exact = False if fold else occurs(self.text, value)
        if exact:
            return True
        here = occurs(self.folded, folded)
        if here and fold:
            return True
        return False if here is False and exact is False else None


class WordsIndex:
    """The texts that one history gave so far, by their pieces, and the numbers in them. Events come in order."""

    __slots__ = ("_by_piece", "_numbers", "_written", "first")

    def __init__(self) -> None:
        self._by_piece: dict[str, list[_GivenText]] = {}
        # The first events that gave a number as a certain and as a possible one: JSON numbers, and those in texts.
        self._numbers: dict[int | float, dict[bool, int]] = {}
        self._written: dict[Decimal | int, dict[bool, int]] = {}
        # The event that gave the first text.
        self.first: int | None = None

    def add(self, texts: SearchableTexts, sure: bool, seq: int) -> Iterator[Place]:
        """Adds the texts of one item. The result is the places of what it may hold, for those who wait."""
        if self.first is None:
            self.first = seq
        for number in texts.numbers:
            self._numbers.setdefault(number, {}).setdefault(sure, seq)
            yield "number", number
        for text in texts.texts:
            given = _GivenText(text, sure, seq)
            for piece in dict.fromkeys(pieces(given.folded)):
                self._by_piece.setdefault(piece, []).append(given)
                yield "piece", piece
            for written, alone in found_numbers(text):
                self._written.setdefault(written, {}).setdefault(sure and alone, seq)
                yield "written", written
        yield ANY_TEXT

    def find(self, value: str | int | float, by_then: ByThen, *, fold: bool) -> Tri:
        """Whether a text that was given by then holds the value."""
        if not isinstance(value, str):
            found = [self._numbers.get(value, {}), self._written.get(_decimal(value), {})]
            if any(by_then(seqs.get(True)) for seqs in found):
                return True
            return None if any(by_then(seqs.get(False)) for seqs in found) else False
        folded = value.casefold()
        answer: Tri = False
        for given in self._with_all(folded):
            if not by_then(given.seq):
                break
            here = given.holds(value, folded, fold)
            if here and given.sure:
                return True
            if here is not False:
                answer = None
        return answer

    def _with_all(self, folded: str) -> list[_GivenText]:
        # Those that hold the rarest piece of the value.
        if not folded.strip():
            return []
        return min((self._by_piece.get(piece, []) for piece in pieces(folded)), key=len)

    def seqs(self, value: Any) -> Iterator[int]:
        """The events that gave what may hold a value."""
        if isinstance(value, str):
            yield from (given.seq for given in self._with_all(value.casefold()))
        elif type(value) is bool or not isinstance(value, int | float):
            yield from () if self.first is None else (self.first,)
        else:
            yield from (
                seq
                for seqs in (self._numbers.get(value, {}), self._written.get(_decimal(value), {}))
                for seq in seqs.values()
            )


def waiting_places(value: Any) -> list[Place]:
    """The places at which one waits for a text that holds the value."""
    if isinstance(value, str):
        folded = value.casefold()
        return [("piece", max(pieces(folded), key=len))] if folded.strip() else []
    return [("number", value), ("written", _decimal(value))]


def _decimal(value: int | float) -> Decimal | int:
    # A real stands for the decimal that its shortest form writes: 0.1 is the 0.1 of a text.
    return value if isinstance(value, int) else Decimal(repr(value))
