"""An attempt that writes between what somebody else's change rests on and the change, again and again."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from rebuno.journal.store import Store
from rebuno.kernel.core.transact import PATIENCE
from rebuno.model.answer import Answer
from rebuno.policy import compile_text
from tests.kernel.served import Run, World

ASKS = """bundle asks
default allow
rule act { require approval for tool "act" expires 60s because "ask it" }
rule both { require approval for tool "both" approvers "ana", "ben" quorum 2 because "ask two" }
"""
ASK = compile_text(ASKS)
# So often the answer is judged: as long as there is patience, once on less than the newest event, and once more where
# something it still rests on has changed.
MOST = PATIENCE + 2


class Meanwhile:
    """What happens each time between what an answer rests on and its write."""

    def __init__(self, deed: Callable[[int], Awaitable[object]]) -> None:
        self.times = 0
        self._deed = deed
        self._inside = False

    @contextmanager
    def on(self, store: Store) -> Iterator["Meanwhile"]:
        """Makes it happen on this store, after the questions were read."""
        with self._after(store, "approvals"):
            yield self

    @contextmanager
    def after_step(self, store: Store) -> Iterator["Meanwhile"]:
        """Makes it happen on this store, after a step was read."""
        with self._after(store, "step"):
            yield self

    @contextmanager
    def _after(self, store: Store, name: str) -> Iterator[None]:
        read: Callable[..., Awaitable[object]] = getattr(store, name)

        async def reads(*args: object, **named: object) -> object:
            found = await read(*args, **named)
            if not self._inside:
                self.times, self._inside = self.times + 1, True
                try:
                    await self._deed(self.times)
                finally:
                    self._inside = False
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, name, reads)
            yield


async def busy(w: World) -> tuple[Run, Answer, Callable[[], Awaitable[object]]]:
    """A delivered execution with a body that goes on doing steps."""
    await w.agent(policy=ASKS)
    run = await w.begin()
    outer = await run.submit("outer")
    numbers = iter(range(1000))

    async def write() -> None:
        inner = await run.submit("inner", {"n": next(numbers)}, parent=outer.step_id)
        await run.done(inner)

    return run, outer, write
