"""Chooses the moment at which a process, or the server under it, is killed, and waits for it from outside."""

import asyncio
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from tests.acceptance.killing.orders import Moment

# How often something is looked at that may have happened, in seconds.
TICK: Final = 0.001
# The longest time for which a run waits at a question before it is killed there, in seconds.
WAITS: Final = 0.05


class When(StrEnum):
    """What is waited for from outside before a kill."""

    NEVER = "the process ends by itself"
    RANDOM = "some time after its start"
    NOTES = "so many more notes of bodies"
    REQUESTS = "so many more requests at the provider"
    QUESTION = "a person is asked, and the answer stays away"
    ANSWER = "a person has just agreed"
    INSIDE = "the process kills itself"


@dataclass(frozen=True, slots=True)
class Aim:
    """When to kill: after so many (`number`) notes or requests or seconds; `moment` where the process does it."""

    when: When
    number: float = 0
    moment: Moment | None = None

    @property
    def answers(self) -> bool:
        """Whether a person may answer while the process lives."""
        return self.when not in (When.RANDOM, When.QUESTION)


# How many of a hundred kills are meant for what.
_SHARES: Final = {
    When.RANDOM: 36,
    When.NOTES: 14,
    When.REQUESTS: 9,
    When.QUESTION: 5,
    When.ANSWER: 8,
    When.INSIDE: 28,
}
# The how manieth time, at most: what is resumed comes to each less often.
_TIMES: Final = {
    Moment.BEGIN: 3,
    Moment.INTENT: 12,
    Moment.BODY: 12,
    Moment.OUTCOME: 12,
    Moment.STREAM: 12,
    Moment.BETWEEN: 60,
    Moment.END: 1,
}


def choose(longest: float, impossible: Collection[When]) -> Aim:
    """A moment that is none of the impossible ones, for a process that works about `longest` seconds."""
    shares = {when: share for when, share in _SHARES.items() if when not in impossible}
    (when,) = random.choices(list(shares), list(shares.values()))
    match when:
        case When.RANDOM:
            return Aim(when, random.random() * longest)
        case When.NOTES:
            return Aim(when, random.randrange(1, 40))
        case When.REQUESTS:
            return Aim(when, random.randrange(1, 12))
        case When.INSIDE:
            moment = random.choice(list(_TIMES))
            return Aim(when, random.randint(1, _TIMES[moment]), moment)
        case _:
            return Aim(when, random.random() * WAITS)


class Watch:
    """Sees how far a process has come. `answers` tells whether a person must answer its questions now, `asked` whether
    one stood open, `granted` whether one was answered."""

    def __init__(self, process: BaseProcess, notes: list[Path], requests: Callable[[], int], *, answers: bool) -> None:
        self.answers = answers
        self._process = process
        self._notes = notes
        self._requests = requests
        self.asked = asyncio.Event()
        self.granted = asyncio.Event()

    def gone(self) -> bool:
        """Whether the process has ended."""
        return bool(wait([self._process.sentinel], 0))

    async def end(self) -> None:
        """Returns once the process has ended."""
        await self._until(lambda: False)

    async def come(self, aim: Aim) -> None:
        """Returns at the moment that is aimed at, or once the process has ended."""
        match aim.when:
            case When.NEVER | When.INSIDE:
                await self.end()
            case When.RANDOM:
                await asyncio.sleep(aim.number)
            case When.NOTES:
                size = self._size() + aim.number * _LINE
                await self._until(lambda: self._size() >= size)
            case When.REQUESTS:
                count = self._requests() + aim.number
                await self._until(lambda: self._requests() >= count)
            case When.QUESTION:
                await self._until(self.asked.is_set)
                await asyncio.sleep(aim.number)
            case When.ANSWER:
                await self._until(self.granted.is_set)

    async def _until(self, happened: Callable[[], bool]) -> None:
        while True:
            if happened() or self.gone():
                return
            await asyncio.sleep(TICK)

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._notes if path.exists())


# The shortest note's length in bytes, roughly: what is aimed at is random all the same.
_LINE: Final = 40
