"""Who may answer a question, and how many must agree."""

import asyncio
from dataclasses import replace

import pytest

from rebuno.errors import ConflictError, ForbiddenError, ValidationError
from rebuno.kernel.core.quorum import granters
from rebuno.model.answer import AnswerKind
from rebuno.policy import Policy, Source, compile_policy, compile_text
from tests.kernel.support import Bench, Play


def asking(*layers: str) -> Policy:
    """A policy of a layer each, whose rule about the tool `act` asks with these clauses; `allow …` allows with them."""
    texts = []
    for n, clauses in enumerate(layers):
        allows = clauses.startswith("allow")
        head = "allow" if allows else "require approval for"
        rule = f'rule act {{ {head} tool "act" {clauses.removeprefix("allow")} because "ask it" }}'
        texts.append(f"bundle layer{n}\ndefault allow\n{rule}\n")
    return compile_policy([Source(text, f"layer{n}.rbp") for n, text in enumerate(texts)])


TWO_OF_THREE = 'approvers "ana", "ben", "eva" quorum 2'


async def ask(b: Bench, *layers: str) -> str:
    """Asks about one step under these layers, and lets the attempt end."""
    await b.begin(asking(*layers))
    question = await b.submit()
    assert question.kind is AnswerKind.BLOCKED
    await b.suspend()
    return question.approval_id


# The clauses of each layer · who grants, one after the other → after whose grant the step may run (-: never).
PANELS: list[tuple[tuple[str, ...], str, str]] = [
    ((TWO_OF_THREE,), "ana ben", "ben"),
    ((TWO_OF_THREE,), "eva", "-"),
    (("quorum 2",), "zoe yan", "yan"),  # nobody named: any two
    (('approvers "ana"', 'approvers "ben"'), "ana ben", "ben"),  # both layers must have their own
    (('approvers "ana"', 'approvers "ben"'), "ben ana", "ana"),
    (('approvers "ana", "ben"', 'approvers "eva", "zoe"'), "ana ben eva", "eva"),  # ben adds nothing for the second
    (('approvers "ana", "ben"', 'approvers "ben", "eva"'), "ben", "ben"),  # somebody who sits in both
    (('approvers "ana"', ""), "ana", "ana"),  # a layer that names nobody is content with anybody
    (('approvers "ana"', "quorum 2"), "zoe ana", "ana"),
    (('approvers "ana"', "quorum 3"), "ana zoe", "-"),
    (('approvers "ana"', "allow"), "ana", "ana"),  # a layer that allows does not ask
    # One that asks only over its limit does not ask below it.
    (('approvers "ana"', 'allow limit 2 per execution else require approval approvers "zoe"'), "ana", "ana"),
    ((TWO_OF_THREE, 'approvers "ana", "ben", "eva"'), "ana ben", "ben"),  # the stricter of two alike
    ((TWO_OF_THREE, 'approvers "eva"'), "ana ben eva", "eva"),
]


@pytest.mark.parametrize(("layers", "people", "after"), PANELS, ids=[f"{a}: {b}" for a, b, _ in PANELS])
def test_a_step_runs_once_all_have_agreed_who_must(
    layers: tuple[str, ...], people: str, after: str, judge: Play
) -> None:
    """Short of that a grant is kept as a vote, the question stays open, and nothing runs."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, *layers)
        for name in people.split():
            answered = await b.answer(approval_id, granted=True, by=name)
            assert answered.status == ("granted" if name == after else "pending")
            status = (await b.store.execution(answered.execution_id)).status
            assert status == ("running" if name == after else "blocked")
        votes = (await b.store.approval(approval_id)).votes
        assert [(vote.decided_by, vote.decision) for vote in votes] == [(name, "grant") for name in people.split()]
        events = await b.events()
        assert events.count("approval.voted") == len(people.split()) - (after != "-")
        if after != "-":
            await b.begin(asking(*layers))
            assert (await b.submit()).kind is AnswerKind.PROCEED

    judge(scenario)


def test_the_question_says_who_may_answer(play: Play) -> None:
    """In its row and in the log; where lists of several layers do not add up to one, the log has each."""

    async def scenario(b: Bench) -> None:
        question = await b.store.approval(await ask(b, 'approvers "ana", "ben"', 'approvers "eva", "zoe"'))
        assert (question.approvers, question.quorum, question.bundle) == (("ana", "ben", "eva", "zoe"), 2, "layer0")
        events = await b.store.events(question.execution_id)
        said = next(event.payload for event in events if event.type == "approval.requested")
        assert said["panels"] == [
            {"approvers": ["ana", "ben"], "quorum": 1},
            {"approvers": ["eva", "zoe"], "quorum": 1},
        ]

    play(scenario)


@pytest.mark.parametrize(
    ("layers", "quorum"),
    [
        ((TWO_OF_THREE,), 2),
        (('approvers "ana", "ben" quorum 2', 'approvers "ben", "eva" quorum 2'), 3),  # there are no more people
        (("quorum 2", 'approvers "ana"'), 3),
        (("",), 1),
    ],
)
def test_the_quorum_of_several_layers_is_enough(layers: tuple[str, ...], quorum: int, judge: Play) -> None:
    """So many grants decide, if the right people give them."""

    async def scenario(b: Bench) -> None:
        assert (await b.store.approval(await ask(b, *layers))).quorum == quorum

    judge(scenario)


def test_who_is_asked_over_a_limit(play: Play) -> None:
    """Below it the limit's approvers have no say, above it they must agree too."""

    async def scenario(b: Bench) -> None:
        layers = ('approvers "ana"', 'allow limit 1 per execution else require approval approvers "zoe"')
        await b.begin(asking(*layers))
        below, above = await b.submit(), await b.submit()
        for name, statuses in (("ana", ("granted", "pending")), ("zoe", ("", "granted"))):
            for answer, status in zip((below, above), statuses, strict=True):
                if status:
                    assert (await b.answer(answer.approval_id, granted=True, by=name)).status == status

    play(scenario)


