"""A call that an approver changes: it is judged as if the agent had submitted it so, and runs in the place of the
first."""

import asyncio
from typing import Any

import pytest

from rebuno.errors import ConflictError, ForbiddenError, NotJSON, ValidationError
from rebuno.journal.records import StepRow
from rebuno.kernel.core.edited import changed
from rebuno.kernel.core.loading import load
from rebuno.kernel.history.verify import check
from rebuno.kernel.lifecycle import edits as lifecycle_edits
from rebuno.model import identity
from rebuno.model.answer import AnswerKind
from rebuno.model.obligation import PathSign, ValuePath
from rebuno.policy import Policy, Source, compile_policy, compile_text
from tests.kernel.support import Bench, Play, bench

PAY = """bundle pay
default deny
rule ceiling {
  deny tool "pay"
  when args.amount > 10_000
  because "the ceiling"
}
rule big {
  require approval for tool "pay"
  when args.amount > 1_000
  approvers "cfo"
  edits args.amount
  because "much"
}
rule pay {
  require approval for tool "pay"
  edits args.amount, args.note
  because "no known payee"
}
"""
CALL = {"to": "DE75", "amount": 100}


async def ask(b: Bench, policy: Policy, args: Any = None, *, edits: bool = True, **more: Any) -> str:
    """Asks about one call, and lets the attempt end."""
    await b.begin(policy)
    question = await b.submit(target="pay", args=CALL if args is None else args, edits=edits, **more)
    assert question.kind is AnswerKind.BLOCKED
    await b.suspend()
    return question.approval_id


async def step_of(b: Bench, approval_id: str) -> StepRow:
    """The step of a question, with what its grant says."""
    question = await b.store.approval(approval_id)
    steps, _ = await load(b.store, question.execution_id)
    return steps[question.step_id]


def test_the_changed_call_runs_in_the_place_of_the_first(play: Play) -> None:
    """Its arguments are told to who runs it, on the first run and on each replay; the step keeps its identity, and
    the log and the rows say who changed what."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(PAY)
        approval_id = await ask(b, policy)
        question = await b.store.approval(approval_id)
        assert (question.edits, question.edited) == (("args.amount", "args.note"), "")
        answered = await b.answer(approval_id, granted=True, edit={"amount": 90}, by="ana")
        assert (answered.status, answered.edited_by) == ("granted", "ana")
        assert identity.parse(answered.edited) == {"to": "DE75", "amount": 90}
        await b.begin(policy)
        ran = await b.submit(target="pay", args=CALL, edits=True)
        assert (ran.kind, ran.args) == (AnswerKind.PROCEED, '{"amount":90,"to":"DE75"}')
        await b.succeed(ran)
        await b.begin(policy)
        again = await b.submit(target="pay", args=CALL, edits=True)
        assert (again.kind, again.step_id, again.args) == (AnswerKind.REPLAY, ran.step_id, ran.args)
        step = await step_of(b, approval_id)
        assert (step.args, step.ran_args) == ('{"amount":100,"to":"DE75"}', ran.args)
        events = await b.store.events(question.execution_id)
        (granted,) = [event.payload for event in events if event.type == "approval.granted"]
        assert (granted["edits"], granted["ran_hash"]) == (["args.amount"], identity.args_hash(step.ran_args))
        assert (await check(b.store, question.execution_id)).fault == ""

    play(scenario)


@pytest.mark.parametrize(
    ("args", "edit", "why", "error"),
    [
        (CALL, {"amount": 20_000}, "denied by the rule `ceiling`", ForbiddenError),
        (CALL, {"to": "XX99"}, "`args.to` may not be changed", ForbiddenError),
        (CALL, {"amount": 90, "to": "XX99"}, "`args.to` may not be changed", ForbiddenError),
        (CALL, {"more": 1}, "`args.more` may not be changed", ForbiddenError),
        (CALL, {"amount": 100}, "changes nothing", ValidationError),
        (CALL, {"amount": {"secret": "#3f2a91c0"}}, "sealed", ForbiddenError),
        ({**CALL, "pin": {"secret": "#3f2a91c0"}}, {"amount": 1}, "sealed", ForbiddenError),
        (CALL, {"amount": "\ud800"}, "surrogate", NotJSON),
    ],
    ids=str,
)
def test_what_the_rules_do_not_let_pass_is_refused(
    args: Any, edit: dict[str, Any], why: str, error: type[Exception], judge: Play
) -> None:
    """The question stays open, and nothing has changed."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, compile_text(PAY), args)
        before, events = await b.store.approval(approval_id), await b.events()
        with pytest.raises(error, match=why):
            await b.answer(approval_id, granted=True, edit=edit)
        assert (await b.store.approval(approval_id), await b.events()) == (before, events)
        assert (await b.answer(approval_id, granted=True)).edited == ""

    judge(scenario)


