"""The way of one new embedded step through the files of this project: how many it enters, and how often it changes.

    .venv/bin/python benchmarks/way.py --trail

Each kind of step runs in a handler of an open kernel on a SQLite file, under a policy of a hundred rules. The first
steps load modules and fill caches; one after them is followed with `sys.setprofile`, from its call to the return of its
result, in the event loop's thread and in the store's writer thread. `files` are the files of this project whose code
runs in the loop's thread, `switches` is how often a function of another of them is entered there, or returned to;
`writer_files` and `writer_switches` are the same for the writer's thread. One JSON line a kind of step.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

import rebuno

RULES: Final = 100
# So many steps come before the one that is followed.
BEFORE: Final = 20
ROOT: Final = str(Path(rebuno.__file__).parent)


class Trail:
    """The files of this project that a thread goes through, each time that it comes to another one."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """A profile function: notes the file of the code that runs from now on."""
        if event == "return":
            back = frame.f_back
            while back is not None and not back.f_code.co_filename.startswith(ROOT):
                back = back.f_back
            if back is None:
                return
            frame = back
        elif event != "call":
            return
        name = frame.f_code.co_filename
        if name.startswith(ROOT) and (not self.files or self.files[-1] != name):
            self.files.append(name)

    def report(self) -> tuple[int, int]:
        """How many files, and how many switches between them."""
        return len(set(self.files)), max(len(self.files) - 1, 0)

    def names(self) -> list[str]:
        """The files in the order of the way, from the package's folder."""
        return [str(Path(name).relative_to(ROOT)) for name in self.files]


def bundle() -> str:
    """A hundred rules, of which the last allows the step."""
    others = "\n".join(f'rule r{n} {{ deny tool "other-{n}" when args.n > {n} because "no" }}' for n in range(RULES - 1))
    return f'bundle way\ndefault deny\n{others}\nrule act {{ allow tool "act*" when args.n < 1000000 }}\n'


@rebuno.tool("act", idempotency="safe_to_retry")
async def act(n: int) -> int:
    """A tool that does nothing."""
    return n


@rebuno.tool("act-once", idempotency="at_most_once")
async def act_once(n: int) -> int:
    """The same, never to be run again."""
    return n


async def _local(n: int) -> int:
    step: int = await rebuno.step("note", lambda n: n, {"n": n})
    return step


KINDS: Final[dict[str, Callable[[int], Awaitable[Any]]]] = {
    "tool": act,
    "tool_once": act_once,
    "local": _local,
}


def follow(call: Callable[[int], Awaitable[Any]], folder: Path) -> tuple[Trail, Trail]:
    """The way of one step in the loop's thread, and in the writer's."""
    loops, writers = Trail(), Trail()
    own = threading.get_ident()
    following = False

    def elsewhere(frame: FrameType, event: str, argument: object) -> None:
        if following and threading.get_ident() != own:
            writers(frame, event, argument)

    async def handler() -> None:
        nonlocal following
        for n in range(BEFORE):
            await call(n)
        following = True
        sys.setprofile(loops)
        try:
            await call(BEFORE)
        finally:
            sys.setprofile(None)
            following = False

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
    return loops, writers


def main() -> None:
    """Prints a JSON line for each kind of step."""
    parser = argparse.ArgumentParser(description="The way of one new embedded step through the files of this project.")
    parser.add_argument("--trail", action="store_true", help="also the files in their order")
    trail = parser.parse_args().trail
    for kind, call in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            loops, writers = follow(call, Path(folder))
        files, switches = loops.report()
        writer_files, writer_switches = writers.report()
        found: dict[str, Any] = {
            "kind": kind,
            "files": files,
            "switches": switches,
            "writer_files": writer_files,
            "writer_switches": writer_switches,
        }
        print(json.dumps(found | ({"trail": loops.names(), "writer_trail": writers.names()} if trail else {})))


if __name__ == "__main__":
    main()
