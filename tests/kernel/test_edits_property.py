"""Whatever the rules are: a changed call comes to what the same call comes to that an agent submits."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.errors import BundleError, ConflictError, ForbiddenError
from rebuno.kernel.history.verify import check
from rebuno.model import identity
from rebuno.model.answer import AnswerKind
from rebuno.policy import Policy, compile_text
from tests.kernel.support import Bench, bench

# What a rule looks at: the call itself, and what came before it.
TESTS = [
    "args.amount > 50",
    "args.amount <= 20",
    'args.to == "a"',
    'args.to in ["b", "c"]',
    "args.to in seen",
    'after tool "before" where (args.to == this.args.to)',
    'count(tool "pay" where (args.to == this.args.to)) < 1',
    'sum(tool "before" at args.amount) + args.amount <= 60',
    "args.amount is integer",
]
HEADS = ["allow", "deny", "require approval for"]
ASKS = ["", 'approvers "ana"', 'approvers "ben"', "quorum 2", 'approvers "ana", "ben" quorum 2']
LIMITS = ["", "limit 70 of args.amount per 24h for all agents together", "limit 2 per execution"]
CALLS = st.fixed_dictionaries(
    {"to": st.sampled_from("abc"), "amount": st.sampled_from([1, 10, 20, 21, 50, 51, 60, "20"])}
)


@st.composite
def policies(draw: st.DrawFn) -> Policy | None:
    """A bundle whose last rule asks about all that is left, and lets everything be changed; None where it is none."""
    rules = []
    for n in range(draw(st.integers(0, 3))):
        head, test = draw(st.sampled_from(HEADS)), draw(st.sampled_from(TESTS))
        asks = f"{draw(st.sampled_from(ASKS))} edits args.to, args.amount" if head.startswith("require") else ""
        limit = draw(st.sampled_from(LIMITS)) if head != "deny" else ""
        rules.append(f'rule r{n} {{ {head} tool "pay" when {test} {limit} {asks} because "r{n}" }}')
    text = "\n".join(
        [
            "bundle drawn",
            'known seen = result of tool "before" at to',
            'rule before { allow tool "before" }',
            *rules,
            f'rule rest {{ require approval for tool "pay" {draw(st.sampled_from(LIMITS))}'
            ' edits args.to, args.amount because "rest" }',
        ]
    )
    try:
        return compile_text(text)
    except BundleError:
        return None


async def prepared(b: Bench, policy: Policy, before: list[dict[str, Any]]) -> None:
    """An attempt in which these calls were done."""
    await b.begin(policy)
    for call in before:
        done = await b.submit(target="before", args=call)
        assert done.kind is AnswerKind.PROCEED
        await b.succeed(done, {"to": call["to"]})


async def as_submitted(policy: Policy, before: list[dict[str, Any]], call: dict[str, Any]) -> tuple[Any, ...]:
    """What the call comes to where the agent submits it."""
    async with bench() as b:
        await prepared(b, policy, before)
        answer = await b.submit(target="pay", args=call, edits=True)
        if answer.kind is not AnswerKind.BLOCKED:
            return (answer.kind,)
        question = await b.store.approval(answer.approval_id)
        enough = question.quorum == 1 and (not question.approvers or "ana" in question.approvers)
        return (AnswerKind.PROCEED,) if enough else (AnswerKind.BLOCKED, question.approvers, question.quorum)


async def as_changed(
    policy: Policy, before: list[dict[str, Any]], first: dict[str, Any], call: dict[str, Any]
) -> tuple[Any, ...] | None:
    """What it comes to where a person writes it in the place of another one; None where nobody is asked about that."""
    async with bench() as b:
        await prepared(b, policy, before)
        asked = await b.submit(target="pay", args=first, edits=True)
        if asked.kind is not AnswerKind.BLOCKED:
            return None
        question = await b.store.approval(asked.approval_id)
        if question.approvers and "ana" not in question.approvers:
            return None
        await b.suspend()
        seen = question, await b.events(), await b.store.pots()
        try:
            voted = await b.answer(question.id, granted=True, edit=call, by="ana")
        except (ForbiddenError, ConflictError) as error:
            # A refused edit changes nothing.
            assert (await b.store.approval(question.id), await b.events(), await b.store.pots()) == seen
            return (AnswerKind.RATE_LIMITED if isinstance(error, ConflictError) else AnswerKind.DENIED,)
        assert (await check(b.store, question.execution_id)).fault == ""
        if voted.status == "pending":
            return AnswerKind.BLOCKED, voted.approvers, voted.quorum
        for _ in range(2):
            await b.begin(policy)
            for one in before:
                await b.submit(target="before", args=one)
            ran = await b.submit(target="pay", args=first, edits=True)
            assert ran.args == identity.canonical(call)
            if ran.kind is AnswerKind.PROCEED:
                await b.succeed(ran, call)
        # The replay gives the result of the changed call.
        assert (ran.kind, ran.result) == (AnswerKind.REPLAY, identity.canonical(call))
        assert (await check(b.store, question.execution_id)).fault == ""
        return (AnswerKind.PROCEED,)


@settings(max_examples=150, deadline=None)
@given(policies(), st.lists(CALLS, max_size=2), CALLS, CALLS)
def test_a_changed_call_is_judged_as_if_the_agent_had_made_it(
    policy: Policy | None, before: list[dict[str, Any]], first: dict[str, Any], call: dict[str, Any]
) -> None:
    """Denied, let in, or asked about by the same people: by the same rules, on the same history."""
    if policy is None or identity.canonical(first) == identity.canonical(call):
        return

    async def both() -> None:
        changed = await as_changed(policy, before, first, call)
        if changed is not None:
            assert changed == await as_submitted(policy, before, call)

    asyncio.run(both())


@pytest.mark.parametrize("amount", [20, 60])
def test_the_property_sees_grants_and_denials(amount: int) -> None:
    """The two ways are compared, and not skipped."""
    policy = compile_text(
        'bundle b\nrule r { deny tool "pay" when args.amount > 50 because "r" }\n'
        'rule rest { require approval for tool "pay" edits args.amount because "rest" }\n'
    )

    async def both() -> None:
        changed = await as_changed(policy, [], {"to": "a", "amount": 10}, {"to": "a", "amount": amount})
        assert changed == ((AnswerKind.DENIED,) if amount > 50 else (AnswerKind.PROCEED,))

    asyncio.run(both())
