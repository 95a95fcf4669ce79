"""Who lives and who leads where several have one store open, and what a clock that is set does to it."""

import os
import signal
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from rebuno.journal.lease import LEASE_SECONDS, Leases
from rebuno.journal.liveness import Owner
from rebuno.journal.records import Holder
from rebuno.journal.sqlite import SQLiteStore
from rebuno.model.clock import FixedClock
from tests.journal.builders import execution, in_loop
from tests.journal.processes import line, process

ELSEWHERE = Holder("0" * 32, "elsewhere", 1)


class Watch:
    """A wall clock that is set, and the seconds that really went by."""

    def __init__(self) -> None:
        self.wall = FixedClock()
        self.elapsed = 1000.0
        self.leases = Leases(Owner(None), self.wall, lambda: self.elapsed)

    def wait(self, seconds: float) -> None:
        self.wall.advance(seconds)
        self.elapsed += seconds

    def alive(self, until: float) -> bool:
        """Whether a holder on another machine lives, whose lease ends then."""
        return self.leases.alive(replace(execution(holder=ELSEWHERE), lease_until=until))


def test_a_lease_of_another_machine_ends_when_it_says() -> None:
    """Not before, however often anyone asks."""
    watch = Watch()
    until = watch.wall.now() + LEASE_SECONDS
    assert watch.alive(until)
    watch.wait(LEASE_SECONDS - 1)
    assert watch.alive(until)
    watch.wait(1)
    assert not watch.alive(until)


def test_a_clock_set_back_does_not_extend_a_lease() -> None:
    """Unless it is renewed, it ends as long after it was first seen as a lease lasts."""
    watch = Watch()
    until = watch.wall.now() + LEASE_SECONDS
    assert watch.alive(until)
    watch.wall.advance(-3600)
    watch.wait(LEASE_SECONDS - 1)
    assert watch.alive(until)
    watch.wait(2)
    assert not watch.alive(until)
    assert watch.alive(watch.wall.now() + LEASE_SECONDS), "a renewed one lives"


def test_leases_of_different_executions_and_roles_are_apart() -> None:
    """What was seen of one says nothing about another that ends at the same time."""
    watch = Watch()
    until = watch.wall.now() + 9 * LEASE_SECONDS
    assert watch.alive(until)
    watch.wait(LEASE_SECONDS + 1)
    assert not watch.alive(until)
    assert watch.leases.alive(replace(execution("e2", ELSEWHERE), lease_until=until))
    assert watch.leases.leads("e1", ELSEWHERE, until, 5)


def test_a_leader_on_another_machine_keeps_its_role_for_the_time_given() -> None:
    """Whatever the clock is set to meanwhile."""
    watch = Watch()
    until = watch.wall.now() + 5
    assert watch.leases.leads("sweep", ELSEWHERE, until, 5)
    watch.wall.advance(-3600)
    watch.elapsed += 4
    assert watch.leases.leads("sweep", ELSEWHERE, until, 5)
    watch.elapsed += 2
    assert not watch.leases.leads("sweep", ELSEWHERE, until, 5)


@in_loop
async def test_one_store_leads_until_its_time_is_over(tmp_path: Path) -> None:
    """Another that has the same file open must wait, unless the first asked for another role or asks no more."""
    clock = FixedClock()
    first, second = [await SQLiteStore.open(tmp_path / "store.db", clock=clock) for _ in range(2)]
    assert await first.lead("sweep", 10)
    assert not await second.lead("sweep", 10)
    assert await second.lead("dispatch", 10)
    clock.advance(9)
    assert await first.lead("sweep", 10)
    clock.advance(9)
    assert not await second.lead("sweep", 10)
    clock.advance(2)
    assert await second.lead("sweep", 10)
    assert not await first.lead("sweep", 10)
    await first.close()
    await second.close()


@pytest.mark.parametrize("how", ["closed", "killed"])
@in_loop
async def test_who_is_gone_leads_no_more(tmp_path: Path, how: str) -> None:
    """A store that closed, or whose process was killed, loses its role at once, however long it was given."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    with process("lead", path) as other:
        assert line(other) == "leads"
        assert not await store.lead("sweep", 10)
        if how == "killed":
            other.send_signal(signal.SIGKILL)
        elif other.stdin is not None:
            other.stdin.write("\n")
            other.stdin.flush()
        other.wait(10)
    assert await store.lead("sweep", 10)
    await store.close()


@pytest.mark.parametrize("of_the_group", [True, False])
def test_a_role_can_be_taken_next_by_who_may_write_files_of_the_group(tmp_path: Path, of_the_group: bool) -> None:
    """Its file stays when who had it leaves, and is the group's where the folder is, whatever the mask says."""
    tmp_path.chmod(0o770 if of_the_group else 0o700)
    before = os.umask(0o022)
    try:
        first, second = Owner(tmp_path), Owner(tmp_path)
        assert first.claim("server") is None
        assert str(os.getpid()) in (second.claim("server") or "")
        first.close()
        assert second.claim("server") is None
        second.close()
    finally:
        os.umask(before)
    mode = (tmp_path / ".server").stat().st_mode
    assert bool(mode & stat.S_IWGRP) == of_the_group
    assert not mode & stat.S_IRWXO