@pytest.mark.parametrize("again", ["ana", "Ana", "ANA"])
def test_one_person_has_one_vote(again: str, play: Play) -> None:
    """Whether it says the same or not, and whatever letters the name is written in; nothing is recorded."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, "quorum 2")
        await b.answer(approval_id, granted=True)
        before = await b.events()
        for granted in (True, False):
            with pytest.raises(ConflictError, match="`ana` has answered"):
                await b.answer(approval_id, granted=granted, by=again)
        assert await b.events() == before
        assert (await b.answer(approval_id, granted=True, by="ben")).status == "granted"

    play(scenario)


def test_one_denial_ends_it(play: Play) -> None:
    """However many have granted; the agent is told the reason of who denied."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, TWO_OF_THREE)
        await b.answer(approval_id, granted=True, by="ana")
        answered = await b.answer(approval_id, granted=False, by="eva", rationale="too much")
        assert (answered.status, answered.decided_by) == ("denied", "eva")
        with pytest.raises(ConflictError, match="is denied by eva already"):
            await b.answer(approval_id, granted=True, by="ben")
        await b.begin(asking(TWO_OF_THREE))
        answer = await b.submit()
        assert (answer.kind, answer.reason) == (AnswerKind.DENIED, "too much")

    play(scenario)


@pytest.mark.parametrize("name", ["zoe", "Ana", "an", "ana,ben"])
@pytest.mark.parametrize("granted", [True, False])
def test_nobody_else_answers(name: str, granted: bool, judge: Play) -> None:
    """Neither yes nor no, and nothing is recorded; names are taken letter by letter."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, TWO_OF_THREE)
        before = await b.events()
        with pytest.raises(ForbiddenError, match="is not among the approvers"):
            await b.answer(approval_id, granted=granted, by=name)
        assert await b.events() == before

    judge(scenario)


def test_a_name_that_could_be_another_one_is_refused(play: Play) -> None:
    """Doubt about who answers is no answer, and nothing is recorded."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, "quorum 2")
        await b.answer(approval_id, granted=True, by="ana")
        with pytest.raises(ValidationError, match="write `ana`"):
            await b.answer(approval_id, granted=True, by="ana ")
        assert len((await b.store.approval(approval_id)).votes) == 1

    play(scenario)