def test_without_the_clause_nothing_can_be_changed(judge: Play) -> None:
    """Nor where another layer's rule that asks has none, nor where the agent cannot run changed arguments."""

    async def scenario(b: Bench) -> None:
        plain = PAY.replace("  edits args.amount, args.note\n", "")
        other = 'bundle other\ndefault allow\nrule pay { require approval for tool "pay" because "b" }\n'
        layers = compile_policy([Source(PAY, "pay.rbp"), Source(other, "other.rbp")])
        for policy, edits in ((compile_text(plain), True), (layers, True), (compile_text(PAY), False)):
            async with bench() as own:
                approval_id = await ask(own, policy, edits=edits)
                with pytest.raises(ForbiddenError, match="nothing may be changed"):
                    await own.answer(approval_id, granted=True, edit={"amount": 90})

    async def no_object(b: Bench) -> None:
        policy = compile_text('bundle b\nrule pay { require approval for tool "pay" edits args.x because "b" }\n')
        approval_id = await ask(b, policy, [1])
        with pytest.raises(ValidationError, match="no object"):
            await b.answer(approval_id, granted=True, edit={"x": 1})

    judge(scenario)
    judge(no_object)


def test_one_who_must_agree_too_sees_the_change(play: Play) -> None:
    """Where the changed call needs somebody else, the question stays open for both; the grants must be for one call."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(PAY)
        approval_id = await ask(b, policy)
        voted = await b.answer(approval_id, granted=True, edit={"amount": 5_000}, by="ana")
        assert (voted.status, voted.approvers, identity.parse(voted.edited)["amount"]) == ("pending", ("cfo",), 5_000)
        assert (await step_of(b, approval_id)).ran_args == ""
        assert (await check(b.store, voted.execution_id)).fault == ""
        with pytest.raises(ConflictError, match="with the same edit"):
            await b.answer(approval_id, granted=True, by="cfo")
        with pytest.raises(ConflictError, match="another call"):
            await b.answer(approval_id, granted=True, edit={"amount": 6_000}, by="cfo")
        with pytest.raises(ForbiddenError, match="denied by the rule `ceiling`"):
            await b.answer(approval_id, granted=True, edit={"amount": 60_000}, by="cfo")
        granted = await b.answer(approval_id, granted=True, edit={"amount": 5_000}, by="cfo")
        assert (granted.status, granted.edited_by) == ("granted", "ana")
        await b.begin(policy)
        ran = await b.submit(target="pay", args=CALL, edits=True)
        assert (ran.kind, ran.args) == (AnswerKind.PROCEED, '{"amount":5000,"to":"DE75"}')
        assert (await check(b.store, voted.execution_id)).fault == ""

    play(scenario)


def test_a_call_that_others_granted_is_not_changed_behind_them(judge: Play) -> None:
    """A vote is for the call that was shown."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(
            PAY.replace("  edits args.amount, args.note", "  quorum 2\n  edits args.amount, args.note")
        )
        approval_id = await ask(b, policy)
        await b.answer(approval_id, granted=True, by="ben")
        with pytest.raises(ConflictError, match="`ben` granted another call"):
            await b.answer(approval_id, granted=True, edit={"amount": 90}, by="ana")
        assert (await b.answer(approval_id, granted=True, by="ana")).edited == ""

    judge(scenario)


