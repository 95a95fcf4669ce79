"""The kernel process of `server.py`: a replica on one core, which says how much processor time its parts take.

It serves until its standard input ends. A line that it reads there starts the count anew, and is answered on standard
output with what was counted since the one before: milliseconds of processor time, by part where it is sampled, as JSON.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvloop

from rebuno.server.config import Config
from rebuno.server.run import run

# How often one looks, in seconds of processor time.
_EVERY: Final = 0.001
# Whose a piece of work is: that of the innermost of these which has called for it. What nobody has called for is the
# event loop's: sockets and parsing.
_PARTS: Final = (
    ("/rebuno/server/auth.py", "auth"),
    ("/rebuno/sdk/signing.py", "auth"),
    ("/rebuno/policy/", "policy"),
    ("/rebuno/journal/", "journal"),
    ("/rebuno/kernel/", "kernel"),
    ("/rebuno/model/", "kernel"),
    ("/rebuno/server/", "http"),
)


class Sampler:
    """Looks at the main thread at every millisecond of the process, and weighs what it sees by the time that this
    thread has worked since; the others belong to the journal."""

    def __init__(self) -> None:
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._seen = time.thread_time()
        self._others = self._elsewhere()
        self._parts: dict[str, str] = {}

    def start(self) -> None:
        """From now on."""
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, _EVERY, _EVERY)

    def take(self) -> dict[str, float]:
        """Milliseconds by part since the last time."""
        others = self._elsewhere()
        spent, self._spent = self._spent, defaultdict(float)
        spent["journal"] += others - self._others
        self._others = others
        return {part: 1000 * seconds for part, seconds in sorted(spent.items())}

    def _look(self, number: int, frame: FrameType | None) -> None:
        now = time.thread_time()
        self._spent[self._part(frame)] += now - self._seen
        self._seen = now

    def _part(self, frame: FrameType | None) -> str:
        while frame is not None:
            file = frame.f_code.co_filename
            if (part := self._parts.get(file)) is None:
                part = self._parts[file] = next((part for where, part in _PARTS if where in file), "")
            if part:
                return part
            frame = frame.f_back
        return "http"

    def _elsewhere(self) -> float:
        seconds = 0.0
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and thread.ident is not None:
                seconds += time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        return seconds


class Spent:
    """What is said of processor time since it was last asked: by part with a sampler, else that of the whole process;
    and always the memory that the process holds."""

    def __init__(self, sampler: Sampler | None) -> None:
        self._sampler = sampler
        self._before = time.process_time()

    def take(self) -> dict[str, float]:
        """Milliseconds, and `memory` in megabytes."""
        now = time.process_time()
        whole, self._before = 1000 * (now - self._before), now
        parts = {"process": whole} if self._sampler is None else self._sampler.take()
        status = Path("/proc/self/status").read_text()
        return {**parts, "memory": int(status.split("VmRSS:")[1].split()[0]) / 1024}


def listening(spent: Spent) -> None:
    """Answers each line of standard input, and has the process end with it."""
    loop = asyncio.get_running_loop()

    def told() -> None:
        if not sys.stdin.readline():
            os.kill(os.getpid(), signal.SIGTERM)
            loop.remove_reader(sys.stdin)
            return
        say(spent.take())

    loop.add_reader(sys.stdin, told)


async def serve(db: str, token: str, sampler: Sampler | None) -> None:
    listening(Spent(sampler))
    await run(Config(db, port=0, bearer_token=token), lambda url: say({"url": url}))


def say(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--db", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--core", type=int, help="the only one that it may use")
    parser.add_argument("--sampled", action="store_true")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    sampler = Sampler() if options.sampled else None
    if sampler is not None:
        sampler.start()
    uvloop.run(serve(options.db, options.token, sampler))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
