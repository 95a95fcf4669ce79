"""The one function that every submission goes through, called directly: what it says, and that it only says it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rebuno.kernel.core
from rebuno.kernel.core.decide import stricter
from rebuno.kernel.core.divergence import OthersNeeded
from rebuno.kernel.core.effects import Identified, Need, Routed
from rebuno.kernel.core.heavy import LONG_PAST, ForesightNeeded, JudgementNeeded
from rebuno.kernel.core.identify import identify
from rebuno.kernel.core.limits import PlacesNeeded
from rebuno.kernel.core.recorded_steps import PAGE
from rebuno.kernel.core.settle import TABLE, State
from rebuno.kernel.core.submit import route
from rebuno.kernel.lifecycle.say import say
from rebuno.model.answer import AnswerKind, Submission
from rebuno.model.decision import Verdict
from rebuno.policy import compile_text
from tests.kernel import test_table as cells
from tests.kernel.support import Bench, Play, policy

LONG = {"text": "x" * 70_000}
# What the table in the README calls the states that the scenarios of `test_table` lead to.
STATES = {
    "absent": State.ABSENT,
    "granted": State.ALLOWED,
    "granted_long_ago": State.ALLOWED,
    "started": State.STARTED,
    "started_after_grant": State.STARTED,
    "started_after_grant_long_ago": State.STARTED,
    "succeeded": State.ENDED,
    "failed": State.ENDED,
    "succeeded_and_let_stand": State.ENDED,
    "failed_and_let_stand": State.ENDED,
    "succeeded_after_grant": State.ENDED,
    "revoked_while_started": State.REVOKED,
    "denied": State.DENIED,
    "denied_by_a_person": State.DENIED,
}
VERDICTS = {"allow": Verdict.ALLOW, "ask": Verdict.APPROVAL, "deny": Verdict.DENY}


def _identified(b: Bench, submission: Submission) -> Identified:
    """The submission, counted by nobody."""
    attempt = b.attempt
    return identify(submission, attempt.execution.id, attempt.bodies, lambda *key: attempt.next_number(key))


def _act(args: str = "{}", idempotency: str = "safe_to_retry", target: str = "act") -> Submission:
    return Submission("tool_call", target, args, idempotency)


async def _met(b: Bench, step: Identified) -> tuple[Routed, list[type[Need]]]:
    """What a step comes to once all is known that it needs, and what that was."""
    met: list[type[Need]] = []
    while isinstance(routed := route(b.attempt, step), Need):
        met.append(type(routed))
        await routed.meet(b.attempt)
    return routed, met


async def _memory(b: Bench) -> object:
    """What an attempt and its store hold."""
    attempt, recorded = b.attempt, b.attempt.recorded
    rows = await b.store.steps(attempt.execution.id)
    return (
        *(await b.events(), rows, attempt.head, attempt.blocked, set(attempt.bodies), attempt.replayed),
        *(dict(recorded.steps), dict(recorded.approvals), set(recorded.visited), list(recorded.unvisited)),
    )


def _readme_rows() -> Iterator[list[str]]:
    text = (Path(rebuno.kernel.core.__path__[0]) / "README.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_is_the_one_that_the_readme_shows() -> None:
    """Row by row and cell by cell, in the same order."""
    head, *rows = _readme_rows()
    assert head == ["journal", "allow", "require approval", "deny"]
    shown = [[state.value, *(str(cell.__doc__) for cell in TABLE[state].values())] for state in State]
    assert rows == shown
    assert all(list(TABLE[state]) == [Verdict.ALLOW, Verdict.APPROVAL, Verdict.DENY] for state in State)


ROUTED = [row for row in cells.TABLE if isinstance(row[3], AnswerKind) and row[1].__name__ in STATES]


@pytest.mark.parametrize(
    ("today", "state", "idempotency", "expected"),
    [row[:4] for row in ROUTED],
    ids=[f"{today}-{state.__name__}-{idempotency}" for today, state, idempotency, *_ in ROUTED],
)
def test_a_cell_answers_what_it_says_and_changes_nothing(
    play: Play, today: str, state: cells.State, idempotency: str, expected: AnswerKind
) -> None:
    """Asked twice, `route` gives the same answer, which its cell of the table names; the log, the rows and what the
    attempt knows stay as they were."""

    async def scenario(b: Bench) -> None:
        await state(b, idempotency)
        await b.begin(policy(today))
        step = _identified(b, _act(idempotency=idempotency))
        await _met(b, step)
        before = await _memory(b)
        answers = [route(b.attempt, step) for _ in range(2)]
        assert await _memory(b) == before
        for routed in answers:
            assert isinstance(routed, Routed)
            assert routed.answer.kind is expected
            assert routed.answer.rule_id == answers[0].answer.rule_id  # type: ignore[union-attr]
        text = str(TABLE[STATES[state.__name__]][VERDICTS[today]].__doc__)
        assert expected.value in re.findall(r"\*\*(\w+)\*\*", text)

    play(scenario)


def test_a_log_that_was_not_read_is_needed_first(play: Play) -> None:
    """Page by page as far as that takes, and not at all where the step is on a page in memory."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        for n in range(PAGE + 1):
            await b.succeed(await b.submit(args={"n": n}))
        await b.begin(policy("allow"))
        last = _identified(b, _act(f'{{"n":{PAGE}}}'))
        assert isinstance(route(b.attempt, last), Need)
        routed, met = await _met(b, last)
        assert routed.answer.kind is AnswerKind.REPLAY
        assert len(met) >= 1
        first = _identified(b, _act('{"n":0}'))
        assert (await _met(b, first))[0].answer.kind is AnswerKind.REPLAY
        assert isinstance(route(b.attempt, first), Routed)

    play(scenario)