def test_whoever_a_rule_names_can_answer(play: Play) -> None:
    """However strangely it spells the name; and two spellings of one name are one person all the same."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, 'approvers "ana  b", "ana b", "ben" quorum 2')
        assert (await b.answer(approval_id, granted=True, by="ana  b")).status == "pending"
        with pytest.raises(ConflictError, match="may be the same person"):
            await b.answer(approval_id, granted=True, by="ana b")
        assert (await b.answer(approval_id, granted=True, by="ben")).status == "granted"

    play(scenario)


def test_what_people_write_is_kept_to_the_letter(play: Play) -> None:
    """Of any script, with line breaks and NUL."""

    async def scenario(b: Bench) -> None:
        why = 'no: \0 \n "\u2028" \U0001f600 <b>'
        answered = await b.answer(await ask(b, ""), granted=False, rationale=why)
        assert (answered.rationale, answered.votes[0].rationale) == (why, why)
        await b.begin(asking(""))
        assert (await b.submit()).reason == why

    play(scenario)


def test_a_grant_without_votes_is_that_of_who_decided(judge: Play) -> None:
    """An earlier version recorded none."""

    async def scenario(b: Bench) -> None:
        answered = await b.answer(await ask(b, ""), granted=True)
        assert granters(replace(answered, votes=())) == ("ana",)
        assert granters(replace(answered, votes=(), status="denied")) == ()

    judge(scenario)


def test_two_votes_at_once_both_count(play: Play) -> None:
    """Neither is lost, and the second one decides."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, "quorum 2")
        answers = await asyncio.gather(*(b.answer(approval_id, granted=True, by=name) for name in ("ana", "ben")))
        # The one who is answered late sees both.
        assert "granted" in {answer.status for answer in answers} <= {"granted", "pending"}
        row = await b.store.approval(approval_id)
        assert len(row.votes) == 2
        told = [event.type for event in await b.store.events(row.execution_id) if event.type.startswith("approval.")]
        assert told == ["approval.requested", "approval.voted", "approval.granted"]

    play(scenario)


# The rule when it was granted, by whom, the rule today → whether the grant holds.
TODAY: list[tuple[str, str, str, bool]] = [
    ("", "ana", 'approvers "ana"', True),  # who may answer today did
    ("", "zoe", 'approvers "ana"', False),
    ('approvers "ana", "ben"', "ana", 'approvers "ben"', False),
    ('approvers "ana"', "ana", 'approvers "ana", "ben" quorum 2', False),  # two today
    ("quorum 2", "ana ben", 'approvers "ana", "ben" quorum 2', True),
    ("quorum 2", "ana ben", "", True),  # loosened since
]


@pytest.mark.parametrize(("then", "people", "now", "holds"), TODAY)
def test_a_grant_holds_under_the_rule_of_today(then: str, people: str, now: str, holds: bool, judge: Play) -> None:
    """Where too few of today's approvers granted, people are asked again, by today's rule."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, then)
        for name in people.split():
            await b.answer(approval_id, granted=True, by=name)
        await b.begin(asking(now))
        answer = await b.submit()
        assert answer.kind is (AnswerKind.PROCEED if holds else AnswerKind.BLOCKED)
        if not holds:
            assert answer.approval_id != approval_id
            asked = await b.store.approval(answer.approval_id)
            assert asked.approvers, "today's rule names people"
            assert asked.votes == ()

    judge(scenario)


def test_going_back_to_the_rule_of_the_start_asks_by_it(play: Play) -> None:
    """A verdict that stands as recorded still knows whom its rule names."""

    async def scenario(b: Bench) -> None:
        first = await ask(b, 'approvers "ana"')
        await b.answer(first, granted=True)
        await b.begin(asking('approvers "ben"'))
        second = await b.submit()
        await b.suspend()
        await b.answer(second.approval_id, granted=True, by="ben")
        await b.begin(asking('approvers "ana"'))
        third = await b.submit()
        assert third.kind is AnswerKind.BLOCKED
        assert (await b.store.approval(third.approval_id)).approvers == ("ana",)

    play(scenario)


def test_grant_then_deny_then_allow_again(play: Play) -> None:
    """What a bundle denied meanwhile stays denied, and its grant is void."""

    async def scenario(b: Bench) -> None:
        await b.answer(await ask(b, ""), granted=True)
        await b.begin(compile_text('bundle no\ndefault deny\nrule no { deny tool "act" because "not now" }'))
        assert (await b.submit()).kind is AnswerKind.DENIED
        for policy in (asking("allow"), asking("")):
            await b.begin(policy)
            answer = await b.submit()
            assert (answer.kind, answer.reason) == (AnswerKind.DENIED, "not now")

    play(scenario)


def test_a_question_stays_open_under_a_milder_bundle(play: Play) -> None:
    """Nobody answered, so nothing runs, and the same question waits."""

    async def scenario(b: Bench) -> None:
        approval_id = await ask(b, 'approvers "ana"')
        await b.begin(asking("allow"))
        asked = await b.store.approvals(status="pending")
        assert [(question.id, question.approvers) for question in asked] == [(approval_id, ("ana",))]

    play(scenario)
