"""Work that takes long is done beside the event loop, so that one agent's text does not hold all others.

INVARIANT: two pieces of it at a time, one of them short. Threads share the interpreter's lock, and a thread that needs
it waits for each that holds it: some five milliseconds beside one thread, as many times that beside several.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, TypeVar

from rebuno.journal.records import Step
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Identified, Need
from rebuno.model.decision import Decision, Verdict
from rebuno.policy.matcher import read_ahead as ahead
from rebuno.policy.matcher.facts import History
from rebuno.policy.matcher.policy import Policy

T = TypeVar("T")

# Characters of arguments, as JSON.
LONG: Final = ahead.LONG
# Of arguments where no facet is read and nothing is sought: a thousand rules look at them a thousand times.
LONG_FOR_ALL: Final = 65_536
# Of the input and of what earlier steps were given and gave, as JSON.
LONG_PAST: Final = 16_384


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a policy says of a step on the first `count` pieces of evidence; `layers` is what its layers say where a
    person is to be asked, else empty."""

    decision: Decision
    layers: tuple[Decision, ...]
    policy: Policy
    history: History
    count: int

    def holds(self, attempt: Attempt) -> bool:
        """Whether it rests on all that is known by now."""
        same = self.policy is attempt.policy and self.history is attempt.history
        return same and self.count == len(self.history.evidence)


@cache
def _worker(*, long: bool = False) -> ThreadPoolExecutor:
    # Nobody's work of milliseconds stands behind somebody's work of seconds.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="rebuno-long" if long else "rebuno-heavy")


async def beside(work: Callable[[], T], *, long: bool = False) -> T:
    """What `work` gives or raises, done in the one thread for work of milliseconds; `long`: in that for work of
    seconds."""
    return await asyncio.get_running_loop().run_in_executor(_worker(long=long), work)


@dataclass(slots=True)
class TextNeeded(Need):
    """The long texts of a recorded step must be read before a decision about it."""

    step: Identified

    async def meet(self, attempt: Attempt) -> None:
        """Reads them beside the event loop, so that a decision soon after takes no time for them."""
        if readers := ahead.readers(attempt.policy):
            await beside(partial(ahead.read, readers, self.step.args))
        self.step.read_ahead = True


@dataclass(slots=True)
class ForesightNeeded(Need):
    """The decision about a new step takes long, or must wait for one that does."""

    step: Identified

    async def meet(self, attempt: Attempt) -> None:
        """Has it made beside the event loop."""
        self.step.foreseen = await foresee(attempt, self.step)
        # INVARIANT: what was decided before an await is decided again, so that it rests on the end of the log.
        await attempt.current()


def is_heavy(attempt: Attempt, args: str) -> bool:
    """Whether a decision about these arguments (canonical JSON) may take long."""
    if len(args) <= LONG and attempt.recorded.weight <= LONG_PAST:
        return False
    return len(args) > LONG_FOR_ALL or ahead.reads(attempt.policy)


def text_of(attempt: Attempt, step: Identified, known: Step) -> TextNeeded | None:
    """What must be read before a decision about a recorded step; None where nothing is, or its outcome stands."""
    if len(step.args) <= LONG or step.read_ahead or (known.status.terminal and known.digest == attempt.policy.digest):
        return None
    return TextNeeded(step)


def foreseen(attempt: Attempt, step: Identified) -> Decision | ForesightNeeded | None:
    """The decision that was made beside the event loop, where it still holds. None where it takes no time to make."""
    if step.foreseen is not None and step.foreseen.holds(attempt):
        return step.foreseen.decision
    if attempt.deciding is not None or is_heavy(attempt, step.args):
        return ForesightNeeded(step)
    return None


async def foresee(attempt: Attempt, step: Identified) -> Foreseen | None:
    """Decides beside the event loop about a new step whose decision may take long; None where it takes no time.

    INVARIANT: what policies keep of a history is touched by one thread at a time. While `attempt.deciding` is set it is
    the other thread's, so that a short decision waits for a long one of its own execution.
    """
    while attempt.deciding is not None:
        await asyncio.wait((attempt.deciding,))
    if not is_heavy(attempt, step.args):
        return None
    policy, history = attempt.policy, attempt.history
    count, now = len(history.evidence), attempt.store.now()
    long = max(len(step.args), attempt.recorded.weight) > LONG_FOR_ALL

    def work() -> Foreseen:
        facts = attempt.first_facts(step, history, now)
        decision = policy.decide(facts)
        asks = decision.verdict is Verdict.APPROVAL
        layers = tuple([layer.decide(facts) for layer in policy.layers]) if asks else ()
        return Foreseen(decision, layers, policy, history, count)

    deciding = asyncio.get_running_loop().run_in_executor(_worker(long=long), work)
    attempt.deciding = deciding
    deciding.add_done_callback(partial(_decided, attempt))
    # INVARIANT: who waits may be cancelled; the thread goes on.
    return await asyncio.shield(deciding)


def _decided(attempt: Attempt, deciding: asyncio.Future[Foreseen]) -> None:
    attempt.deciding = None
    if not deciding.cancelled():
        deciding.exception()
