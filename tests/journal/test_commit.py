"""What becomes of a batch is heard by those who wait, and not changed by those who stop waiting."""

import asyncio

import pytest

from rebuno.errors import Stale
from rebuno.journal.records import Batch
from rebuno.journal.wakeups import settle


def test_who_stops_waiting_changes_nothing_for_others() -> None:
    """A waiter that is cancelled leaves the commit to the other one and to the store."""

    async def body() -> None:
        commit = Batch("e1", ()).committed
        first, second = commit.wait(), commit.wait()
        first.cancel()
        assert not commit.done()
        settle([(commit, 7, None)])
        assert await commit == 7
        assert await second == 7
        assert first.cancelled()
        assert await commit.wait() == 7, "who comes late hears of it too"

    asyncio.run(body())


def test_a_waiter_wakes_with_the_commit() -> None:
    """It does not take another turn of the event loop, and what looks after the commit itself has been told before."""

    async def body() -> None:
        commit = Batch("e1", ()).committed
        told: list[str] = []
        commit.add_done_callback(lambda _: told.append("the attempt"))
        heard = commit.wait()
        heard.add_done_callback(lambda _: told.append("the waiter"))
        settle([(commit, 7, None)])
        assert heard.done()
        await asyncio.sleep(0)
        assert told == ["the attempt", "the waiter"]

    asyncio.run(body())


def test_who_has_itself_told_hears_first() -> None:
    """In the order in which they asked, before anybody who waits goes on; at once where it is known already."""

    async def body() -> None:
        told: list[str] = []
        for tell in ("result", "error", "cancel"):
            commit = Batch("e1", ()).committed
            commit.tell(lambda _: told.append("first"))
            commit.tell(lambda commit: told.append("cancelled" if commit.cancelled() else str(commit.exception())))
            if tell == "cancel":
                commit.cancel()
            else:
                settle([(commit, 7, Stale("too late") if tell == "error" else None)])
        assert told == ["first", "None", "first", "too late", "first", "cancelled"]
        commit.tell(lambda _: told.append("late"))
        assert told[-1] == "late"

    asyncio.run(body())


def test_an_error_reaches_the_waiter() -> None:
    """The waiter gets the very error of the commit."""

    async def body() -> None:
        commit = Batch("e1", ()).committed
        heard, error = commit.wait(), Stale("somebody was faster")
        settle([(commit, None, error)])
        with pytest.raises(Stale) as raised:
            await heard
        assert raised.value is error

    asyncio.run(body())
