"""Work that takes long is done beside the event loop, so that one agent's text does not hold all others.

INVARIANT: two pieces of it at a time, one of them short. Threads share the interpreter's lock, and a thread that needs
it waits for each that holds it: some five milliseconds beside one thread, as many times that beside several.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rebuno.journal.records import StepRow
from rebuno.kernel.core import facts
from rebuno.kernel.core.effects import Identified, Need
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.step import StepStatus
from rebuno.policy import LONG_TEXT, Facts, History, Policy, reads_texts

if TYPE_CHECKING:
    from rebuno.kernel.core.attempt import Attempt

T = TypeVar("T")

# Characters of arguments, as JSON.
LONG: Final = LONG_TEXT
# Of arguments where no facet is read and nothing is sought: a thousand rules look at them a thousand times.
LONG_FOR_ALL: Final = 65_536
# Of the input and of what earlier steps were given and gave, as JSON.
LONG_PAST: Final = 16_384

_MAY_START: Final = (StepStatus.ALLOWED, StepStatus.EXECUTING)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a policy says of a step on the first `count` pieces of evidence; `layers` is what its layers say where a
    person is to be asked, else empty; `args` are the step's, as a JSON value; `doubt` as `doubt_of` tells it; `shadow`
    is what the bundles beside the policy say."""

    decision: Decision
    layers: tuple[Decision, ...]
    policy: Policy
    history: History
    count: int
    args: Any
    doubt: str = ""
    shadow: Sequence[dict[str, Any]] = ()

    def holds(self, attempt: "Attempt") -> bool:
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
class JudgementNeeded(Need):
    """What today's policy says of a recorded step takes long, and is decided in another thread."""

    known: StepRow

    async def meet(self, attempt: "Attempt") -> None:
        """Decides, and keeps the decision for `judged`, `decision_on` and `layers_on`."""
        while attempt.deciding is not None:
            await asyncio.wait((attempt.deciding,))
        known, policy, history = self.known, attempt.policy, attempt.history

        def work() -> Foreseen:
            return _foreseen(policy, attempt.facts(known, history), history, 0)

        attempt.judged[known.step_id] = await _decided_beside(attempt, known.step_id, work, len(known.call_args))


@dataclass(slots=True)
class ForesightNeeded(Need):
    """The decision about a new step takes long, or must wait for one that does."""

    step: Identified

    async def meet(self, attempt: "Attempt") -> None:
        """Has it made beside the event loop."""
        self.step.foreseen = await foresee(attempt, self.step)
        # INVARIANT: what was decided before an await is decided again, so that it rests on the end of the log.
        await attempt.current()


def is_heavy(attempt: "Attempt", args: str) -> bool:
    """Whether a decision about these arguments (canonical JSON) may take long."""
    if len(args) <= LONG and attempt.recorded.weight + attempt.background.weight <= LONG_PAST:
        return False
    return len(args) > LONG_FOR_ALL or reads_texts(attempt.policy)


async def read(text: str) -> Any:
    """The value of a JSON text that was written here; a long one is read beside the event loop."""
    if len(text) <= LONG_FOR_ALL:
        return identity.reread(text)
    return await beside(partial(identity.parse, text), long=len(text) > identity.LARGE)


def facts_of(attempt: "Attempt", step: Identified, known: StepRow | None) -> Facts | Decision | Need:
    """What the policy looks at: the facts of the step's first submission. The decision itself where it stands: recorded
    under this very bundle, or made in another thread. A Need where a long text must be read first."""
    if known is not None:
        return judged(attempt, known) or facts.standing(attempt.policy, known) or attempt.facts(known)
    return foreseen(attempt, step) or attempt.first_facts(step)


def judged(attempt: "Attempt", known: StepRow) -> Decision | JudgementNeeded | None:
    """What today's policy says of a recorded step, where another thread has decided it; a Need where it has to. None
    where the decision takes no time, or where the recorded one stands and nothing more is asked."""
    same = facts.stands(attempt.policy, known)
    # One that may start after all is decided about under the same bundle too: who is asked is not recorded.
    starts = known.status in _MAY_START and known.verdict == Verdict.APPROVAL.value
    if same and not starts:
        return None
    seen = _kept(attempt, known)
    if seen is not None:
        return None if same else seen.decision
    if not is_heavy(attempt, known.call_args):
        return None
    return JudgementNeeded(known)