def test_rules_of_today_judge_the_changed_call_when_it_runs(judge: Play) -> None:
    """What a later bundle denies does not run; what it allows does, as it was changed."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, compile_text(PAY))
        await b.answer(approval_id, granted=True, edit={"amount": 90})
        strict = compile_text(PAY.replace("> 10_000", '> 80 and args.to == "DE75"'))
        await b.begin(strict)
        denied = await b.submit(target="pay", args=CALL, edits=True)
        assert (denied.kind, denied.rule_id) == (AnswerKind.DENIED, "ceiling")

    async def looser(b: Bench) -> None:
        approval_id = await ask(b, compile_text(PAY))
        await b.answer(approval_id, granted=True, edit={"amount": 90})
        await b.begin(compile_text('bundle pay\nrule pay { allow tool "pay" when args.amount <= 90 }\n'))
        ran = await b.submit(target="pay", args=CALL, edits=True)
        assert (ran.kind, ran.args) == (AnswerKind.PROCEED, '{"amount":90,"to":"DE75"}')
        await b.succeed(ran)
        # As it was submitted, the bundle denies it; it was not done so.
        await b.begin(
            compile_text('bundle pay\nrule pay { deny tool "pay" when args.amount > 90 because "b" }\ndefault allow\n')
        )
        assert (await b.submit(target="pay", args=CALL, edits=True)).kind is AnswerKind.REPLAY

    judge(scenario)
    judge(looser)


def test_an_agent_that_cannot_run_it_changed_does_not_run_it(judge: Play) -> None:
    """The grant is not for the call as it was submitted."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(PAY)
        approval_id = await ask(b, policy)
        await b.answer(approval_id, granted=True, edit={"amount": 90})
        await b.begin(policy)
        denied = await b.submit(target="pay", args=CALL, edits=False)
        assert (denied.kind, denied.rule_id) == (AnswerKind.DENIED, "__edited")

    judge(scenario)


def test_a_grant_that_is_too_old_asks_again_about_the_changed_call(play: Play) -> None:
    """A plain grant of that question is for the call that it shows."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(PAY)
        first = await ask(b, policy)
        await b.answer(first, granted=True, edit={"amount": 90}, by="ana")
        b.clock.advance(3600)
        await b.begin(policy)
        asked = await b.submit(target="pay", args=CALL, edits=True)
        assert asked.kind is AnswerKind.BLOCKED
        await b.suspend()
        question = await b.store.approval(asked.approval_id)
        assert (question.edited, question.edited_by) == ('{"amount":90,"to":"DE75"}', "ana")
        assert (await step_of(b, asked.approval_id)).ran_args == ""
        await b.answer(asked.approval_id, granted=True, by="ben")
        await b.begin(policy)
        ran = await b.submit(target="pay", args=CALL, edits=True)
        assert (ran.kind, ran.args) == (AnswerKind.PROCEED, question.edited)
        assert (await check(b.store, question.execution_id)).fault == ""

    play(scenario)


LATER = """bundle later
default deny
known payees = result of tool "look" at [].iban
known asked_for = approved tool "pay" at to
rule look { allow tool "look" }
rule pay {
  require approval for tool "pay"
  edits args.to, args.amount
  because "b"
}
rule after { allow tool "after" when after approved tool "pay" where (args.to == this.args.to) }
rule known_to { allow tool "known_to" when args.to in asked_for }
rule sum { allow tool "sum" when sum(tool "pay" at args.amount) <= 90 }
"""


def test_later_rules_see_what_ran(play: Play) -> None:
    """`after`, `approved`, `sum` and `known` look at the changed arguments: when they ran and on a replay."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(LATER)
        approval_id = await ask(b, policy, {"to": "OLD", "amount": 100})
        await b.answer(approval_id, granted=True, edit={"to": "NEW", "amount": 90})

        async def later() -> list[AnswerKind]:
            calls = [("after", {"to": to}) for to in ("NEW", "OLD")] + [
                ("known_to", {"to": to}) for to in ("NEW", "OLD")
            ]
            return [(await b.submit(target=target, args=args)).kind for target, args in [*calls, ("sum", {})]]

        await b.begin(policy)
        ran = await b.submit(target="pay", args={"to": "OLD", "amount": 100}, edits=True)
        await b.succeed(ran)
        said = await later()
        proceed, denied = AnswerKind.PROCEED, AnswerKind.DENIED
        assert said == [proceed, denied, proceed, denied, proceed]
        await b.begin(policy)
        await b.submit(target="pay", args={"to": "OLD", "amount": 100}, edits=True)
        assert await later() == said
        await b.begin(compile_text(LATER + "# another digest\n"))
        await b.submit(target="pay", args={"to": "OLD", "amount": 100}, edits=True)
        assert await later() == said

    play(scenario)


