"""A small shop for the adapters' tests: its policy, what its tools did, and a person who answers."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import rebuno
from rebuno.adapters import Guard
from rebuno.policy import compile_text
from rebuno.types import Step
from rebuno_cli.main import main

T = TypeVar("T")

POLICY = """bundle shop
default deny because "no rule allows it"
known asked = input or turns
rule read { allow tool "look_up", "fail", "hang", "slow", "again" }
rule refund { require approval for tool "refund" message "Is this refund right?" because "money leaves" }
rule never { deny tool "delete" because "customers are never deleted" }
rule transfer { allow tool "transfer" when args.to in asked }
rule pay { allow tool "pay" }
"""


def guard(folder: Path, **more: Any) -> Guard:
    """A guard of the shop's policy on a store in a folder."""
    return Guard(folder / "shop.db", policy=compile_text(POLICY), **more)


def break_guard(opened: Guard, folder: Path, how: str) -> None:
    """Takes away what the guard needs: it is `closed`, or its store is `gone`."""
    if how == "closed":
        opened.close()
    else:
        (folder / "shop.db").unlink()


BROKEN = {"closed": "guard is closed", "gone": "moved or deleted"}


def answer(folder: Path, *words: str) -> None:
    """A person answers with the command: `grant`, the approval's id, and options."""
    line = ["approval", *words, "--db", str(folder / "shop.db"), "--as", "emma"]
    with ThreadPoolExecutor(1) as pool:  # the command has an event loop of its own
        assert pool.submit(main, line).result() == 0


def asked(told: str) -> str:
    """The approval that a text for the model names."""
    found = re.search(r"rebuno approval grant (\S+) --db (\S+):? ?", told)
    assert found is not None, told
    return found[1]


def steps(folder: Path, session: str) -> list[Step]:
    """The recorded steps of a session, whose chain of hashes is whole."""

    async def read() -> list[Step]:
        async with rebuno.operate(folder / "shop.db") as operator:
            verified = await operator.verify(session)
            assert not verified.fault, verified.fault
            return await operator.steps((await operator.execution(session)).id)

    return in_thread(read)


def in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine function to its end, also where an event loop runs already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


def shown(found: list[Step]) -> list[tuple[str, str, Any]]:
    """Of each step its tool, its status, and its result or error."""
    return [(step.target, step.status, step.result if step.error is None else step.error) for step in found]


def tells_no_repetition(told: str) -> None:
    """Neither a denial nor an unknown outcome asks the model to repeat the call."""
    assert not re.search(r"try (it |this |the call )?again|retry", told, re.IGNORECASE), told