def decision_on(attempt: "Attempt", known: StepRow) -> Decision:
    """What today's policy says of a recorded step, whatever was recorded."""
    seen = _kept(attempt, known)
    return attempt.policy.decide(attempt.facts(known)) if seen is None else seen.decision


def layers_on(attempt: "Attempt", known: StepRow) -> tuple[Decision, ...]:
    """What each layer of today's policy says of a recorded step."""
    seen = _kept(attempt, known)
    if seen is not None and seen.decision.verdict is Verdict.APPROVAL:
        return seen.layers
    if not attempt.policy.layers:
        return ()
    looked_at = attempt.facts(known)
    return tuple([layer.decide(looked_at) for layer in attempt.policy.layers])


def _kept(attempt: "Attempt", known: StepRow) -> Foreseen | None:
    seen = attempt.judged.get(known.step_id)
    same = seen is not None and seen.policy is attempt.policy and seen.history is attempt.history
    return seen if same else None


def foreseen(attempt: "Attempt", step: Identified) -> Decision | ForesightNeeded | None:
    """The decision that was made beside the event loop, where it still holds. None where it takes no time to make."""
    if step.foreseen is not None and step.foreseen.holds(attempt):
        step.doubt = step.foreseen.doubt
        return step.foreseen.decision
    if attempt.deciding is not None or is_heavy(attempt, step.args):
        return ForesightNeeded(step)
    return None


def shadow_of(policy: Policy, step: Identified, looked_at: Facts | Decision) -> Sequence[dict[str, Any]]:
    """What the bundles beside the policy say of a new step, from where its decision was made."""
    if isinstance(looked_at, Facts):
        return _shadow_verdicts(policy, looked_at)
    return step.foreseen.shadow if step.foreseen is not None else ()


async def foresee(attempt: "Attempt", step: Identified) -> Foreseen | None:
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

    def work() -> Foreseen:
        return _foreseen(policy, attempt.first_facts(step, history, now), history, count)

    return await _decided_beside(attempt, step.step_id, work, len(step.args))


# What explains decisions is imported where one is to be explained: it is a tenth of all that is imported.
def told_doubt(policy: Policy, facts: Facts, decision: Decision) -> str:
    """As `doubt_of`, of facts that were in doubt."""
    from rebuno.policy import doubt_of

    return doubt_of(policy, facts, decision)


def _shadow_verdicts(policy: Policy, facts: Facts) -> Sequence[dict[str, Any]]:
    from rebuno.policy import shadow_verdicts

    return shadow_verdicts(policy, facts)


def _foreseen(policy: Policy, facts: Facts, history: History, count: int) -> Foreseen:
    decision = policy.decide(facts)
    doubt = told_doubt(policy, facts, decision) if facts.doubted else ""
    asks = decision.verdict is Verdict.APPROVAL
    layers = tuple([layer.decide(facts) for layer in policy.layers]) if asks else ()
    shadow = _shadow_verdicts(policy, facts) if policy.shadows else ()
    return Foreseen(decision, layers, policy, history, count, facts.args, doubt, shadow)


async def _decided_beside(attempt: "Attempt", step_id: str, work: Callable[[], Foreseen], size: int) -> Foreseen:
    long = max(size, attempt.recorded.weight + attempt.background.weight) > LONG_FOR_ALL
    deciding = asyncio.get_running_loop().run_in_executor(_worker(long=long), work)
    attempt.deciding = deciding
    deciding.add_done_callback(partial(_decided, attempt))
    # INVARIANT: who waits may be cancelled; the thread goes on.
    seen = await asyncio.shield(deciding)
    attempt.read_args = {step_id: seen.args}
    return seen


def _decided(attempt: "Attempt", deciding: asyncio.Future[Foreseen]) -> None:
    attempt.deciding = None
    if not deciding.cancelled():
        deciding.exception()