POT = """bundle pot
default deny
limit daily = 100 of args.amount per 24h for all agents together
rule pay {
  require approval for tool "pay"
  limit daily
  edits args.amount, args.to
  because "b"
}
rule free { allow tool "free" limit daily }
"""


async def taken(b: Bench) -> list[tuple[str, int]]:
    """What is taken from each pot, by how many steps."""
    return [(pot.taken, pot.places) for pot in await b.store.pots()]


def test_limits_count_the_changed_amount_in_the_place_of_the_first(play: Play) -> None:
    """In one transaction: where there is no room the edit is refused, and the first amount stands."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(POT)
        await b.begin(policy)
        assert (await b.submit(target="free", args={"amount": 50})).kind is AnswerKind.PROCEED
        approval_id = await ask_again(b, policy, {"amount": 40, "to": "x"})
        assert await taken(b) == [("90", 2)]
        with pytest.raises(ConflictError, match="no room"):
            await b.answer(approval_id, granted=True, edit={"amount": 51})
        assert await taken(b) == [("90", 2)]
        with pytest.raises(ConflictError, match="over a limit"):
            await b.answer(approval_id, granted=True, edit={"amount": "much"})
        assert await taken(b) == [("90", 2)]
        assert (await b.answer(approval_id, granted=True, edit={"amount": 50})).status == "granted"
        assert await taken(b) == [("100", 2)]
        await b.begin(policy)
        await b.submit(target="free", args={"amount": 50})
        ran = await b.submit(target="pay", args={"amount": 40, "to": "x"}, edits=True)
        assert ran.kind is AnswerKind.PROCEED
        assert await taken(b) == [("100", 2)]

    play(scenario)


async def ask_again(b: Bench, policy: Policy, args: Any) -> str:
    """Asks about a call in the running attempt, and lets that end."""
    question = await b.submit(target="pay", args=args, edits=True)
    assert question.kind is AnswerKind.BLOCKED
    await b.suspend()
    return question.approval_id


def test_an_edit_that_is_overtaken_gives_the_amount_back(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else answers while the edit is judged: what limits hold is what the call that was granted takes."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(POT)
        approval_id = await ask(b, policy, {"amount": 40, "to": "x"})
        swap = lifecycle_edits.swap

        async def overtaken(*given: Any) -> Any:
            done = await swap(*given)
            monkeypatch.setattr(lifecycle_edits, "swap", swap)
            assert (await b.answer(approval_id, granted=True, by="ben")).status == "granted"
            return done

        monkeypatch.setattr(lifecycle_edits, "swap", overtaken)
        with pytest.raises(ConflictError, match="granted by ben already"):
            await b.answer(approval_id, granted=True, edit={"amount": 10})
        assert await taken(b) == [("40", 1)]

    play(scenario)


def test_an_edit_that_is_cut_off_leaves_no_amount_uncounted(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller is gone between the limits and the journal: who grants the call as it was takes what that takes."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, compile_text(POT), {"amount": 40, "to": "x"})
        swap = lifecycle_edits.swap

        async def cut_off(*given: Any) -> Any:
            await swap(*given)
            raise asyncio.CancelledError

        monkeypatch.setattr(lifecycle_edits, "swap", cut_off)
        with pytest.raises(asyncio.CancelledError):
            await b.answer(approval_id, granted=True, edit={"amount": 10})
        monkeypatch.setattr(lifecycle_edits, "swap", swap)
        assert (await b.store.approval(approval_id)).status == "pending"
        assert (await b.answer(approval_id, granted=True)).edited == ""
        assert await taken(b) == [("40", 1)]

    play(scenario)


def test_a_call_equal_to_one_whose_outcome_is_unknown_is_refused(judge: Play) -> None:
    """As it was submitted, and as it ran: both are compared."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(PAY)
        approval_id = await ask(b, policy, idempotency="at_most_once")
        await b.answer(approval_id, granted=True, edit={"amount": 90})
        await b.begin(policy)
        ran = await b.submit(target="pay", args=CALL, edits=True, idempotency="at_most_once")
        assert ran.kind is AnswerKind.PROCEED
        await b.begin(policy)
        lost = await b.submit(target="pay", args=CALL, edits=True, idempotency="at_most_once")
        assert (lost.kind, lost.args) == (AnswerKind.REPLAY, ran.args)
        for amount in (100, 90):
            again = await b.submit(
                target="pay", args={**CALL, "amount": amount}, edits=True, idempotency="at_most_once"
            )
            assert (again.kind, again.rule_id) == (AnswerKind.DENIED, "__indeterminate_retry")
        other = await b.submit(target="pay", args={**CALL, "amount": 70}, edits=True, idempotency="at_most_once")
        assert other.kind is AnswerKind.BLOCKED
        await b.suspend()
        for amount in (100, 90):
            with pytest.raises(ForbiddenError, match="outcome unknown"):
                await b.answer(other.approval_id, granted=True, edit={"amount": amount})

    judge(scenario)


