"""A call that an approver has changed: judged anew, as if the agent had submitted it so, and counted by limits in the
place of the first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rebuno.errors import ConflictError, ForbiddenError, ValidationError
from rebuno.journal.pot_records import Take
from rebuno.journal.records import ApprovalRow, ExecutionRow, Full, Spend, StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core import budgets, facts, pots
from rebuno.kernel.core.edited import changed, is_sealed
from rebuno.kernel.core.heavy import LONG, LONG_FOR_ALL, beside, read, told_doubt
from rebuno.kernel.core.inheritance import session_of
from rebuno.kernel.core.limit_outcome import EXCEEDED, ExceededLimit, outcome_of
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.origins import background
from rebuno.kernel.core.quorum import Terms, terms
from rebuno.kernel.core.sealed import seals_of
from rebuno.kernel.core.windows import window
from rebuno.model import identity
from rebuno.model.decision import UNKNOWN_OUTCOME, Decision, Verdict
from rebuno.model.obligation import Limit, LimitScope, Obligation, Otherwise, ValuePath
from rebuno.model.step import Idempotency, StepStatus
from rebuno.policy import ALL_STEP_FACTS, Facts, Policy, measured, restore_policy

# More places than any window has.
_ANY: Final = 2**31 - 1
# How a step ends of which nobody knows whether it was carried out.
_UNKNOWN: Final = ("indeterminate", "policy_revoked", "cancelled")


@dataclass(frozen=True, slots=True)
class EditedCall:
    """A changed call that may run once the `terms` are met. `args` are all of its arguments as canonical JSON, `paths`
    those that were changed now (none: they were before), `needs` what it takes from limits."""

    args: str
    paths: tuple[str, ...]
    decision: Decision
    doubt: str
    terms: Terms
    needs: tuple["_Needed", ...]

    def said(self) -> dict[str, object]:
        """What an event tells of the call."""
        return {"ran_hash": identity.args_hash(self.args)} | ({"edits": list(self.paths)} if self.paths else {})

    def decided(self) -> dict[str, object]:
        """What an event tells of its decision."""
        one = self.decision
        told: dict[str, object] = {
            "verdict": one.verdict.value,
            "rule_id": one.rule_id,
            "bundle": one.bundle,
            "digest": one.digest,
        }
        return told | ({"reason": one.reason} if one.reason else {}) | ({"doubt": self.doubt} if self.doubt else {})


@dataclass(frozen=True, slots=True)
class _Needed:
    rule: Obligation
    limit: Limit
    spend: Spend | Take

    @property
    def key(self) -> str:
        return self.spend.key if isinstance(self.spend, Spend) else self.spend.pot.key

    @property
    def is_measured(self) -> bool:
        return isinstance(self.spend, Spend) or bool(self.spend.amount)


async def asked_policy(store: Store, execution: ExecutionRow, question: ApprovalRow, today: str = "") -> Policy:
    """The policy that asked: where the process that judges the execution is another one, that judges the call again
    before it runs. `today` is the text of the agent's bundle, where the store has one.

    Raises:
        ConflictError: the agent has another bundle by now.
        BundleError: the texts of that policy make another one here.
        StoreError
    """
    sources = await store.bundle(question.digest) or ()
    if today and today not in [text for _, text in sources]:
        raise ConflictError(
            f"the bundle of `{execution.agent_id}` has changed since `{question.id}` was asked: change the call "
            "through the server (`--url`), or grant it as it is"
        )
    return restore_policy(question.digest, sources)


async def judge(
    store: Store,
    policy: Policy,
    execution: ExecutionRow,
    question: ApprovalRow,
    step: StepRow,
    edit: Mapping[str, Any] | None,
) -> EditedCall:
    """What the changed call comes to. `edit` are new values of arguments, None where they were changed before the
    question was asked. Writes nothing.

    Raises:
        ForbiddenError: the rules do not let it be changed so, or do not let the changed call run.
        ConflictError: a limit has no room for it.
        ValidationError: it is no change, or one of what is sealed.
        StoreError
    """
    args = identity.parse(step.args)
    wanted = identity.parse(question.edited) if edit is None else _merged(question, args, edit)
    text = identity.canonical(wanted, "args")
    if text == step.args:
        raise ValidationError("the edit changes nothing; grant the call as it is")
    seals = seals_of(store)
    if seals is not None and any(seals.written(replace(step, args=one)).args != one for one in (step.args, text)):
        raise ForbiddenError("the call has sealed values and runs as it was submitted; deny it, or grant it as it is")
    steps, approvals = await load(store, execution.id, ALL_STEP_FACTS)
    known, input = await background(store, execution), await read(execution.input)
    past = facts.history(steps.values(), approvals.values())
    agent = execution.agent_id
    step = steps[step.step_id]
    # INVARIANT: these are the facts by which the call is judged again whenever the run comes to it.
    run = replace(step, ran_args=text, edited_seq=execution.head_seq + 1, edited_at=round(store.now(), 6))
    looked_at = facts.of_known(run, agent=agent, input=input, past=past, background=known)

    def decide() -> tuple[Decision, Decision, str]:
        first = policy.decide(facts.of_known(step, agent=agent, input=input, past=past, background=known))
        decision = policy.decide(looked_at)
        return first, decision, told_doubt(policy, looked_at, decision) if looked_at.doubted else ""

    size = len(execution.input) + len(text) + sum(len(one.args) + len(one.result or "") for one in steps.values())
    first, decision, doubt = decide() if size <= LONG else await beside(decide, long=size > LONG_FOR_ALL)
    paths = () if edit is None else _checked(question, first, args, wanted)
    if decision.verdict is Verdict.DENY:
        raise ForbiddenError(f"the changed call is denied by {_named(decision)}: {decision.reason or 'policy_denied'}")
    if run.idempotency is Idempotency.ONCE and _is_unknown(run, steps.values()):
        raise ForbiddenError(f"the changed call is refused: {UNKNOWN_OUTCOME}")
    session = await session_of(store, execution)
    used = sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in steps.values())
    by_session = any(one.budget is not None and one.budget.scope is LimitScope.SESSION for one in decision.obligations)
    others = await store.session_tokens(agent, session, execution.id) if by_session and session else 0
    needs = tuple(
        _Needed(rule, rule.limit, _spend(rule, rule.limit, execution, session, looked_at))
        for rule in decision.obligations
        if rule.limit is not None
    )
    over = [ExceededLimit(one.rule, one.limit.otherwise, EXCEEDED) for one in needs if not one.is_measured]
    return _weighed(EditedCall(text, paths, decision, doubt, terms(decision), needs), [
        *budgets.over(decision, used, others), *over
    ])  # fmt: skip


def _merged(question: ApprovalRow, args: Any, edit: Mapping[str, Any]) -> dict[str, Any]:
    if not question.edits:
        raise ForbiddenError(
            f"nothing may be changed in the call of `{question.id}`: the rule that asks has no `edits`, or what runs "
            "the agent cannot run changed arguments"
        )
    if not isinstance(args, dict):
        raise ValidationError("the arguments of this call are no object, so no part of them can be changed")
    if is_sealed(args) or is_sealed(dict(edit)):
        raise ForbiddenError("the call has sealed values and runs as it was submitted; deny it, or grant it as it is")
    return {**args, **edit}


def _checked(question: ApprovalRow, first: Decision, args: Any, wanted: Any) -> tuple[str, ...]:
    """The paths that an edit changes. Those are allowed that people were shown and that today's rules name too."""
    named: dict[str, ValuePath] = {}
    for rule in first.obligations:
        if rule.asking is not None:
            named |= {path.text: path for path in rule.asking.edits}
    may, may_not = changed(args, wanted, [path for text, path in named.items() if text in question.edits])
    if may_not:
        allowed = ", ".join(f"`{text}`" for text in question.edits)
        raise ForbiddenError(f"`{may_not[0][:200]}` may not be changed; the rule that asks says `edits` of {allowed}")
    return tuple(may)


