"""The judge as a process: from its start until the next one may begin."""

import asyncio
import signal
from collections.abc import Callable
from typing import Final

from rebuno.hosts.judge.place import JudgeFolder
from rebuno.hosts.judge.server import Judge, Responder

READY: Final = "ready"
# In seconds: after how long without a call the judge ends, and how long it waits for the one before it to end.
IDLE: Final = 1800.0
BEFORE: Final = 15.0


async def run(folder: str, identity: str, responder: Responder, *, idle: float, ready: Callable[[str], None]) -> None:
    """Serves the folder until it is over. `ready` is told `READY` once clients can come.

    Raises:
        JudgeError: the judge cannot be had here.
    """
    place = JudgeFolder(folder)
    try:
        await place.lock(BEFORE)
        listening = place.bind()
        judge = Judge(responder, place, identity=identity, idle=idle)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, judge.leave)
        ready(READY)
        try:
            await judge.serve(listening)
        finally:
            await responder.close()
    finally:
        place.close()
