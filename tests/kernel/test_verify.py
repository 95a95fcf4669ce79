"""What is found of a history that was changed behind the kernel's back."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

import rebuno
from rebuno.errors import ValidationError
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.history.verify import Verified
from rebuno.kernel.lifecycle import execution
from rebuno.model import identity
from rebuno.model.answer import Submission

POLICY = """\
bundle tests
default allow
rule ask { require approval for tool "pay" because "money" }
rule no { deny tool "rm" because "never" }
"""


@rebuno.tool("read")
async def read(n: int) -> dict[str, int]:
    return {"read": n}


@rebuno.tool("rm")
async def remove() -> None:
    """Denied."""


@rebuno.tool("pay", idempotency="at_most_once")
async def pay() -> str:
    return "paid"


async def agent() -> str:
    """Every kind of outcome, a nested step, and a question."""
    await rebuno.step("outer", lambda: read(1))
    await remove()
    try:
        await rebuno.step("fails", lambda: 1 / 0)
    except rebuno.ToolError:
        await read(2)
    return str(await pay())


async def _recorded(path: Path) -> None:
    policy = path.with_suffix(".rbp")
    policy.write_text(POLICY)
    async with rebuno.open(path, policy=policy) as kernel:
        blocked = await kernel.run(agent, id="run")
        await kernel.operator.grant(blocked.approvals[0].id, decided_by="ana")
        assert (await kernel.run(agent, id="run")).status == "completed"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one execution that has ended."""
    path = tmp_path_factory.mktemp("verify") / "agent.db"
    asyncio.run(_recorded(path))
    return path


def _verified(path: Path, head: str = "") -> Verified:
    async def look() -> Verified:
        async with rebuno.operate(path) as operator:
            return await operator.verify("run", head=head)

    return asyncio.run(look())


def _changed(store: Path, folder: Path, *changes: str) -> Path:
    copy = folder / "copy.db"
    with sqlite3.connect(store) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        for change in changes:
            assert target.execute(change).rowcount > 0
    source.close()
    target.close()
    return copy


def test_an_untouched_history_is_sound(store: Path) -> None:
    """And gives its head, which is told from any other."""
    found = _verified(store)
    assert (found.fault, found.steps) == ("", 6)
    assert _verified(store, found.head_hash) == found
    assert _verified(store, "0" * 64).fault == "the head is another one"


def test_a_head_of_earlier_is_known(store: Path) -> None:
    """A log that went on is not a log that was changed; it is not the same one either."""
    with sqlite3.connect(store) as connection:
        [early] = connection.execute("SELECT hash FROM events WHERE event_seq = 3").fetchone()
    connection.close()
    assert _verified(store, early.hex()).fault.endswith("that is the hash of event 3")


def test_a_head_is_a_hash(store: Path) -> None:
    """Half of one, as a terminal cuts it, is refused instead of compared."""
    with pytest.raises(ValidationError, match="64 digits"):
        _verified(store, "abc")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE bundle_sources SET text = replace(text, 'money', 'cash')",
        "UPDATE bundle_sources SET text = text || ' '",
        "UPDATE bundle_sources SET text = 'bundle other\ndefault deny\n'",
        "UPDATE bundle_sources SET text = 'no rules at all'",
        "UPDATE bundle_sources SET text = ''",
        "INSERT INTO bundle_sources SELECT digest, 1, path, text FROM bundle_sources",
        "UPDATE bundle_sources SET path = char(0), text = text || ' '",
    ],
)
def test_a_bundle_that_was_changed_behind_the_log_is_found(store: Path, tmp_path: Path, change: str) -> None:
    """Traces, and replays of a pinned run, rest on its text."""
    assert _verified(_changed(store, tmp_path, change)).fault.endswith("is not the one that decided")


