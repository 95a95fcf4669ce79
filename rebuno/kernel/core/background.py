"""What policies may know of an execution besides its steps: who began it, and what the user wrote."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rebuno.journal.words import TurnRow
from rebuno.policy import MISSING, UNREADABLE, Facts

# So many lists of turns are kept to be given again.
_MOST_LISTS: Final = 64

_Heard = tuple[list[str] | None, tuple[float, ...]]


@dataclass(slots=True)
class Background:
    """The facts that all steps of an execution share; see `Facts` for what they mean.

    `turns` are all of the execution, in order: a step is told of those that were said before it was submitted.
    """

    parent: Any = None
    delegated: bool = False
    input_at: float | None = None
    root_input: Any = None
    root_input_at: float | None = None
    root_turns: list[str] | None = None
    root_turn_times: tuple[float | None, ...] = ()
    read_args: Any = MISSING
    # The folder of the session, empty without one.
    workdir: str = ""
    turns: Sequence[TurnRow] = ()
    # In characters.
    weight: int = 0
    _heard: dict[int, _Heard] = field(default_factory=dict)

    def tell(self, facts: Facts, before: int | None = None) -> Facts:
        """Adds these facts to those of a step that was submitted as event `before` (None: now)."""
        if self is NOTHING:
            return facts
        facts.parent, facts.delegated, facts.input_at = self.parent, self.delegated, self.input_at
        facts.root_input, facts.root_input_at = self.root_input, self.root_input_at
        facts.root_turns, facts.root_turn_times = self.root_turns, self.root_turn_times
        facts.read_args = self.read_args
        if self.workdir:
            facts.workdir = self.workdir
        if self.turns:
            facts.turns, facts.turn_times = self.heard(before)
        return facts

    def heard(self, before: int | None) -> _Heard:
        """The texts and the times of the turns that were said before an event: the same objects for the same turns."""
        count = len(self.turns)
        if before is not None:
            count = bisect_left(self.turns, before, key=lambda turn: turn.event_seq)
        found = self._heard.get(count)
        if found is None:
            if len(self._heard) >= _MOST_LISTS:
                self._heard.clear()
            said = self.turns[:count]
            found = self._heard[count] = [turn.text for turn in said] or None, tuple(turn.said_at for turn in said)
        return found


# Nobody began it but a client, and nothing was said since, or no policy asks.
NOTHING: Final = Background()
# Somebody may have passed on whatever it was given.
UNKNOWN: Final = Background(parent=UNREADABLE, delegated=True)
