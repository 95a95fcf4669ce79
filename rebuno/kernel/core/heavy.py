"""Work that takes long is done beside the event loop, so that one agent's text does not hold all others.

INVARIANT: two pieces of it at a time, one of them short. Threads share the interpreter's lock, and a waiting thread
waits for each that holds it: some five milliseconds beside one thread, as many times that beside several.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, TypeVar

from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Identified
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.policy.matcher import read_ahead as ahead
from rebuno.policy.matcher.facts import Facts, History
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


def is_heavy(attempt: Attempt, args: str) -> bool:
    """Whether a decision about these arguments (canonical JSON) may take long."""
    if len(args) <= LONG and attempt.weight <= LONG_PAST:
        return False
    return len(args) > LONG_FOR_ALL or ahead.reads(attempt.policy)


async def read_ahead(attempt: Attempt, args: str) -> None:
    """Reads the long texts among the arguments, so that a decision soon after takes no time for them."""
    if readers := ahead.readers(attempt.policy):
        await beside(partial(ahead.read, readers, args))


async def foresee(attempt: Attempt, step: Identified) -> Foreseen | None:
    """Decides beside the event loop about a new step whose decision may take long; None where it takes no time.

    INVARIANT: what policies keep of a history is touched by one thread at a time. While `attempt.deciding` is set it is
    the other thread's, so that a short decision waits for a long one of its own execution.
    """
    while attempt.deciding is not None:
        await asyncio.wait((attempt.deciding,))
    if not is_heavy(attempt, step.args):
        return None
    execution, policy, history = attempt.execution, attempt.policy, attempt.history
    count, now = len(history.evidence), attempt.store.now()
    agent, input, parent = execution.agent_id, attempt.input, attempt.parent

    long = max(len(step.args), attempt.weight) > LONG_FOR_ALL

    def work() -> Foreseen:
        args = identity.reread(step.args)
        facts = Facts(
            step.kind, step.target, args, agent=agent, input=input, history=history, now=now, parent=parent
        )  # fmt: skip
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
