"""Stores of every earlier schema, as that version left them: opened, brought up to date, and resumed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import rebuno
from rebuno.journal.chain import verify
from rebuno.journal.migrate import migrations
from rebuno.journal.sqlite import SQLiteStore
from tests.journal import old_runs
from tests.journal.builders import in_loop

SCHEMAS = Path(__file__).parent / "schemas"
NEWEST = len(migrations("rebuno.journal.sqlite"))
EARLIER = range(1, NEWEST)


@pytest.fixture(params=EARLIER, ids="version {}".format)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A file of an earlier schema."""
    old_runs.ran.clear()
    file = tmp_path / "store.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((SCHEMAS / f"{request.param:04}.sql").read_text(encoding="utf-8"))
        assert connection.execute("PRAGMA user_version").fetchone() == (request.param,)
    yield file
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (NEWEST,)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@in_loop
async def test_every_row_of_an_earlier_schema_is_read(path: Path) -> None:
    """The logs are whole, and what the old schema did not know has its resting value."""
    store = await SQLiteStore.open(path)
    found = {one.key: one for one in await store.executions()}
    statuses = {key: one.status.value for key, one in found.items()}
    assert statuses == {
        "ends": "completed",
        "fails": "failed",
        "asks": "blocked",
        "pays": "running",
        "reads": "running",
    }
    for one in found.values():
        log = await store.events(one.id)
        assert (verify(log).fault, verify(log).hash) == ("", one.head_hash)
        assert (one.deadline_at, one.pinned, one.forked_from, one.fork_seq) == (0.0, False, "", 0)
        for step in await store.steps(one.id):
            assert (step.input_tokens, step.output_tokens) == (None, None)
    (asked,) = await store.approvals()
    assert (asked.status, asked.quorum, asked.approvers, asked.votes, asked.timeout_at) == ("pending", 1, (), (), 0.0)
    ended = await store.executions_ended(9e9)
    assert [one.key for one in ended] == ["ends", "fails"], "retention knows when they ended"
    assert (await store.executions_due(9e9), await store.approvals_due(9e9)) == ([], [])
    await store.close()


@pytest.mark.parametrize(
    ("name", "status", "output", "ran"),
    [
        ("ends", "completed", ["look 1 done", "pay done"], []),  # as it ended
        ("fails", "failed", None, []),
        ("asks", "blocked", None, []),  # nobody answered
        ("pays", "completed", ["look 1 done", "indeterminate", "look 2 done"], ["look 2"]),  # never pays again
        ("reads", "completed", ["pay done", "look 2 done"], ["look 2"]),  # reads again
    ],
)
@in_loop
async def test_a_run_of_an_earlier_version_goes_on_where_it_stood(
    path: Path, name: str, status: str, output: object, ran: list[str]
) -> None:
    """Killed or ended or blocked, it replays what is recorded and runs only what is not."""
    ended = await old_runs.run(path, name)
    assert (ended.status, ended.output, old_runs.ran) == (status, output, ran)


@pytest.mark.parametrize("granted", [True, False])
@in_loop
async def test_a_question_of_an_earlier_version_is_answered(path: Path, granted: bool) -> None:
    """The answer is taken, and the run ends by it."""
    async with rebuno.operate(path) as operator:
        (asked,) = await operator.approvals(status="pending")
        answer = operator.grant if granted else operator.deny
        await answer(asked.id, decided_by="ann", rationale="" if granted else "no letters today")
    ended = await old_runs.run(path, "asks")
    told = "send done" if granted else "send not allowed. reason: no letters today"
    assert (ended.status, ended.failure_reason, ended.output) == ("completed", None, ["look 1 done", told])
    assert old_runs.ran == (["send"] if granted else [])


def test_every_earlier_schema_is_kept() -> None:
    """A migration comes with a file of the schema before it."""
    assert sorted(file.name for file in SCHEMAS.iterdir()) == [f"{n:04}.sql" for n in EARLIER]