AMOUNT = ValuePath("args.amount", "args", ("amount",))
EACH = ValuePath("args.items[].n", "args", ("items", PathSign.ELEMENTS, "n"))
VALUE = ValuePath("args.map.*", "args", ("map", PathSign.VALUES))


@pytest.mark.parametrize(
    ("old", "new", "may", "may_not"),
    [
        ({"amount": 1}, {"amount": 1.0}, ["args.amount"], []),
        ({"amount": 1}, {"amount": True}, ["args.amount"], []),
        ({}, {"amount": None}, ["args.amount"], []),
        ({"items": [{"n": 1}, {"n": 2}]}, {"items": [{"n": 1}, {"n": 3}]}, ["args.items[1].n"], []),
        ({"items": [{"n": 1}]}, {"items": [{"n": 1}, {"n": 3}]}, [], ["args.items"]),
        ({"items": [{"n": 1, "m": 1}]}, {"items": [{"n": 2, "m": 2}]}, ["args.items[0].n"], ["args.items[0].m"]),
        ({"items": {"[]": {"n": 1}}}, {"items": {"[]": {"n": 2}}}, [], ['args.items["[]"].n']),
        ({"map": {"a": 1}}, {"map": {"a": 2, "b": 3}}, ["args.map.a", "args.map.b"], []),
        ({"map": {"a": 1}}, {"map": [1]}, [], ["args.map"]),
        ({"other": 1}, {}, [], ["args.other"]),
    ],
    ids=str,
)
def test_only_what_a_path_names_may_change(old: Any, new: Any, may: list[str], may_not: list[str]) -> None:
    """Values are the same where JSON is: `1` is not `1.0`."""
    assert changed(old, new, [AMOUNT, EACH, VALUE]) == (may, may_not)
