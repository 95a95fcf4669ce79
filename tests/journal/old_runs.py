"""The runs that stand in `schemas/NNNN.sql`, and the program that writes such a file.

`python -m tests.journal.old_runs DB` runs them on a new store and prints it as SQL: done once with the last code of a
schema, before the next migration is added to it.
"""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import rebuno
from rebuno.journal import liveness
from rebuno.policy import Policy, compile_text

MARKS = ("application_id", "user_version")

# What each body did in this process, in order.
ran: list[str] = []
# The body in which the process is killed.
deadly = ""


def policy() -> Policy:
    """The same text in every version."""
    return compile_text(
        'bundle upgrade\ndefault deny because "no rule allows it"\n'
        'rule look { allow tool "look" }\n'
        'rule pay { allow tool "pay" }\n'
        'rule send { require approval for tool "send" because "somebody must look" }\n'
    )


def _body(name: str) -> str:
    ran.append(name)
    if name == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{name} done"


@rebuno.tool
async def look(n: int) -> str:
    return _body(f"look {n}")


@rebuno.tool(idempotency="at_most_once")
async def pay(amount: float) -> str:
    return _body("pay")


@rebuno.tool(idempotency="at_most_once")
async def send(to: str) -> str:
    return _body("send")


async def ends() -> list[str]:
    """Two steps, and the output."""
    return [await look(1), await pay(9.5)]


async def fails() -> str:
    """One step, and an exception."""
    raise ValueError(await look(1))


async def asks() -> list[str]:
    """A step that somebody must allow, after one that is done."""
    return [await look(1), await send("böb")]


async def pays() -> list[str]:
    """Killed in a body that runs at most once."""
    first = await look(1)
    try:
        return [first, await pay(9.5)]
    except rebuno.ToolError as error:
        return [first, error.reason, await look(2)]


async def reads() -> list[str]:
    """Killed in a body that may run again."""
    return [await pay(1.5), await look(2)]


HANDLERS: dict[str, Callable[[], Awaitable[object]]] = {
    "ends": ends,
    "fails": fails,
    "asks": asks,
    "pays": pays,
    "reads": reads,
}


async def run(path: Path, name: str) -> rebuno.Execution:
    """Runs or resumes one of them."""
    async with rebuno.open(path, policy=policy()) as kernel:
        return await kernel.run(HANDLERS[name], id=name)


def dump(path: Path) -> str:
    """The file as SQL."""
    with closing(sqlite3.connect(path)) as file:
        marks = [f"PRAGMA {name}={file.execute(f'PRAGMA {name}').fetchone()[0]};" for name in MARKS]
        return "\n".join((*file.iterdump(), *marks, ""))


def main() -> None:
    """Runs what is named after the path; without a name all of them, each in a process of its own, and prints."""
    global deadly
    path = Path(sys.argv[1])
    if len(sys.argv) > 2:
        deadly = {"pays": "pay", "reads": "look 2"}.get(sys.argv[2], "")
        # The file is to be resumed on any machine, by processes that cannot ask after this one.
        with patch.object(liveness, "this_host", return_value="elsewhere/00000000"):
            asyncio.run(run(path, sys.argv[2]))
        return
    for name in HANDLERS:
        subprocess.run([sys.executable, "-m", "tests.journal.old_runs", str(path), name], check=False)
    sys.stdout.write(dump(path))


if __name__ == "__main__":
    main()
