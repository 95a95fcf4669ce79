"""F23: a person remembers an answer beyond the run, for so long, and can take it back: never more than was shown."""

from typing import Any

import pytest

from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.journal.standing import StandingGrantRow
from rebuno.kernel.history.verify import check
from rebuno.kernel.lifecycle import votes
from rebuno.kernel.lifecycle.standing import StandingTerms, revoke
from rebuno.model import identity
from rebuno.model.answer import AnswerKind
from rebuno.policy import Policy, Source, compile_policy, compile_text
from tests.kernel.support import Bench, Play

DAY = 86_400
HOUSE = """bundle house
default deny
let cheap = ["tea", "bread"]
known payees = result of tool "look" at [].iban
known others = result of tool "look" at [].name
rule look { allow tool "look" }
rule ceiling { deny tool "pay" when args.amount > 1000 because "the ceiling" }
rule pay {
  require approval for tool "pay"
  when args.what in cheap
  because "money"
}
rule rest { require approval for tool "pay" because "what is that" }
"""
CALL = {"to": "DE75", "amount": 100, "what": "tea"}


async def ask(b: Bench, policy: Policy, args: Any = None, key: str = "first") -> str:
    """Asks about a call in a run of its own."""
    await b.begin(policy, key)
    question = await b.submit(target="pay", args=CALL if args is None else args)
    assert question.kind is AnswerKind.BLOCKED
    await b.suspend()
    return question.approval_id


async def stand(b: Bench, approval_id: str, lasts: float = 7 * DAY, **more: Any) -> StandingGrantRow:
    """Grants so that it outlives the run."""
    terms = StandingTerms(lasts, **more)
    await votes.resolve(b.store, approval_id, granted=True, decided_by="ana", stands=terms)
    return (await b.store.standing_grants())[-1]


async def comes_to(b: Bench, policy: Policy, args: Any, key: str = "second", **more: Any) -> AnswerKind:
    """What a call comes to in another run."""
    await b.begin(policy, key)
    for n in range(2):
        before = await b.submit(target="look", args={"n": n})
        if before.kind is AnswerKind.PROCEED:
            await b.succeed(before, [{"iban": "DE75" if n == 0 else "DE76", "name": "XX"}])
    answer = await b.submit(target="pay", args=args, **more)
    if answer.kind is AnswerKind.BLOCKED:
        await b.suspend()
    return answer.kind


def test_it_covers_the_same_call_in_later_runs_and_says_so(play: Play) -> None:
    """Until its end, with the same arguments and no others; each start names it."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(HOUSE)
        grant = await stand(b, await ask(b, policy))
        assert await comes_to(b, policy, CALL) is AnswerKind.PROCEED
        execution = b.attempt.execution.id
        [started] = [e for e in await b.store.events(execution) if "grant" in e.payload]
        assert (started.type, started.payload["grant"]["id"]) == ("step.executing", grant.id)
        assert started.payload["grant"]["granted_by"] == ["ana"]
        assert (await check(b.store, execution)).fault == ""
        for key, args in enumerate(
            (
                {**CALL, "amount": 101},
                {**CALL, "amount": 100.0},
                {**CALL, "more": 1},
                {"to": "DE75", "amount": 100},
                {**CALL, "what": "bread"},
                {**CALL, "what": "caviar"},
            )
        ):
            assert await comes_to(b, policy, args, f"other-{key}") is AnswerKind.BLOCKED, args
        assert await comes_to(b, policy, {**CALL, "amount": 2000}, "denied") is AnswerKind.DENIED
        b.clock.advance(7 * DAY)
        assert await comes_to(b, policy, CALL, "late") is AnswerKind.BLOCKED

    play(scenario)


def test_arguments_may_be_known_or_free(judge: Play) -> None:
    """What is known is for sure in the set of the run that asks; a value that only may be is not."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(HOUSE)
        approval_id = await ask(b, policy)
        await stand(b, approval_id, known={"to": "payees"}, free=["amount"])
        calls: list[tuple[dict[str, Any], AnswerKind]] = [
            ({**CALL, "to": "DE76", "amount": 5}, AnswerKind.PROCEED),
            ({**CALL, "to": "XX", "amount": 5}, AnswerKind.BLOCKED),
            ({**CALL, "to": "de76"}, AnswerKind.BLOCKED),
            ({"what": "tea", "amount": 5}, AnswerKind.BLOCKED),
            ({**CALL, "what": "bread"}, AnswerKind.BLOCKED),
            ({**CALL, "amount": 1001}, AnswerKind.DENIED),
        ]
        for n, (args, kind) in enumerate(calls):
            assert await comes_to(b, policy, args, f"run-{n}") is kind, args

    judge(scenario)