STEP = "UPDATE steps SET {} WHERE target = '{}'"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        # The log itself.
        (
            "UPDATE events SET payload = replace(payload, 'rm', 'ls') WHERE type = 'step.denied'",
            "does not fit its hash",
        ),
        ("UPDATE events SET occurred_at = '2020-01-01T00:00:00.000000Z' WHERE event_seq = 2", "event 2 does not fit"),
        ("UPDATE events SET type = 'step.failed' WHERE type = 'step.succeeded'", "does not fit its hash"),
        ("DELETE FROM events WHERE event_seq = 4", "event 4 is missing"),
        ("DELETE FROM events WHERE event_seq = (SELECT max(event_seq) FROM events)", "the log ends at event"),
        # What a result was.
        (STEP.format("result = '{\"read\":7}'", "read"), "the outcome is not the one"),
        (STEP.format('error = \'{"message":"no","type":"E"}\'', "fails"), "the outcome is not the one"),
        (STEP.format("result = '1', error = NULL, status = 'succeeded'", "fails"), "and failed by its events"),
        (STEP.format("input_tokens = 1", "read"), "the tokens that it used"),
        (STEP.format("attempt = 7", "read"), "attempt 7 started it last, and attempt 1"),
        # What was done.
        (STEP.format("args = '{\"n\":3}'", "read"), "the args are not those"),
        (STEP.format("target = 'write'", "read"), "the kind, the target or the place"),
        (STEP.format("parent_id = ''", "read"), "the kind, the target or the place"),
        (STEP.format("idempotency = 'safe_to_retry'", "pay"), "at_most_once"),
        # Who allowed it.
        (STEP.format("rule_id = 'other'", "rm"), "the decision is not the one"),
        (STEP.format("digest = 'other'", "pay"), "the decision is not the one"),
        (STEP.format("verdict = 'allow'", "pay"), "its verdict is allow, and require_approval by its events"),
        (STEP.format("verdict = 'allow'", "rm"), "its verdict is allow, and deny by its events"),
        (STEP.format("verdict = 'x'", "read"), "its verdict is x, and allow by its events"),
        ("UPDATE approvals SET decided_by = 'bob'", "another person"),
        ("UPDATE approvals SET status = 'denied'", "granted by its events"),
        ("UPDATE approvals SET scope = 'rule'", "what was asked or answered"),
        ("UPDATE approvals SET rationale = 'fine'", "what was asked or answered"),
        ("UPDATE approvals SET decided_at = decided_at + 1", "the times are not those"),
        ("DELETE FROM approvals", "is missing"),
        # Who may allow it: an answer that is not enough must not become enough.
        ("UPDATE approvals SET quorum = 2", "those who must agree are others"),
        ("UPDATE approvals SET message = 'just a test'", "what people are shown is another text"),
        ("UPDATE approvals SET approvers = '[\"bob\"]'", "those who must agree are others"),
        ("UPDATE approvals SET timeout_at = 9e9", "does not expire when it should"),
        ("UPDATE approvals SET votes = '[]'", "the votes are not those"),
        ("UPDATE approvals SET votes = replace(votes, 'ana', 'bob')", "the votes are not those"),
        ("UPDATE approvals SET asserted_by = 'bob'", "the votes are not those"),
        ("UPDATE approvals SET rule_id = 'other'", "the rule that asks is another one"),
        ("UPDATE approvals SET digest = 'other'", "the rule that asks is another one"),
        # When it was decided: rules look at the time.
        (STEP.format("decided_at = decided_at - 3600", "pay"), "the times are not those"),
        (STEP.format("completed_at = 0", "pay"), "the times are not those"),
        # Rows without events, and events without rows.
        ("DELETE FROM steps WHERE target = 'rm'", "is missing"),
        (STEP.format("step_id = 'x'", "rm"), "no event speaks of the step"),
        # The execution.
        ("UPDATE contents SET input = '1'", "the input is not"),
        ("UPDATE contents SET output = '\"free\"'", "the output is not"),
        ("UPDATE executions SET deadline_at = 9e9", "the deadline is not"),
        ("UPDATE executions SET pinned = 1", "whether it is pinned"),
        ("UPDATE executions SET forked_from = 'x', fork_seq = 3", "forked elsewhere"),
        ("UPDATE executions SET attempt = 1", "it was run 1 times, and 2 times by its log"),
        ("UPDATE executions SET status = 'cancelled'", "completed by its log"),
        ("UPDATE executions SET agent_id = 'other'", "the agent or the id"),
        ("UPDATE executions SET head_hash = zeroblob(32)", "is not the one that the execution ends with"),
    ],
)
def test_a_change_is_found(store: Path, tmp_path: Path, change: str, found: str) -> None:
    """Whatever row is touched, the log says otherwise."""
    assert found in _verified(_changed(store, tmp_path, change)).fault


SAYS = {"status": 200, "headers": {}, "body": '{"usage": {"input_tokens": 20, "output_tokens": 5}}'}


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an execution of two model calls, of which one says what it used."""

    async def recorded(path: Path) -> None:
        async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
            attempt = await kernel._core.begin(agent_id="agent", input="{}", key="run")
            assert isinstance(attempt, Attempt)
            for target, value in (("counted", SAYS), ("silent", {})):
                answer = await kernel._core.submit(attempt, Submission("llm_call", target, "{}", "at_most_once", ""))
                await kernel._core.succeed(attempt, answer.step_id, identity.canonical(value), value)
            await execution.finish(attempt, output="null")

    path = tmp_path_factory.mktemp("spent") / "agent.db"
    asyncio.run(recorded(path))
    return path


@pytest.mark.parametrize(
    "change",
    [
        STEP.format("input_tokens = 2", "counted"),
        STEP.format("output_tokens = 0", "counted"),
        STEP.format("input_tokens = NULL, output_tokens = NULL", "counted"),
        STEP.format("input_tokens = 2, output_tokens = 0", "silent"),
    ],
)
def test_tokens_are_those_that_were_recorded(spent: Path, tmp_path: Path, change: str) -> None:
    """A budget counts them, so that a call made cheaper is found."""
    assert _verified(spent).fault == ""
    assert "the tokens that it used are not those" in _verified(_changed(spent, tmp_path, change)).fault
