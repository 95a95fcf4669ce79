"""Calls that are cut off, by their host or by the store, leave the session to the next ones."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rebuno.errors import StoreBusy
from rebuno.gate import Allow
from tests.embedded.support import in_loop
from tests.gate.test_gate import AGENT, S, gate, intact


@in_loop
async def test_a_caller_that_goes_while_a_session_begins_leaves_it_to_the_next(tmp_path: Path) -> None:
    """Wherever it is cut off: the session is not lost to a process that has forgotten it."""
    async with gate(tmp_path) as opened:
        for steps in range(60):
            session = f"cut-{steps}"
            first = asyncio.ensure_future(opened.judge(session, "1", "note", {}, AGENT))
            for _ in range(steps):
                # The store answers from a thread of its own.
                await asyncio.sleep(0.0002)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            assert isinstance(await opened.judge(session, "1", "note", {}, AGENT), Allow), steps


@in_loop
async def test_a_session_goes_on_after_the_store_was_locked_for_too_long(tmp_path: Path) -> None:
    """The write that failed has ended nothing but its own call."""
    async with gate(tmp_path) as opened:
        await opened.judge(S, "1", "note", {}, AGENT)
        with locked(tmp_path / "store.db"), pytest.raises(StoreBusy):
            await opened.judge(S, "2", "note", {}, AGENT)
        assert isinstance(await opened.judge(S, "3", "note", {}, AGENT), Allow)
        await intact(opened, S)


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Another process has a transaction open."""
    program = (
        "import sqlite3, sys\n"
        "store = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "store.execute('BEGIN IMMEDIATE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holding:
        assert holding.stdout is not None
        holding.stdout.readline()
        try:
            yield
        finally:
            holding.kill()