VOID = [
    (HOUSE.replace('because "money"', 'because "money "'), False),
    (HOUSE.replace('["tea", "bread"]', '["tea", "bread", "cake"]'), False),
    (HOUSE.replace("at [].iban", "at [].iban, [].name"), False),
    (HOUSE.replace('known others = result of tool "look" at [].name', "known others = input.x"), True),
    (HOUSE.replace('"the ceiling"', '"another ceiling"') + 'rule more { allow tool "more" }\n', True),
    (HOUSE.replace("  because", "     because") + "# a comment\n", True),
    (HOUSE.replace("rule pay {", "rule buy {"), False),
    (HOUSE.replace("> 1000", "> 50"), None),
]


@pytest.mark.parametrize(("text", "holds"), VOID, ids=[str(n) for n in range(len(VOID))])
def test_it_is_void_once_its_rule_or_what_that_uses_changes(text: str, holds: bool | None, judge: Play) -> None:
    """Not by another change of the bundle."""

    async def scenario(b: Bench) -> None:
        await stand(b, await ask(b, compile_text(HOUSE)), known={"to": "payees"})
        kind = AnswerKind.DENIED if holds is None else AnswerKind.PROCEED if holds else AnswerKind.BLOCKED
        assert await comes_to(b, compile_text(text), CALL) is kind

    judge(scenario)


def test_it_is_taken_back_at_once(play: Play) -> None:
    """Also for a run that has begun; and nobody revokes twice."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(HOUSE)
        grant = await stand(b, await ask(b, policy))
        await b.begin(policy, "second")
        assert (await b.submit(target="pay", args=CALL)).kind is AnswerKind.PROCEED
        over = await revoke(b.store, grant.id[:13], by="eva")
        assert (over.revoked_by, await b.store.standing_grants(now=b.store.now())) == ("eva", [])
        assert (await b.submit(target="pay", args=CALL)).kind is AnswerKind.BLOCKED
        await b.suspend()
        with pytest.raises(ConflictError, match="revoked by eva already"):
            await revoke(b.store, grant.id, by="eva")
        with pytest.raises(NotFoundError):
            await revoke(b.store, "nothing", by="eva")

    play(scenario)


def test_another_agent_tool_or_question_is_not_covered(judge: Play) -> None:
    """Nor one that another layer or the kernel asks about, nor one that a sealed value stands in."""

    async def scenario(b: Bench) -> None:
        policy = compile_text(HOUSE)
        await stand(b, await ask(b, policy))
        second = 'bundle more\ndefault allow\nrule also { require approval for tool "pay" because "too" }\n'
        layers = compile_policy([Source(HOUSE, "house.rbp"), Source(second, "more.rbp")])
        assert await comes_to(b, layers, CALL, "layers") is AnswerKind.BLOCKED
        begun = await b.kernel.begin(agent_id="other", input="{}", key="other")
        b.attempt = begun  # type: ignore[assignment]
        assert (await b.submit(target="pay", args=CALL)).kind is AnswerKind.BLOCKED
        await b.suspend()

    async def sealed(b: Bench) -> None:
        policy = compile_text(HOUSE)
        approval_id = await ask(b, policy, {**CALL, "pin": {"secret": "#3f2a91c0"}})
        with pytest.raises(ValidationError, match="sealed"):
            await stand(b, approval_id)
        await stand(b, await ask(b, policy, {**CALL, "pin": 1}, "plain"), free=["pin"])
        assert await comes_to(b, policy, {**CALL, "pin": {"secret": "#3f2a91c0"}}) is AnswerKind.BLOCKED

    judge(scenario)
    judge(sealed)


def test_a_step_that_it_let_in_was_read_by_nobody(judge: Play) -> None:
    """It is neither `allowed` nor `approved`, now and in a fork."""
    text = HOUSE + (
        'rule a { allow tool "a" when after approved tool "pay" }\n'
        'rule b { allow tool "b" when after allowed tool "pay" }\nrule c { allow tool "c" when after tool "pay" }\n'
    )

    async def scenario(b: Bench) -> None:
        policy = compile_text(text)
        await stand(b, await ask(b, policy))
        await b.begin(policy, "second")
        paid = await b.submit(target="pay", args=CALL)
        await b.succeed(paid)
        for _ in range(2):
            kinds = [(await b.submit(target=target)).kind for target in "abc"]
            assert kinds == [AnswerKind.DENIED, AnswerKind.DENIED, AnswerKind.PROCEED]
            await b.begin(policy, "second")
            assert (await b.submit(target="pay", args=CALL)).kind is AnswerKind.REPLAY

    judge(scenario)


BAD = [
    ({"lasts": 0}, "more than 0"),
    ({"lasts": float("nan")}, "more than 0"),
    ({"lasts": 400 * DAY}, "at most 366 days"),
    ({"known": {"to": "nobody"}}, "no `known` of the name"),
    ({"known": {"more": "payees"}}, "no argument `more`"),
    ({"free": ["more"]}, "no argument `more`"),
    ({"known": {"to": "payees"}, "free": ["to"]}, "either known or free"),
]


@pytest.mark.parametrize(("terms", "why"), BAD, ids=str)
def test_what_cannot_be_given_is_refused(terms: dict[str, Any], why: str, judge: Play) -> None:
    """The question stays open."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, compile_text(HOUSE))
        given = {"lasts": DAY, **terms}
        with pytest.raises(ValidationError, match=why):
            await votes.resolve(b.store, approval_id, granted=True, decided_by="ana", stands=StandingTerms(**given))
        assert (await b.store.approval(approval_id)).status == "pending"
        assert await b.store.standing_grants() == []

    judge(scenario)