def _weighed(call: EditedCall, over: Iterable[ExceededLimit]) -> EditedCall:
    """The call with the terms of those, too, who are asked because it is `over` a limit or a budget."""
    weighed = outcome_of(call.decision, over)
    if weighed.decision.verdict is Verdict.DENY or weighed.rate_limited is not None:
        kept = weighed.rate_limited.reason if weighed.rate_limited is not None else weighed.decision.reason
        raise ConflictError(f"the changed call is over a limit: {kept}")
    return replace(call, decision=weighed.decision, terms=terms(weighed.decision, weighed.asks))


def _named(decision: Decision) -> str:
    return f"the rule `{decision.rule_id}`" + (f" of `{decision.bundle}`" if decision.bundle else "")


def _is_unknown(run: StepRow, steps: Iterable[StepRow]) -> bool:
    """Whether a step of this very content has started, and nobody knows how it ended."""
    content = identity.args_hash(run.ran_args)
    for one in steps:
        if one.step_id == run.step_id or one.idempotency is not Idempotency.ONCE:
            continue
        if (one.kind, one.target) != (run.kind, run.target):
            continue
        if content not in (one.args_hash, identity.args_hash(one.call_args)):
            continue
        if one.status in (StepStatus.EXECUTING, StepStatus.CANCELLED):
            return True
        if one.status is StepStatus.FAILED:
            error = identity.parse(one.error or "null")
            if isinstance(error, dict) and error.get("reason") in _UNKNOWN:
                return True
    return False


