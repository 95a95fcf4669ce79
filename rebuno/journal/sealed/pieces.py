"""What steps publish while they run, sealed: a channel carries short texts only, so one piece goes in several parts."""

import os
from collections import OrderedDict

from rebuno.errors import SealBroken
from rebuno.sealing import ExecutionKey

# A word that no text of ours begins with, between the execution and a part.
_WORD = "sealed"
# Characters of a part, and how many pieces may be under way: what is lost on the way is never completed.
_LONGEST = 7000
_MOST = 1000


def parts(execution_id: str, text: str, key: ExecutionKey) -> list[str]:
    """The texts to pass on in the place of one that begins with the execution's id."""
    sealed, number = key.seal(text, "piece"), os.urandom(8).hex()
    cut = [sealed[at : at + _LONGEST] for at in range(0, len(sealed), _LONGEST)]
    return [f"{execution_id} {_WORD} {number} {place} {len(cut)} {part}" for place, part in enumerate(cut)]


class SealedPieces:
    """Puts parts together again."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, dict[int, str]] = OrderedDict()

    def take(self, text: str) -> tuple[str, str] | None:
        """The execution and the sealed text that this part completes; None where it completes none."""
        execution_id, _, number, place, count, part = text.split(" ", 5)
        if count == "1":
            return execution_id, part
        found = self._waiting.setdefault(number, {})
        found[int(place)] = part
        if len(found) < int(count):
            while len(self._waiting) > _MOST:
                self._waiting.popitem(last=False)
            return None
        del self._waiting[number]
        return execution_id, "".join(found[place] for place in sorted(found))


def is_part(text: str) -> bool:
    """Whether a text that was passed on is a part of a sealed one."""
    return text.split(" ", 2)[1:2] == [_WORD]


def opened(sealed: str, key: ExecutionKey) -> str | None:
    """The text that was sealed; None where it does not open."""
    try:
        return key.unseal(sealed, "piece")
    except SealBroken:
        return None
