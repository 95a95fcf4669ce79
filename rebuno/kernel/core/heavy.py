"""Work that takes long is done beside the event loop, so that one agent's text does not hold all others.

INVARIANT: two pieces of it at a time, one of them short. Threads share the interpreter's lock, and a waiting thread
waits for each that holds it: some five milliseconds beside one thread, as many times that beside several.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, TypeVar

from rebuno.journal.records import Step
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Identified
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.step import StepStatus
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
    person is to be asked, else empty; `args` are the step's, as a JSON value."""

    decision: Decision
    layers: tuple[Decision, ...]
    policy: Policy
    history: History
    count: int
    args: Any

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


async def read(text: str) -> Any:
    """The value of a JSON text that was written here; a long one is read beside the event loop."""
    if len(text) <= LONG_FOR_ALL:
        return identity.parse(text)
    return await beside(partial(identity.parse, text), long=len(text) > identity.LARGE)


def lacks_judgement(attempt: Attempt, known: Step) -> bool:
    """Whether today's policy has to decide about a recorded step, has not yet, and may take long for it."""
    if attempt.judged(known.step_id) or known.status is StepStatus.DENIED:
        return False
    same = known.digest == attempt.policy.digest
    # One that may start after all is decided about under the same bundle too: who is asked is not recorded.
    starts = known.status in (StepStatus.ALLOWED, StepStatus.EXECUTING) and known.verdict == Verdict.APPROVAL.value
    return (not same or starts) and is_heavy(attempt, known.args)


async def judge_again(attempt: Attempt, known: Step) -> bool:
    """Decides beside the event loop about a recorded step where that is lacking, for `Attempt.judge` to know. True
    where it did: then others may have changed the step meanwhile."""
    if not lacks_judgement(attempt, known):
        return False
    while attempt.deciding is not None:
        await asyncio.wait((attempt.deciding,))
    policy, history = attempt.policy, attempt.history

    def work() -> Foreseen:
        return _foreseen(policy, attempt.facts_of(known, history), history, 0)

    seen = await _decided_beside(attempt, known.step_id, work, len(known.args))
    if attempt.policy is policy and attempt.history is history:
        attempt.keep_judged(known.step_id, seen.decision, seen.layers)
    return True


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

    def work() -> Foreseen:
        args = identity.reread(step.args)
        facts = Facts(
            step.kind, step.target, args, agent=agent, input=input, history=history, now=now, parent=parent
        )  # fmt: skip
        return _foreseen(policy, facts, history, count)

    return await _decided_beside(attempt, step.step_id, work, len(step.args))


def _foreseen(policy: Policy, facts: Facts, history: History, count: int) -> Foreseen:
    decision = policy.decide(facts)
    asks = decision.verdict is Verdict.APPROVAL
    layers = tuple([layer.decide(facts) for layer in policy.layers]) if asks else ()
    return Foreseen(decision, layers, policy, history, count, facts.args)


async def _decided_beside(attempt: Attempt, step_id: str, work: Callable[[], Foreseen], size: int) -> Foreseen:
    long = max(size, attempt.weight) > LONG_FOR_ALL
    deciding = asyncio.get_running_loop().run_in_executor(_worker(long=long), work)
    attempt.deciding = deciding
    deciding.add_done_callback(partial(_decided, attempt))
    # INVARIANT: who waits may be cancelled; the thread goes on.
    seen = await asyncio.shield(deciding)
    attempt.read = {step_id: seen.args}
    return seen


def _decided(attempt: Attempt, deciding: asyncio.Future[Foreseen]) -> None:
    attempt.deciding = None
    if not deciding.cancelled():
        deciding.exception()
