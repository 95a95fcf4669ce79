"""D14: one run, one writer. Who else asks is told who runs it, and who lost it writes nothing more."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

import rebuno
from rebuno.policy import permissive_policy
from tests.cases import stepping
from tests.embedded.support import ROOT, in_loop, journal, line


@contextmanager
def stepper(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """`stepping.py` in a process of its own, killed at the end."""
    command = [sys.executable, "-m", "tests.cases.stepping", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        try:
            yield running
        finally:
            running.kill()


def until(running: "subprocess.Popen[str]", wanted: str) -> None:
    """Reads what the process says up to a line."""
    while (said := line(running)) != wanted:
        assert said, f"it ended before it said `{wanted}`"


def names(path: Path) -> list[str]:
    return [note.split()[0] for note in stepping.notes(path)]


def test_of_processes_that_resume_a_killed_run_at_once_one_does(tmp_path: Path) -> None:
    """Each finished step ran once; the losers are told which process runs it."""
    path = tmp_path / "store.db"
    with stepper(path) as first:
        until(first, "s2")
        first.kill()
        first.wait()
    with stepper(path) as one, stepper(path) as two, stepper(path) as three:
        ended = [running.communicate(timeout=60)[0].splitlines()[-1] for running in (one, two, three)]
        pids = {running.pid for running in (one, two, three)}
    losers = [said for said in ended if said.startswith("ConflictError")]
    # One that started late finds the run at its end.
    assert len(losers) + ended.count("completed") == 3
    assert ended.count("completed") >= 1
    for said in losers:
        assert any(f"is running in process {pid} on " in said for pid in pids)
    ran = names(path)
    # The step that the kill hit was not finished, and the outcome before it may have been on its way to the disk; both
    # are safe to run again.
    before, hit, *rest = (ran.count(name) for name in stepping.NAMES)
    assert {before, hit} <= {1, 2}
    assert rest == [1, 1, 1]
    asyncio.run(journal(path))


def test_a_run_is_resumed_at_once_after_its_process_died_with_a_valid_lease(tmp_path: Path) -> None:
    """Whatever the lease says: the operating system knows that the holder is dead."""
    path = tmp_path / "store.db"
    with stepper(path) as first:
        until(first, "s2")
        first.kill()
        first.wait()
    assert asyncio.run(stepping.run(path, 0)).status == "completed"


def stop(process: "subprocess.Popen[str]", path: Path) -> None:
    """Stops a process where it does not keep the file locked: who is stopped in a write makes others wait for it."""
    connection = apsw.Connection(str(path))
    while True:
        os.kill(process.pid, signal.SIGSTOP)
        # The signal is sent, and on a busy machine the process goes on for a moment: into a write, perhaps.
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            connection.execute("BEGIN IMMEDIATE; ROLLBACK")
        except apsw.BusyError:
            os.kill(process.pid, signal.SIGCONT)
            time.sleep(0.01)
        else:
            connection.close()
            return


def test_a_process_that_only_sleeps_keeps_its_run(tmp_path: Path) -> None:
    """A stopped process of this machine is alive: the other is told so, and the sleeper finishes when it wakes."""
    path = tmp_path / "store.db"
    stepping.hold(path, "s2")
    with stepper(path) as sleeper:
        until(sleeper, "s2")
        stop(sleeper, path)
        with pytest.raises(rebuno.ConflictError, match=f"process {sleeper.pid} on "):
            asyncio.run(stepping.run(path, 0))
        stepping.hold(path, "")
        os.kill(sleeper.pid, signal.SIGCONT)
        assert sleeper.communicate(timeout=60)[0].splitlines()[-1] == "completed"
    assert names(path) == stepping.NAMES


def test_a_sleeper_that_lost_its_run_writes_nothing_when_it_wakes(tmp_path: Path) -> None:
    """Its lease ran out as seen from elsewhere and another finished the run: no result, status or lease is its own any
    more, it ends with `LeaseSuperseded` or finds the run ended, and only the step it was in ran twice."""
    path = tmp_path / "store.db"
    stepping.hold(path, "s3")
    with stepper(path) as sleeper:
        until(sleeper, "s3")
        stop(sleeper, path)
        stepping.hold(path, "")
        # As another machine sees a holder whose lease has run out.
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(5000)
        connection.execute("UPDATE executions SET host = 'elsewhere', lease_until = 1")
        connection.close()
        ended = asyncio.run(stepping.run(path, 0))
        assert (ended.status, ended.attempt) == ("completed", 2)
        _, before = asyncio.run(journal(path))
        os.kill(sleeper.pid, signal.SIGCONT)
        said = sleeper.communicate(timeout=60)[0].splitlines()[-1]
    assert said.startswith("LeaseSuperseded") or said == "completed"
    assert asyncio.run(journal(path))[1] == before
    ran = names(path)
    # The outcome of the step before may not have been on the disk yet.
    assert [ran.count(name) for name in stepping.NAMES] in ([1, 1, 2, 1, 1], [1, 2, 2, 1, 1])
    assert [e.payload["attempt"] for e in before if e.type == "execution.started"] == [1, 2]


@in_loop
async def test_two_loops_of_one_process_do_not_run_one_execution_twice(tmp_path: Path) -> None:
    """Two threads with an event loop and a kernel each: one runs, the other is told who does."""
    path = tmp_path / "store.db"
    ran: list[int] = []
    inside, told = asyncio.Event(), asyncio.Event()

    async def body() -> int:
        ran.append(1)
        inside.set()
        await told.wait()
        return len(ran)

    async def handler() -> object:
        return await rebuno.step("body", body)

    def other() -> str:
        try:
            return str(rebuno.run_sync(handler, path=path, policy=permissive_policy(), id="run", agent="agent").status)
        except rebuno.ConflictError as error:
            return str(error)

    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        running = asyncio.create_task(kernel.run(handler, id="run", agent="agent"))
        await inside.wait()
        said = await asyncio.to_thread(other)
        told.set()
        assert (await running).output == 1
    assert f"is running in process {os.getpid()} on " in said