# ---------------------------------------------------------------- limits


def _spend(rule: Obligation, limit: Limit, execution: ExecutionRow, session: str, looked_at: Facts) -> Spend | Take:
    if not pots.in_pot(limit):
        return Spend(window(rule.bundle, rule.rule_id, limit.scope, execution), int(limit.number), limit.window)
    return pots.take_of(rule, limit, execution, session, measured(limit, looked_at))


async def recorded_takes(store: Store, execution: ExecutionRow, step: StepRow) -> list[Spend | Take]:
    """What a step takes from limits, as the newest of its events says that names any; places in windows without their
    numbers.

    Raises:
        StoreError
    """
    session = await session_of(store, execution)
    said: Sequence[Any] = ()
    after = step.decided_seq - 1
    while page := await store.events(execution.id, after=after):
        for event in page:
            if event.payload.get("step_id") == step.step_id and "limits" in event.payload:
                said = event.payload["limits"]
        after = page[-1].event_seq
    found: list[Spend | Take] = []
    for one in said:
        if "amount" not in one:
            scope = LimitScope(one["scope"])
            found.append(Spend(window(str(one["bundle"]), str(one["rule_id"]), scope, execution), 0, None))
        elif not one.get("at_grant") and (take := pots.taken_in(one, execution, session)) is not None:
            found.append(take)
    return found


async def swap(store: Store, execution: ExecutionRow, step: StepRow, call: EditedCall) -> tuple[Terms, list[Any]]:
    """Takes what the changed call takes in the place of what the step has taken: the terms of those who are asked
    because it is over a limit then, too, and what an event says of it.

    Raises:
        ConflictError: there is no room; nothing has changed.
        StoreError
    """
    had = await recorded_takes(store, execution, step)
    full: set[str] = set()
    over: list[ExceededLimit] = []
    while True:
        wanted: dict[str, Spend | Take] = {}
        for one in call.needs:
            if isinstance(one.spend, Take) and one.is_measured:
                wanted.setdefault(one.key, replace(one.spend, forced=one.key in full))
            elif isinstance(one.spend, Spend) and one.key not in full:
                wanted.setdefault(one.key, one.spend)
        if not wanted and not had:
            break
        answer = await store.spend(step.step_id, [*wanted.values()], had or [*wanted.values()])
        if answer is None:
            break
        key = answer.spend.key if isinstance(answer.spend, Spend) else answer.spend.pot.key
        rules = [one for one in call.needs if one.key == key]
        if key in full or any(one.limit.otherwise is not Otherwise.APPROVAL for one in rules):
            raise ConflictError(f"a limit of the rule `{rules[0].rule.rule_id}` has no room for the changed call")
        full.add(key)
        over += [ExceededLimit(one.rule, one.limit.otherwise, EXCEEDED) for one in rules]
    told: list[Any] = []
    for one in call.needs:
        if one.key in wanted and isinstance(one.spend, Take):
            told.append(pots.told(one.rule, one.limit, one.spend))
        elif one.key in wanted:
            rule = one.rule
            told.append({"bundle": rule.bundle, "rule_id": rule.rule_id, "scope": one.limit.scope.value})
    return (_weighed(call, over).terms if over else call.terms), told


async def take_back(
    store: Store, execution: ExecutionRow, step: StepRow, call: EditedCall | None = None
) -> Full | None:
    """Has a step take what its events say, though a change of it, `call`, was not recorded after all; what has no room,
    where no such change is known to this process.

    Raises:
        StoreError
    """
    takes: list[Spend | Take] = []
    for one in await recorded_takes(store, execution, step):
        takes.append(replace(one, forced=call is not None) if isinstance(one, Take) else replace(one, number=_ANY))
    had = [*takes, *(one.spend for one in call.needs)] if call is not None else takes
    return await store.spend(step.step_id, takes, had) if had else None
