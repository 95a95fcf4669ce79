"""The way of one new embedded step through the files of this project: how many it enters, and how often it changes.

    .venv/bin/python benchmarks/way.py --trail

Each kind of step runs in a handler of an open kernel on a SQLite file, under a policy of a hundred rules. The first
steps load modules and fill caches; then every second one is followed with `sys.setprofile` and `threading.setprofile`,
from its call to the return of its result. `files` are the files of this project in which a function was called (or a
coroutine resumed) by the event loop's thread or the store's writer thread; `switches` is how often that was in another
file than the call before in the same thread. Both are medians of the steps that were followed. One JSON line a kind of
step.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median_low
from types import FrameType
from typing import Any, Final

import rebuno

RULES: Final = 100
# So many steps come before the first that is followed, and so many are.
BEFORE: Final = 20
FOLLOWED: Final = 15
ROOT: Final = str(Path(rebuno.__file__).parent)


class Trail:
    """The files that a step goes through, in each of the two threads by turns."""

    def __init__(self) -> None:
        self.loop: list[str] = []
        self.writer: list[str] = []
        self._own = threading.get_ident()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """A profile function: notes the file of a call."""
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(ROOT):
            files = self.loop if threading.get_ident() == self._own else self.writer
            if not files or files[-1] != name:
                files.append(name)

    @property
    def files(self) -> int:
        """How many files."""
        return len({*self.loop, *self.writer})

    @property
    def switches(self) -> int:
        """How many switches between them."""
        return sum(max(len(files) - 1, 0) for files in (self.loop, self.writer))

    def names(self) -> dict[str, list[str]]:
        """The files of each thread in the order of the way, from the package's folder."""
        told = {"loop": self.loop, "writer": self.writer}
        return {thread: [str(Path(name).relative_to(ROOT)) for name in files] for thread, files in told.items()}


def bundle() -> str:
    """A hundred rules, of which the last allows the step."""
    others = "\n".join(
        f'rule r{n} {{ deny tool "other-{n}" when args.n > {n} because "no" }}' for n in range(RULES - 1)
    )
    return f'bundle way\ndefault deny\n{others}\nrule act {{ allow tool "act*" when args.n < 1000000 }}\n'


@rebuno.tool("act", idempotency="safe_to_retry")
async def act(n: int) -> int:
    """A tool that does nothing."""
    return n


@rebuno.tool("act-once", idempotency="at_most_once")
async def act_once(n: int) -> int:
    """The same, never to be run again."""
    return n


async def local(n: int) -> int:
    """A local step that does nothing."""
    step: int = await rebuno.step("note", lambda n: n, {"n": n})
    return step


KINDS: Final[dict[str, Callable[[int], Awaitable[Any]]]] = {"tool": act, "tool_once": act_once, "local": local}


def follow(call: Callable[[int], Awaitable[Any]], folder: Path) -> list[Trail]:
    """The ways of several steps."""
    trails: list[Trail] = []
    following: list[Trail] = []

    def elsewhere(frame: FrameType, event: str, argument: object) -> None:
        for trail in following:
            trail(frame, event, argument)

    async def handler() -> None:
        for n in range(BEFORE):
            await call(n)
        for n in range(BEFORE, BEFORE + 2 * FOLLOWED, 2):
            trail = Trail()
            following.append(trail)
            sys.setprofile(trail)
            try:
                await call(n)
            finally:
                sys.setprofile(None)
                following.clear()
            trails.append(trail)
            await call(n + 1)

    async def run() -> None:
        (folder / "way.rbp").write_text(bundle())
        async with rebuno.open(folder / "way.db", policy=folder / "way.rbp") as kernel:
            ended = await kernel.run(handler)
        assert ended.status == "completed", ended.failure_reason

    threading.setprofile(elsewhere)
    try:
        asyncio.run(run())
    finally:
        threading.setprofile(None)
    return trails


def main() -> None:
    """Prints a JSON line for each kind of step."""
    parser = argparse.ArgumentParser(description="The way of one new embedded step through the files of this project.")
    parser.add_argument("--trail", action="store_true", help="also the files in their order, of one of the steps")
    told = parser.parse_args().trail
    for kind, call in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            trails = follow(call, Path(folder))
        files = median_low(trail.files for trail in trails)
        switches = median_low(trail.switches for trail in trails)
        found: dict[str, Any] = {"kind": kind, "files": files, "switches": switches}
        if told:
            found["trail"] = next(trail for trail in trails if trail.switches == switches).names()
        print(json.dumps(found))


if __name__ == "__main__":
    main()
