"""A run in another process that writes without a pause is answered within a few tries, on each store."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from rebuno.journal.opening import open_store
from rebuno.journal.records import Approval, Batch
from rebuno.journal.store import Store
from rebuno.kernel import verify_execution
from rebuno.kernel.core.transact import PATIENCE
from rebuno.kernel.lifecycle import votes
from tests.embedded.support import ROOT


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a store of each kind is named by."""
    return str(tmp_path / "store.db" if request.param == "sqlite" else request.getfixturevalue("postgres"))


async def _questions(store: Store) -> list[Approval]:
    """Both of its questions, once it goes on writing after them."""
    async with asyncio.timeout(30):
        while True:
            asked = await store.approvals(status="pending")
            if len(asked) == 2:
                row = await store.execution(asked[0].execution_id)
                if row.head_seq > max(question.requested_seq for question in asked) + 20:
                    return asked
            await asyncio.sleep(0.01)


async def _answered(store: Store, question: Approval, by: str) -> int:
    """How often somebody's grant was written until it was taken."""
    write, tries = store.write, 0

    def counted(batch: Batch) -> None:
        nonlocal tries
        tries += 1
        write(batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "write", counted)
        await votes.resolve(store, question.id, granted=True, decided_by=by)
    return tries


async def _played(where: str, running: "subprocess.Popen[str]") -> None:
    store = await open_store(where)
    try:
        act, two = sorted(await _questions(store), key=lambda question: question.quorum)
        for question, by in ((act, "zoe"), (two, "ana"), (two, "ben")):
            assert await _answered(store, question, by) <= PATIENCE + 1
        said, _ = await asyncio.to_thread(running.communicate, "enough\n", 30)
        assert said == "completed ['acted', 'acted'] 2\n"
        assert (await verify_execution(store, act.execution_id)).fault == ""
    finally:
        await store.close()


def test_a_run_that_writes_without_a_pause_is_answered(where: str) -> None:
    """It goes on meanwhile, and comes to its end with the answers."""
    command = [sys.executable, "-m", "tests.embedded.busy_run", where]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        try:
            asyncio.run(_played(where, running))
        finally:
            running.kill()
