"""What people reported of other systems: an approved call that is killed, and a call beside one that asks."""

import asyncio
import signal
from pathlib import Path

import pytest

import rebuno
from tests.embedded import agents
from tests.embedded.support import bundle, in_loop, journal, process, run

ASK = bundle("ask")


@pytest.mark.parametrize(
    ("idempotency", "bodies", "output"),
    [("at_most_once", ["act"], "indeterminate"), ("safe_to_retry", ["act", "act"], "acted")],
)
def test_a_grant_is_no_leave_to_repeat_a_killed_call(
    tmp_path: Path, idempotency: str, bodies: list[str], output: str
) -> None:
    """F17: killed inside the approved body. An at_most_once call is not run again, however often the run is resumed; a
    safe one runs again under the same grant, as promised."""
    path = tmp_path / "store.db"
    blocked = asyncio.run(run(path, ASK, agents.approved(path, idempotency, mortal=False)))
    assert (blocked.status, agents.notes(path)) == ("blocked", [])
    asyncio.run(agents.grant(path, blocked.approvals[0].id))
    with process("approved", path, idempotency) as other:
        assert other.wait(20) == -signal.SIGKILL
    for _ in range(2):
        ended = asyncio.run(run(path, ASK, agents.approved(path, idempotency, mortal=False)))
        assert (ended.status, ended.output) == ("completed", output)
        assert agents.notes(path) == bodies
    asyncio.run(journal(path))


@pytest.mark.parametrize("rounds", [1, 2])
@in_loop
async def test_a_sibling_of_the_call_that_asks_runs_once(tmp_path: Path, rounds: int) -> None:
    """F15: mails around a call that asks a person, in one batch. What follows the question waits for its answer; each
    mail goes out once, however often the batch is begun again."""
    path = tmp_path / "store.db"
    sent: list[str] = []
    mail = rebuno.tool("mail", idempotency="at_most_once")(sent.append)
    act = rebuno.tool("act", idempotency="at_most_once")(lambda: sent.append("act"))

    async def handler() -> None:
        await asyncio.gather(mail("first"), act(), mail("second"))

    for _ in range(rounds):
        blocked = await run(path, ASK, handler)
        assert blocked.status == "blocked"
        assert sent == ["first"]
    await agents.grant(path, blocked.approvals[0].id)
    assert (await run(path, ASK, handler)).status == "completed"
    assert sorted(sent) == ["act", "first", "second"]
