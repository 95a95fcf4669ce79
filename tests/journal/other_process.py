"""What a second process does to a store in the tests: `python other_process.py DEED WHERE`."""

import asyncio
import os
import signal
import sys
import time

import apsw

from rebuno.errors import NotFoundError
from rebuno.journal.opening import open_store
from tests.journal.builders import batch, event, started, written


async def hold(where: str) -> None:
    """Holds an execution until it is killed."""
    store = await open_store(where)
    store.keep(await started(store))
    say("held")
    await asyncio.sleep(60)


async def leave(where: str) -> None:
    """Holds an execution and is killed, while a child that it forked lives on."""
    store = await open_store(where)
    await started(store)
    if os.fork() == 0:
        say("child")
        sys.stdin.readline()
        os._exit(0)
    await asyncio.sleep(60)


async def compute(where: str) -> None:
    """Hands over a deferred batch, lets no other task run for 50 ms, and dies."""
    store = await open_store(where)
    lease = await started(store)
    await written(store, batch("e1", lease=lease))
    store.write(batch("e1", event("step.succeeded"), lease=lease, deferred=True))
    # Of this thread's own time: on a busy machine the wall's would be somebody else's.
    until = time.thread_time() + 0.05
    while time.thread_time() < until:
        sum(range(100))
    os.kill(os.getpid(), signal.SIGKILL)


async def answer(where: str) -> None:
    """Says the number of each batch as soon as it is answered, until it is killed."""
    store = await open_store(where)
    lease = await started(store)
    while True:
        say(str(await written(store, batch("e1", lease=lease))))


async def more(where: str) -> None:
    """Adds to an execution, which it makes where it is not there, and says each number, until it is killed."""
    store = await open_store(where)
    try:
        await store.execution("e1")
    except NotFoundError:
        await started(store)
    while True:
        say(str(await written(store, batch("e1", event(text="x" * 3000)))))
        await asyncio.sleep(0.002)


async def lead(where: str) -> None:
    """Leads for an hour, or until it is told to close."""
    store = await open_store(where)
    say("leads" if await store.lead("sweep", 3600) else "follows")
    sys.stdin.readline()
    await store.close()


async def lock(where: str) -> None:
    """Keeps a transaction open until it is told to let go."""
    connection = apsw.Connection(where)
    connection.execute("BEGIN IMMEDIATE")
    say("locked")
    sys.stdin.readline()
    connection.execute("ROLLBACK")
    connection.close()


async def append(where: str) -> None:
    """Adds 100 events to an execution that others write to."""
    store = await open_store(where)
    say("ready")
    sys.stdin.readline()
    for n in range(100):
        await written(store, batch("e1", event(pid=os.getpid(), n=n)))
    await store.close()


def say(text: str) -> None:
    """A line to the process that started this one."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    deeds = (hold, leave, compute, answer, more, lead, lock, append)
    asyncio.run({deed.__name__: deed for deed in deeds}[sys.argv[1]](sys.argv[2]))
