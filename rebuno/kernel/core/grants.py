"""Which grant lets a step go ahead: its own, or one that was given for more than one step."""

from collections.abc import Collection
from enum import StrEnum
from typing import Final

from rebuno.journal.records import Approval, Step
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.divergence import guard
from rebuno.kernel.core.effects import Identified
from rebuno.kernel.core.quorum import GRANT_LASTS, Terms, agreed, granters, terms
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.obligation import Obligation
from rebuno.policy.matcher.facts import Facts

# What the kernel asks about besides, it asks about an allowed step too.
_ALLOWED: Final = Decision(Verdict.ALLOW, "")
_MICROSECOND: Final = 1e-6


class GrantScope(StrEnum):
    """What a grant covers, the narrowest first: its one step; every step of its kind, target and rule; every step of
    its rule. The last two for the rest of the execution, under the policy that it was given under."""

    ONCE = "once"
    EXECUTION = "execution"
    RULE = "rule"

    def narrower(self, other: "GrantScope") -> "GrantScope":
        """The one of the two that covers less."""
        order = list(GrantScope)
        return min(self, other, key=order.index)


def covering(
    attempt: Attempt,
    step: Identified | Step,
    decision: Decision,
    over: Collection[Obligation] = (),
    layers: Collection[Decision] = (),
) -> Approval | None:
    """The grant that covers this step too, though it was given for another one. `decision` asks, `over` is as in `ask`.
    `layers` is what the policy's layers say, where that is known.

    Where rules of several layers ask about the step, or the kernel itself, none does: a grant answers for one rule, and
    no other's question is passed over.
    """
    wider = [grant for grant in attempt.approvals.values() if _covers(attempt, grant, step, decision)]
    if not wider:
        return None
    asks = {
        (rule.bundle, rule.rule_id) for rule in layers or _layers(attempt, step) if rule.verdict is Verdict.APPROVAL
    }
    asks |= {(rule.bundle, rule.rule_id) for rule in over}
    if isinstance(step, Identified) and (kernels := guard(attempt, step, _ALLOWED)).verdict is Verdict.APPROVAL:
        asks.add((decision.bundle, kernels.rule_id))
    if asks - {(decision.bundle, decision.rule_id)}:
        return None
    wanted = terms(decision, over)
    return next((grant for grant in wider if _good(attempt, grant, wanted, lasts=wanted.expires)), None)


def holding(attempt: Attempt, known: Step, today: Decision) -> Approval | None:
    """The grant under which a recorded step may start today: its own, by the rule of today, else one that covers it."""
    grant = attempt.approvals.get(known.approval_id)
    if grant is not None and grant.step_id == known.step_id:
        wanted = terms(today)
        lasts = wanted.expires if wanted.expires is not None else GRANT_LASTS
        if grant.cause == "policy" and _good(attempt, grant, wanted, lasts=lasts):
            return grant
    return covering(attempt, known, today)


def _covers(attempt: Attempt, grant: Approval, step: Identified | Step, decision: Decision) -> bool:
    if grant.status != "granted" or grant.cause != "policy" or grant.scope == GrantScope.ONCE:
        return False
    same_rule = (grant.bundle, grant.rule_id) == (decision.bundle, decision.rule_id)
    if not same_rule or grant.digest != attempt.policy.digest:
        return False
    if grant.scope == GrantScope.RULE:
        return True
    # A page further on than the handler has come yet: what was not read covers nothing.
    given_for = attempt.steps.get(grant.step_id)
    return given_for is not None and (given_for.kind, given_for.target) == (step.kind, step.target)


def _good(attempt: Attempt, grant: Approval, wanted: Terms, *, lasts: float | None) -> bool:
    # Younger than nothing: a clock set back since must not let a grant live on. What the journal holds is rounded.
    age = attempt.store.now() - grant.decided_at
    fresh = lasts is None or -_MICROSECOND < age <= lasts
    return grant.status == "granted" and fresh and agreed(wanted.panels, granters(grant))


def _layers(attempt: Attempt, step: Identified | Step) -> Collection[Decision]:
    if isinstance(step, Step):
        return attempt.layers_of(step)
    if not attempt.policy.layers:
        return ()
    looked_at = Facts(
        step.kind,
        step.target,
        identity.parse(step.args),
        agent=attempt.execution.agent_id,
        input=attempt.input,
        history=attempt.past,
        now=attempt.store.now(),
        parent=attempt.parent,
    )
    return [layer.decide(looked_at) for layer in attempt.policy.layers]
