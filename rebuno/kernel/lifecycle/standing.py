"""How people give grants that outlive the execution whose question they answer, and take them back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import uuid_utils

from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.journal.records import ApprovalRow, ExecutionRow, StepRow, VoteRow
from rebuno.journal.standing import StandingGrantRow
from rebuno.journal.store import Store
from rebuno.kernel.core import standing
from rebuno.kernel.core.names import check_name
from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno.policy import Policy, rule_expires

LONGEST: Final = 366 * 86_400
# The scope of such a grant.
AGENT: Final = "agent"


@dataclass(frozen=True, slots=True)
class StandingTerms:
    """For how many seconds a grant stands, and what the arguments of later steps must be: those of the step that was
    asked about, but for the `known` ones (by the names of sets) and those that are `free`."""

    lasts: float
    known: Mapping[str, str] = field(default_factory=dict)
    free: Sequence[str] = ()


def standing_terms(
    scope: str, lasts: float | None, known: Mapping[str, str] | None, free: Sequence[str] | None
) -> StandingTerms | None:
    """What a person says who grants: the scope `agent` for so many seconds. None: the grant ends with the execution.

    Raises:
        ValidationError: the scope has no end, or what is said goes with another scope.
    """
    if scope == AGENT:
        if lasts is None:
            raise ValidationError("a grant of the scope `agent` needs an end: say for how long")
        return StandingTerms(lasts, known or {}, free or ())
    if lasts is not None or known or free:
        raise ValidationError("only a grant of the scope `agent` outlives the run, or says what arguments must be")
    return None


def made(
    store: Store,
    policy: Policy,
    execution: ExecutionRow,
    question: ApprovalRow,
    step: StepRow,
    vote: VoteRow,
    terms: StandingTerms,
) -> StandingGrantRow:
    """The grant that a vote gives; writes nothing.

    Raises:
        ValidationError: it cannot be given for this question, or so.
    """
    if not 0 < terms.lasts <= LONGEST:
        raise ValidationError(f"a grant stands for more than 0 and at most {LONGEST // 86_400} days")
    if question.cause != "policy" or question.rule_id.startswith("__"):
        raise ValidationError(f"a grant of `{question.id}` covers this one step: it is no rule of the bundle that asks")
    lasts = rule_expires(policy, question.bundle, question.rule_id)
    if lasts is not None and terms.lasts > lasts:
        raise ValidationError(
            f"the rule `{question.rule_id}` says that a grant holds {lasts} seconds at most (`expires`)"
        )
    matches = standing.wanted(policy, question.bundle, identity.parse(step.args), dict(terms.known), terms.free)
    uses = matches.uses(policy, question.bundle, question.rule_id)
    if not uses:
        raise ValidationError(f"the bundle `{question.bundle}` has no rule `{question.rule_id}` today")
    now = round(store.now(), 6)
    return StandingGrantRow(
        id=str(uuid_utils.uuid7()),
        agent_id=execution.agent_id,
        kind=step.kind.value,
        target=step.target,
        bundle=question.bundle,
        rule_id=question.rule_id,
        rule_text=uses,
        matches=matches.text(),
        approval_id=question.id,
        granted_by=identity.canonical([vote.decided_by]),
        asserted_by=vote.asserted_by,
        rationale=vote.rationale,
        created_at=now,
        expires_at=round(now + terms.lasts, 6),
    )


def told(grant: StandingGrantRow) -> dict[str, object]:
    """What an event tells of a grant that was given."""
    return {"id": grant.id, "expires_at": rfc3339(grant.expires_at), "matches": identity.parse(grant.matches)}


async def revoke(store: Store, ref: str, *, by: str) -> StandingGrantRow:
    """Ends a grant, named by its id or the beginning of it: from now on it lets nothing start.

    Raises:
        NotFoundError: there is none.
        ConflictError: several begin so, or it is over already.
        ValidationError: the name is malformed.
        StoreError
    """
    check_name("name of who revokes it", by)
    found = [one for one in await store.standing_grants() if ref and one.id.startswith(ref)]
    found = [one for one in found if one.id == ref] or found
    if not found:
        raise NotFoundError(f"there is no grant `{ref[:100]}`")
    if len(found) > 1:
        raise ConflictError(f"`{ref}` names {len(found)} grants; give the whole id")
    (one,) = found
    if one.revoked_at:
        raise ConflictError(f"the grant `{one.id}` was revoked by {one.revoked_by} already")
    await store.revoke_standing_grant(one.id, by)
    return next(over for over in await store.standing_grants() if over.id == one.id)