def test_a_place_in_a_window_is_needed_first(play: Play) -> None:
    """Taken once: asked again the step has it, and the next one is over the limit."""
    text = 'bundle b\ndefault deny\nrule r { allow tool "act" limit 1 per 1h }'

    async def scenario(b: Bench) -> None:
        await b.begin(compile_text(text))
        step = _identified(b, _act())
        routed, met = await _met(b, step)
        assert (routed.answer.kind, met[-1:]) == (AnswerKind.PROCEED, [PlacesNeeded])
        again, met = await _met(b, step)
        assert (again.answer.kind, met) == (AnswerKind.PROCEED, [])
        other = _identified(b, _act('{"n":1}'))
        over, met = await _met(b, other)
        assert (over.answer.kind, met) == (AnswerKind.RATE_LIMITED, [PlacesNeeded])

    play(scenario)


def test_a_long_text_is_decided_about_beside_the_loop_first(play: Play) -> None:
    """A new step, and a recorded one that today's bundle must judge anew."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        answer = await b.submit(args=LONG)
        step = _identified(b, _act('{"text":"' + "y" * 70_000 + '"}'))
        assert (await _met(b, step))[1] == [ForesightNeeded]
        await b.succeed(answer)
        await b.begin(policy("ask"))
        known = _identified(b, _act('{"text":"' + "x" * 70_000 + '"}'))
        routed, met = await _met(b, known)
        assert (routed.answer.kind, met[-1:]) == (AnswerKind.REPLAY, [JudgementNeeded])

    play(scenario)


def test_a_short_step_after_long_words_of_the_user_is_decided_about_beside_the_loop(play: Play) -> None:
    """What the user wrote counts as the past does, where the bundle seeks in it."""
    seeks = compile_text('bundle b\nknown said = turns\nrule act { allow tool "act" when args.to in said }')

    async def scenario(b: Bench) -> None:
        await b.begin(seeks)
        step = _identified(b, _act('{"to":"ana"}'))
        assert isinstance(route(b.attempt, step), Routed)
        await say(b.store, b.attempt.execution.id, "pay ana " * (LONG_PAST // 8 + 1))
        await b.begin(seeks)
        assert b.attempt.recorded.weight < LONG_PAST < b.attempt.background.weight
        routed, met = await _met(b, step)
        assert (routed.answer.kind, met[-1:]) == (AnswerKind.PROCEED, [ForesightNeeded])

    play(scenario)


def test_other_branches_come_before_a_person_is_asked_about_a_divergence(play: Play) -> None:
    """A step that stands in the place of a recorded one waits for its handler's other branches, once."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("allow"))
        await b.succeed(await b.submit(args={"n": 1}, idempotency="at_most_once"))
        await b.begin(policy("allow"))
        step = _identified(b, _act('{"n":2}', "at_most_once"))
        routed, met = await _met(b, step)
        assert (routed.answer.kind, met[-1:]) == (AnswerKind.BLOCKED, [OthersNeeded])
        assert routed.answer.rule_id == "__diverged"
        assert route(b.attempt, step).answer.kind is AnswerKind.BLOCKED  # type: ignore[union-attr]

    play(scenario)


@pytest.mark.parametrize("verdict", ["allow", "deny"])
@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
def test_nothing_makes_a_plain_new_step_stricter(play: Play, verdict: str, idempotency: str) -> None:
    """A step without questions, limits, divergence and unknown outcomes before it is recorded without the kernel's
    own rules being asked: asked, they give the policy's decision back as it is."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy(verdict))
        await b.submit(args={"n": 1}, idempotency=idempotency)
        step = _identified(b, _act(idempotency=idempotency))
        decision = b.attempt.policy.decide(b.attempt.first_facts(step))
        assert stricter(b.attempt, step, decision) is decision
        routed = route(b.attempt, step)
        assert isinstance(routed, Routed)
        assert routed.answer.rule_id == decision.rule_id

    play(scenario)