def test_a_rule_that_says_how_long_a_grant_holds_says_it_of_this_one(judge: Play) -> None:
    """`expires` is an end; and of several who must agree none gives it alone."""

    async def scenario(b: Bench) -> None:
        short = compile_text(HOUSE.replace('because "money"', 'expires 1h because "money"'))
        approval_id = await ask(b, short)
        with pytest.raises(ValidationError, match="expires"):
            await stand(b, approval_id)
        await stand(b, approval_id, 1800)
        assert await comes_to(b, short, CALL) is AnswerKind.PROCEED

    async def several(b: Bench) -> None:
        approval_id = await ask(b, compile_text(HOUSE.replace('because "money"', 'quorum 2 because "money"')))
        with pytest.raises(ValidationError, match="several must grant"):
            await stand(b, approval_id)

    judge(scenario)
    judge(several)


def test_a_limit_that_is_used_up_asks_each_time(judge: Play) -> None:
    """Nobody lets steps past a limit before they are there."""
    text = (
        "bundle b\nlimit daily = 100 of args.amount per 24h for all agents together\n"
        'rule pay { allow tool "pay" limit daily else require approval }\nrule look { allow tool "look" }\n'
    )

    async def scenario(b: Bench) -> None:
        policy = compile_text(text)
        await stand(b, await ask(b, policy, {"amount": 101}))
        assert await comes_to(b, policy, {"amount": 101}) is AnswerKind.BLOCKED

    judge(scenario)


def test_a_damaged_row_covers_nothing(judge: Play) -> None:
    """Doubt asks a person."""

    async def scenario(b: Bench) -> None:
        from dataclasses import replace

        policy = compile_text(HOUSE)
        grant = await stand(b, await ask(b, policy))
        await b.store.revoke_standing_grant(grant.id, "eva")
        for n, odd in enumerate(("[]", "{}", identity.canonical({"args": 1, "known": {}, "free": []}), "nonsense")):
            await b.store.add_standing_grant(replace(grant, id=f"odd-{n}", matches=odd))
        await b.store.add_standing_grant(replace(grant, id="odd-x", granted_by="nobody"))
        assert await comes_to(b, policy, CALL) is AnswerKind.BLOCKED

    judge(scenario)
