"""Which grant lets a step go ahead: its own, or one that was given for more than one step."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from rebuno.journal.records import ApprovalRow, StepRow
from rebuno.journal.standing import StandingGrantRow
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.divergence import guard
from rebuno.kernel.core.edited import editable
from rebuno.kernel.core.effects import Identified
from rebuno.kernel.core.heavy import layers_on
from rebuno.kernel.core.quorum import GRANT_LASTS, Terms, agreed, granters, terms
from rebuno.kernel.core.standing import standing_for
from rebuno.model.decision import Decision, Verdict
from rebuno.model.obligation import Obligation

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


def covering(attempt: Attempt, step: Identified | StepRow, decision: Decision) -> ApprovalRow | StandingGrantRow | None:
    """The grant that covers this step too, though it was given for another one. `decision` asks.

    Where rules of several layers ask about the step, or the kernel itself, none does: a grant answers for one rule, and
    no other's question is passed over.
    """
    wider = [grant for grant in attempt.approvals.values() if _covers(attempt, grant, step, decision)]
    standing = step.standing if isinstance(step, Identified) else None
    # What a person reads with marks in it, a person answers each time.
    if (not wider and not standing) or (attempt.seals is not None and attempt.seals.shows(step)):
        return None
    over: tuple[Obligation, ...] = ()
    asks = {(rule.bundle, rule.rule_id) for rule in _layers(attempt, step) if rule.verdict is Verdict.APPROVAL}
    if isinstance(step, Identified):
        over = step.turn.asks if step.turn is not None else ()
        asks |= {(rule.bundle, rule.rule_id) for rule in over}
        if (kernels := guard(attempt, step, _ALLOWED)).verdict is Verdict.APPROVAL:
            asks.add((decision.bundle, kernels.rule_id))
    if asks - {(decision.bundle, decision.rule_id)}:
        return None
    wanted = terms(decision, over)
    found = next((grant for grant in wider if _good(attempt, grant, wanted, lasts=wanted.expires)), None)
    if found is not None or not isinstance(step, Identified):
        return found
    return standing_for(attempt, step, decision, wanted)


def holding(attempt: Attempt, known: StepRow, today: Decision) -> ApprovalRow | StandingGrantRow | None:
    """The grant under which a recorded step may start today: its own, by the rule of today, else one that covers it."""
    grant = attempt.approvals.get(known.approval_id)
    if grant is not None and grant.step_id == known.step_id:
        wanted = terms(today)
        lasts = wanted.expires if wanted.expires is not None else GRANT_LASTS
        if grant.cause == "policy" and _good(attempt, grant, wanted, lasts=lasts):
            return grant
    return covering(attempt, known, today)


def edits_of(
    attempt: Attempt, step: Identified | StepRow, decision: Decision, over: Iterable[Obligation] = ()
) -> tuple[str, ...]:
    """The paths of the arguments that who answers a question about this step may change. `decision` asks; what the
    kernel itself asks about runs as it was submitted, or not at all."""
    if decision.rule_id.startswith("__") or (isinstance(step, Identified) and not step.edits):
        return ()
    if not any(one.asking is not None and one.asking.edits for one in decision.obligations):
        return ()
    return tuple(path.text for path in editable(decision, _layers(attempt, step), over))


def _covers(attempt: Attempt, grant: ApprovalRow, step: Identified | StepRow, decision: Decision) -> bool:
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


def _good(attempt: Attempt, grant: ApprovalRow, wanted: Terms, *, lasts: float | None) -> bool:
    # Younger than nothing: a clock set back since must not let a grant live on. What the journal holds is rounded.
    age = attempt.store.now() - grant.decided_at
    fresh = lasts is None or -_MICROSECOND < age <= lasts
    return grant.status == "granted" and fresh and agreed(wanted.panels, granters(grant))


def _layers(attempt: Attempt, step: Identified | StepRow) -> Iterable[Decision]:
    """What the layers of today's policy say about a step."""
    if isinstance(step, StepRow):
        return layers_on(attempt, step)
    if step.foreseen is not None and step.foreseen.holds(attempt):
        return step.foreseen.layers
    looked_at = attempt.first_facts(step, attempt.past)
    return [layer.decide(looked_at) for layer in attempt.policy.layers]
