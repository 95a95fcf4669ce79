"""What a fork, a retry and an import take along: places in limits, used tokens, the policy, grants, deadlines."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256

import pytest

from rebuno.errors import StoreCorrupt, ValidationError
from rebuno.journal.records import ExecutionRow
from rebuno.kernel.core import events
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.history.archive import Recording, lines, read, record, restore
from rebuno.kernel.history.verify import check
from rebuno.kernel.lifecycle import execution
from rebuno.kernel.lifecycle.fork import fork, retry_point
from rebuno.model.answer import AnswerKind
from rebuno.model.decision import FORK_EFFECT
from rebuno.model.obligation import LimitScope
from rebuno.policy import Policy, compile_text
from tests.kernel.support import KEY, Bench, Opener, Play, bench, in_memory, player

ONCE = "at_most_once"
SCOPES = {
    LimitScope.EXECUTION: "limit 2 per execution",
    LimitScope.AGENT: "limit 2 per 1h for each agent",
    LimitScope.GLOBAL: "limit 2 per 1h for all agents together",
}
# Plays on a store in memory, from which another store takes over.
sqlite = player(in_memory)
OPEN = compile_text("bundle open\ndefault allow\n")


def limited(clause: str) -> Policy:
    """A bundle that limits the tool `act`."""
    return compile_text(f'bundle limited\ndefault allow\nrule act {{ allow tool "act" {clause} }}\n')


async def acts(b: Bench, numbers: range) -> list[AnswerKind]:
    """Submits `act` with each number, and lets every body that may run succeed."""
    said = []
    for n in numbers:
        answer = await b.submit(args={"n": n})
        if answer.kind is AnswerKind.PROCEED:
            await b.succeed(answer)
        said.append(answer.kind)
    return said


async def fails(b: Bench, reason: str) -> ExecutionRow:
    """The handler ends so."""
    return await execution.finish(b.attempt, failure_reason=reason)


async def retried(b: Bench, source: ExecutionRow, key: str) -> ExecutionRow:
    """What `exec retry` makes."""
    return await fork(b.store, source, await retry_point(b.store, source), key=key)


@asynccontextmanager
async def elsewhere(b: Bench, opener: Opener) -> AsyncIterator[Bench]:
    """Another store, with the execution that runs here as a file brings it there."""
    recording = await record(b.store, b.attempt.execution.id)
    async with bench(opener) as there:
        there.clock.advance(b.clock.now() - there.clock.now())
        await restore(there.store, as_a_file(recording))
        yield there


def as_a_file(recording: Recording) -> Recording:
    """What is read of what was written."""
    return read([line.encode() for line in lines(recording)])


# ---------------------------------------------------------------- limits and budgets


@pytest.mark.parametrize("scope", SCOPES)
def test_a_used_up_limit_is_used_up_in_every_retry(play: Play, scope: LimitScope) -> None:
    """Two of two places: anyone who runs, retries and retries again gets no third step."""

    async def scenario(b: Bench) -> None:
        rules = limited(SCOPES[scope])
        await b.begin(rules)
        assert await acts(b, range(3)) == [AnswerKind.PROCEED, AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]
        source = await fails(b, "rate_limit_exceeded")
        for key in ("again", "once-more"):
            source = await retried(b, source, key)
            await b.begin(rules, key=key)
            assert await acts(b, range(2)) == [AnswerKind.REPLAY] * 2
            assert await acts(b, range(2, 4)) == [AnswerKind.RATE_LIMITED] * 2
            source = await fails(b, "rate_limit_exceeded")
            assert (await check(b.store, source.id)).fault == ""

    play(scenario)


def test_what_runs_anew_takes_its_own_place(play: Play) -> None:
    """The step that failed is not copied, and neither is its place: the retry has one for it, and no more."""

    async def scenario(b: Bench) -> None:
        rules = limited(SCOPES[LimitScope.EXECUTION])
        await b.begin(rules)
        await acts(b, range(1))
        failed = await b.submit(args={"n": 1})
        await b.fail(failed)
        source = await fails(b, "tool_error: act: no")
        await retried(b, source, "again")
        await b.begin(rules, key="again")
        assert await acts(b, range(3)) == [AnswerKind.REPLAY, AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]

    play(scenario)


@pytest.mark.parametrize("imported", [False, True])
def test_a_question_about_an_effect_of_a_fork_lets_nothing_past_a_limit(imported: bool) -> None:
    """A person who says that it may be done again has not been asked for one more than the rule allows; and a step that
    is asked about has its place."""

    async def through(b: Bench) -> None:
        rules = limited(SCOPES[LimitScope.EXECUTION])
        await b.begin(rules)
        await acts(b, range(1))
        if imported:
            async with elsewhere(b, in_memory) as there:
                await asks(there, KEY)
        else:
            source = await b.store.execution(b.attempt.execution.id)
            await fork(b.store, source, source.head_seq, key="fork")
            await asks(b, "fork")

    async def asks(b: Bench, key: str) -> None:
        rules = limited(SCOPES[LimitScope.EXECUTION])
        await b.begin(rules, key=key)
        asked = await b.submit(args={"n": 1}, idempotency=ONCE)
        assert (asked.kind, asked.rule_id) == (AnswerKind.BLOCKED, FORK_EFFECT)
        await b.suspend()
        await b.answer(asked.approval_id, granted=True)
        await b.begin(rules, key=key)
        assert (await b.submit(args={"n": 1}, idempotency=ONCE)).kind is AnswerKind.PROCEED
        assert (await b.submit(args={"n": 2}, idempotency=ONCE)).kind is AnswerKind.RATE_LIMITED

    sqlite(through)


def test_copied_places_come_free_when_they_did(play: Play) -> None:
    """They are held since the first times of their steps, and not since the fork."""

    async def scenario(b: Bench) -> None:
        rules = limited("limit 2 per 60s")
        await b.begin(rules)
        await acts(b, range(2))
        b.clock.advance(50)
        source = await b.store.execution(b.attempt.execution.id)
        await fork(b.store, source, source.head_seq, key="fork")
        await b.begin(rules, key="fork")
        assert await acts(b, range(3)) == [AnswerKind.REPLAY, AnswerKind.REPLAY, AnswerKind.RATE_LIMITED]
        b.clock.advance(11)
        assert await acts(b, range(2, 5)) == [AnswerKind.PROCEED, AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]

    play(scenario)


@pytest.mark.parametrize("scope", SCOPES)
def test_an_import_counts_in_the_new_store(opener: Opener, scope: LimitScope) -> None:
    """For the execution that goes on there; for its agent and for all, also for every other one."""

    async def through(b: Bench) -> None:
        rules = limited(SCOPES[scope])
        await b.begin(rules)
        await acts(b, range(2))
        async with elsewhere(b, opener) as there:
            await there.begin(rules)
            assert await acts(there, range(3)) == [AnswerKind.REPLAY, AnswerKind.REPLAY, AnswerKind.RATE_LIMITED]
            await there.begin(rules, key="another")
            first = AnswerKind.PROCEED if scope is LimitScope.EXECUTION else AnswerKind.RATE_LIMITED
            assert await acts(there, range(1)) == [first]

    sqlite(through)


def test_used_tokens_count_in_forks_and_imports(opener: Opener) -> None:
    """A budget that is used up is used up for anyone who takes the calls over."""

    async def through(b: Bench) -> None:
        rules = compile_text('bundle b\nrule ask { allow llm "*" budget 100 tokens per execution }\n')
        await b.begin(rules)
        answer = await b.submit(target="model", kind="llm_call", args={"n": 1})
        assert answer.kind is AnswerKind.PROCEED
        body = json.dumps({"usage": {"prompt_tokens": 90, "completion_tokens": 10}})
        await b.succeed(answer, {"status": 200, "headers": {}, "body": body})
        refused = await b.submit(target="model", kind="llm_call", args={"n": 2})
        assert (refused.kind, refused.reason) == (AnswerKind.DENIED, "execution_token_budget_exceeded")
        source = await b.store.execution(b.attempt.execution.id)
        async with elsewhere(b, opener) as there:
            await there.begin(rules)
            more = await there.submit(target="model", kind="llm_call", args={"n": 3})
            assert more.reason == "execution_token_budget_exceeded"
        await fork(b.store, source, source.head_seq, key="fork")
        await b.begin(rules, key="fork")
        more = await b.submit(target="model", kind="llm_call", args={"n": 3})
        assert more.reason == "execution_token_budget_exceeded"

    sqlite(through)


# ---------------------------------------------------------------- the policy


DENIES = compile_text('bundle strict\ndefault allow\nrule no { deny tool "act" because "not any more" }\n')


async def pinned(b: Bench) -> ExecutionRow:
    """A pinned run that has done something else, and fails."""
    await b.begin(OPEN)
    b.attempt.ended = True
    await execution.abandon(b.attempt)
    begun = await b.kernel.begin(agent_id="agent", input="{}", key="pinned", pin=True)
    assert isinstance(begun, Attempt)
    b.attempt = begun
    await b.succeed(await b.submit(target="first"))
    return await fails(b, "agent_error: ValueError: a mistake")


@pytest.mark.parametrize("keeps", [False, True])
def test_a_fork_of_a_pinned_run_is_judged_by_todays_bundle(play: Play, keeps: bool) -> None:
    """Unless it is to keep the policy; and then anyone who forks it again has to say so again."""

    async def scenario(b: Bench) -> None:
        source = await pinned(b)
        at = await retry_point(b.store, source)
        if keeps:
            forked = await fork(b.store, source, at, key="fork", pinned=True)
        else:
            forked = await fork(b.store, source, at, key="fork")
        assert forked.pinned is keeps
        assert forked.digest == OPEN.digest
        await b.begin(DENIES, key="fork")
        assert (await b.submit(target="first")).kind is AnswerKind.REPLAY
        assert (await b.submit()).kind is (AnswerKind.PROCEED if keeps else AnswerKind.DENIED)
        again = await fork(b.store, await b.store.execution(forked.id), 1, key="again")
        assert not again.pinned
        await b.begin(DENIES, key="again")
        assert (await b.submit()).kind is AnswerKind.DENIED
        assert (await check(b.store, again.id)).fault == ""

    play(scenario)


@pytest.mark.parametrize(
    "way", ["denied", "in a body", "in a body in a body", "others end after it", "failed in a body"]
)
def test_a_retry_comes_to_the_step_anew_that_made_the_run_fail(judge: Play, way: str) -> None:
    """Once the bundle, or what the body does, is fixed: what was recorded of that step does not stand in its way."""

    async def scenario(b: Bench) -> None:
        failing = way == "failed in a body"
        await b.begin(
            OPEN if failing else compile_text('bundle b\ndefault allow\nrule no { deny tool "act" because "closed" }\n')
        )
        outer = [await b.submit(target=name) for name in outers(way)[:1]]
        for name in outers(way)[1:]:
            outer.append(await b.submit(target=name, parent=outer[-1].step_id))
        parent = outer[-1].step_id if outer else ""
        inner = await b.submit(parent=parent)
        reason = "closed"
        if failing:
            await b.fail(inner)
            error = "act: no"
        else:
            assert (inner.kind, inner.reason) == (AnswerKind.DENIED, "closed")
            error = "closed"
        if way == "others end after it":
            await b.succeed(await b.submit(target="other"))
        for one in reversed(outer):
            said = json.dumps({"message": error, "type": "ToolError"}, separators=(",", ":"))
            await b.kernel.fail(b.attempt, one.step_id, said)
            step = await b.store.step(one.step_id)
            error = f"{step.target}: {error}"
            reason = f"tool_error: {error}"
        source = await fails(b, reason)
        await retried(b, source, "again")
        await b.begin(OPEN, key="again")
        outer = [await b.submit(target=name) for name in outers(way)[:1]]
        for name in outers(way)[1:]:
            outer.append(await b.submit(target=name, parent=outer[-1].step_id))
        assert all(one.kind is AnswerKind.PROCEED for one in outer)
        assert (await b.submit(parent=outer[-1].step_id if outer else "")).kind is AnswerKind.PROCEED

    judge(scenario)


def outers(way: str) -> list[str]:
    """The steps around the one that fails, the outermost first."""
    return {"in a body": ["outer"], "failed in a body": ["outer"], "in a body in a body": ["outer", "middle"]}.get(
        way, []
    )


def test_a_denial_by_a_person_is_no_end_of_the_execution(judge: Play) -> None:
    """Whatever words they use: it stands in a fork."""

    async def scenario(b: Bench) -> None:
        rules = compile_text('bundle b\nrule asks { require approval for tool "act" }\n')
        await b.begin(rules)
        asked = await b.submit()
        await b.suspend()
        await b.answer(asked.approval_id, granted=False, rationale="execution_failed")
        source = await b.store.execution(b.attempt.execution.id)
        await fork(b.store, source, source.head_seq, key="fork")
        await b.begin(rules, key="fork")
        assert (await b.submit()).kind is AnswerKind.DENIED

    judge(scenario)


def test_a_deadline_is_new_and_only_where_it_is_asked_for(play: Play) -> None:
    """The source's is not taken along; the fork's counts from its own start."""

    async def scenario(b: Bench) -> None:
        await b.begin(OPEN)
        await b.succeed(await b.submit())
        b.attempt.ended = True
        await execution.abandon(b.attempt)
        begun = await b.kernel.begin(agent_id="agent", input="{}", key="timed", deadline=100)
        assert isinstance(begun, Attempt)
        b.attempt = begun
        b.clock.advance(50)
        source = begun.execution
        without = await fork(b.store, source, 1, key="without")
        timed = await fork(b.store, source, 1, key="with", deadline=60)
        assert without.deadline_at == 0.0
        assert timed.deadline_at == pytest.approx(b.clock.now() + 60)
        for one in (without, timed):
            assert (await check(b.store, one.id)).fault == ""
        with pytest.raises(ValidationError, match="no number of seconds"):
            await fork(b.store, source, 1, key="never", deadline=-1)

    play(scenario)


# ---------------------------------------------------------------- imports


def test_an_import_is_neither_pinned_nor_timed_and_asks_before_effects(opener: Opener) -> None:
    """The bundle of the kernel that runs it there decides; a new `at_most_once` step may have been done here since."""

    async def through(b: Bench) -> None:
        await b.begin(OPEN)
        b.attempt.ended = True
        await execution.abandon(b.attempt)
        begun = await b.kernel.begin(agent_id="agent", input="{}", key="timed", deadline=100, pin=True)
        assert isinstance(begun, Attempt)
        b.attempt = begun
        await b.succeed(await b.submit(target="done", idempotency=ONCE))
        async with elsewhere(b, opener) as there:
            there.clock.advance(1000)
            await there.begin(DENIES, key="timed")
            row = there.attempt.execution
            assert (row.pinned, row.deadline_at, row.fork_seq) == (False, 0.0, b.attempt.head)
            assert (await there.submit(target="done", idempotency=ONCE)).kind is AnswerKind.REPLAY
            assert (await there.submit()).kind is AnswerKind.DENIED
            asked = await there.submit(target="new", idempotency=ONCE)
            assert (asked.kind, asked.rule_id) == (AnswerKind.BLOCKED, FORK_EFFECT)
            question = await there.store.approval(asked.approval_id)
            assert "imported" in question.message
            assert (await check(there.store, row.id)).fault == ""
            again = await record(there.store, row.id)
            assert as_a_file(again) == again

    sqlite(through)


@pytest.mark.parametrize("idempotency", [ONCE, "safe_to_retry"])
def test_a_grant_that_was_not_used_yet_is_no_leave_in_two_stores(opener: Opener, idempotency: str) -> None:
    """An effect may have started here since: there a person is asked anew."""

    async def through(b: Bench) -> None:
        rules = compile_text('bundle b\nrule asks { require approval for tool "act" approvers "ana" }\n')
        await b.begin(rules)
        asked = await b.submit(idempotency=idempotency)
        await b.suspend()
        await b.answer(asked.approval_id, granted=True)
        async with elsewhere(b, opener) as there:
            begun = await there.begin(rules)
            if idempotency != ONCE:
                assert (await there.submit(idempotency=idempotency)).kind is AnswerKind.PROCEED
                return
            assert isinstance(begun, ExecutionRow)
            assert begun.status == "blocked"
            (question,) = await there.store.approvals(execution_id=begun.id, status="pending")
            assert (question.rule_id, question.step_id) == (FORK_EFFECT, asked.step_id)
            assert (await check(there.store, begun.id)).fault == ""
            await there.answer(question.id, granted=True)
            await there.begin(rules)
            assert (await there.submit(idempotency=idempotency)).kind is AnswerKind.PROCEED
            assert (await check(there.store, begun.id)).fault == ""

    sqlite(through)


def test_a_grant_of_a_forks_source_is_not_widened_by_a_file(judge: Play) -> None:
    """In the source it covered the execution; a file in which it does so in the fork is refused."""

    async def scenario(b: Bench) -> None:
        rules = compile_text('bundle b\nrule asks { require approval for tool "act" }\n')
        await b.begin(rules)
        asked = await b.submit()
        await b.suspend()
        await b.answer(asked.approval_id, granted=True, scope="execution")
        await b.begin(rules)
        await b.succeed(await b.submit())
        source = await b.store.execution(b.attempt.execution.id)
        forked = await fork(b.store, source, source.head_seq, key="fork")
        written = [line.encode() for line in lines(await record(b.store, forked.id))]
        assert read(written).approvals[0].scope == "once"
        # A row's default is not written down.
        wider = [line.replace(b'{"approval":{', b'{"approval":{"scope":"execution",') for line in written[:-1]]
        assert wider != written[:-1]
        end = {"end": {"lines": len(wider), "sha256": sha256(b"".join(wider)).hexdigest()}}
        with pytest.raises(StoreCorrupt, match="another thing"):
            read([*wider, json.dumps(end, separators=(",", ":")).encode() + b"\n"])

    judge(scenario)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"idempotency": "safe_to_retry"}, "submitted as at_most_once"),
        ({"error": '{"reason":"execution_failed"}'}, "did not fail by its events"),
    ],
)
def test_a_step_that_waits_is_not_changed_by_a_file(judge: Play, changed: dict[str, str], why: str) -> None:
    """With a grant that was not used it would run without a question, or come to nothing."""

    async def scenario(b: Bench) -> None:
        await b.begin(compile_text('bundle b\nrule asks { require approval for tool "act" }\n'))
        asked = await b.submit(idempotency=ONCE)
        await b.suspend()
        await b.answer(asked.approval_id, granted=True)
        recording = await record(b.store, b.attempt.execution.id)
        assert as_a_file(recording) == recording
        with pytest.raises(StoreCorrupt, match=why):
            as_a_file(replace(recording, steps=(replace(recording.steps[0], **changed),)))  # type: ignore[arg-type]

    judge(scenario)


def test_a_file_does_not_make_a_users_word_of_what_a_parent_passed_on(judge: Play) -> None:
    """The log says which execution began it, and a row that says otherwise is refused."""

    async def scenario(b: Bench) -> None:
        await b.begin(OPEN)
        made = replace(
            b.attempt.execution, id="child", key=None, head_seq=0, head_hash=bytes(32), spawned_execution_id="parent",
            holder=None, lease_until=0.0, attempt=0,
        )  # fmt: skip
        assert await b.store.create(made, [events.created(made)])
        recording = await record(b.store, "child")
        for parent in ("", "another"):
            with pytest.raises(StoreCorrupt, match="began it"):
                as_a_file(replace(recording, execution=replace(recording.execution, spawned_execution_id=parent)))

    judge(scenario)


def test_no_request_of_the_first_store_is_known_in_the_second(opener: Opener) -> None:
    """The numbers of a served attempt's requests, which no log holds, answer nothing there."""

    async def through(b: Bench) -> None:
        await b.begin(OPEN)
        await b.succeed(await b.submit())
        recording = await record(b.store, b.attempt.execution.id)
        numbered = replace(recording, steps=(replace(recording.steps[0], visited=2, submission=1),))
        async with bench(opener) as there:
            await restore(there.store, as_a_file(numbered))
            (step,) = await there.store.steps(recording.execution.id)
            assert (step.visited, step.submission) == (0, 0)

    sqlite(through)


def test_a_history_with_limits_that_are_none_is_refused(judge: Play) -> None:
    """Though its hashes fit: anyone who wrote it by hand hears so, and nothing is added."""

    async def scenario(b: Bench) -> None:
        await b.begin(limited(SCOPES[LimitScope.EXECUTION]))
        await acts(b, range(1))
        recording = await record(b.store, b.attempt.execution.id)
        for event in recording.events:
            for limit in event.payload.get("limits", ()):
                limit["scope"] = "galaxy"
        with pytest.raises(StoreCorrupt, match="names no limit"):
            await restore(b.store, recording)

    judge(scenario)
