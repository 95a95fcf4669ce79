"""Grants that outlive the execution whose question they answered: which of them lets a step start."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rebuno.errors import ValidationError
from rebuno.journal.standing import StandingGrantRow
from rebuno.kernel.core.edited import is_sealed
from rebuno.kernel.core.effects import Identified, Need
from rebuno.kernel.core.quorum import Terms, agreed
from rebuno.model import identity
from rebuno.model.decision import Decision
from rebuno.policy import Facts, Policy, known_digest, known_sets, rule_digest, surely_known

if TYPE_CHECKING:
    from rebuno.kernel.core.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Matches:
    """What the arguments of a step must be: each one of `args` has this value, each one of `known` is for sure in the
    `known` of this name, each one of `free` may be anything, and there are no others."""

    args: dict[str, Any]
    known: dict[str, str]
    free: tuple[str, ...]

    def text(self) -> str:
        """As canonical JSON."""
        return identity.canonical({"args": self.args, "known": self.known, "free": list(self.free)})

    def uses(self, policy: Policy, bundle: str, rule_id: str) -> str:
        """The digest of the rule, and of the sets that are named here; empty where there is no such rule."""
        rule = rule_digest(policy, bundle, rule_id)
        sets = [known_digest(policy, bundle, name) for name in sorted(set(self.known.values()))]
        return "" if not rule or not all(sets) else identity.args_hash(identity.canonical([rule, *sets]))

    def fit(self, policy: Policy, bundle: str, looked_at: Facts) -> bool:
        """Whether the arguments of a step are so."""
        args = looked_at.args
        if not isinstance(args, dict) or is_sealed(args):
            return False
        if args.keys() - {*self.args, *self.known, *self.free} or self.args.keys() - args.keys():
            return False
        if any(identity.canonical(args[name]) != identity.canonical(value) for name, value in self.args.items()):
            return False
        return all(surely_known(policy, bundle, looked_at, name, known) for name, known in self.known.items())


def matches_from(text: str) -> Matches:
    """What stands in a row. Raises `ValidationError`, `KeyError`, `TypeError` or `AttributeError` where that was
    damaged."""
    said = identity.parse(text)
    return Matches(dict(said["args"]), dict(said["known"]), tuple(said["free"]))


def wanted(policy: Policy, bundle: str, args: Any, known: dict[str, str], free: Iterable[str]) -> Matches:
    """What the arguments of later steps must be, by those of the step that was asked about: equal to these, but for
    the arguments that must be `known`, by the names of sets, and for those that are `free`.

    Raises:
        ValidationError: there is no such argument or set, or the call has sealed values.
    """
    if not isinstance(args, dict):
        raise ValidationError("the arguments of this call are no object, so no grant can say what they must be")
    if is_sealed(args):
        raise ValidationError("the call has sealed values: it is asked about each time")
    free = tuple(dict.fromkeys(free))
    for name in (*known, *free):
        if name not in args:
            raise ValidationError(f"the call has no argument `{name[:100]}`")
    for name in known.keys() & set(free):
        raise ValidationError(f"the argument `{name}` is either known or free")
    sets = known_sets(policy, bundle)
    for name in known.values():
        if name not in sets:
            there = ", ".join(f"`{one}`" for one in sorted(sets)) or "none"
            raise ValidationError(f"the bundle `{bundle}` has no `known` of the name `{name[:100]}`; it has {there}")
    fixed = {name: value for name, value in args.items() if name not in known and name not in free}
    return Matches(fixed, dict(known), free)


@dataclass(slots=True)
class StandingNeeded(Need):
    """The standing grants must be read before a person is asked about a step."""

    step: Identified

    async def meet(self, attempt: "Attempt") -> None:
        """Reads them, as they are now: one that was revoked lets nothing start any more."""
        store = attempt.store
        # INVARIANT: what was submitted after a step that a person is asked about starts no body before the question.
        looked_up = attempt.asking = asyncio.get_running_loop().create_future()
        try:
            self.step.standing = tuple(
                await store.standing_grants(
                    agent_id=attempt.execution.agent_id,
                    kind=self.step.kind.value,
                    target=self.step.target,
                    now=store.now(),
                )
            )
            # What was decided before an await is decided again, so that it rests on the end of the log.
            await attempt.current()
        finally:
            attempt.asking = None
            looked_up.set_result(None)


class AskedBefore(Need):
    """It must be known first whether a person is asked about an earlier step."""

    __slots__ = ()

    async def meet(self, attempt: "Attempt") -> None:
        """Waits until it is."""
        while attempt.asking is not None:
            await asyncio.wait([attempt.asking])
        await attempt.current()


def standing_for(attempt: "Attempt", step: Identified, decision: Decision, terms: Terms) -> StandingGrantRow | None:
    """The grant that lets a new step start of which the rule of this decision asks, and no other."""
    # INVARIANT: nobody lets steps past a limit that is used up before they are there.
    if step.turn is not None and step.turn.asks:
        return None
    for grant in step.standing or ():
        if (grant.bundle, grant.rule_id) == (decision.bundle, decision.rule_id) and _good(attempt, step, grant, terms):
            return grant
    return None


def _good(attempt: "Attempt", step: Identified, grant: StandingGrantRow, terms: Terms) -> bool:
    if not grant.created_at <= attempt.store.now() < grant.expires_at or grant.revoked_at:
        return False
    try:
        names, matches = [str(name) for name in identity.parse(grant.granted_by)], matches_from(grant.matches)
    except (ValidationError, KeyError, TypeError, ValueError, AttributeError):
        return False
    if not agreed(terms.panels, names) or matches.uses(attempt.policy, grant.bundle, grant.rule_id) != grant.rule_text:
        return False
    # A rule that says how long a grant holds says it of this one too.
    if terms.expires is not None and attempt.store.now() - grant.created_at > terms.expires:
        return False
    return matches.fit(attempt.policy, grant.bundle, attempt.first_facts(step, attempt.past))
