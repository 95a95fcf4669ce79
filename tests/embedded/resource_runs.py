"""A handler that writes into a folder, and a driver that notes what it does. As a program it runs the handler once:
`python -m tests.embedded.resource_runs DB FOLDER WORD…`; the word `die` kills the process in the middle of a step."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import rebuno
from rebuno.drivers import FolderDriver

# What each driver and body did in this process, in order.
ran: list[str] = []


class NotedFolder(FolderDriver):
    """A folder whose driver notes what it does."""

    def create(self, ref: str | None = None) -> tuple[Path, dict[str, str]]:
        ran.append("create" if ref is None else "restore")
        return super().create(ref)

    def open(self, binding: Any) -> Path:
        ran.append("open")
        return super().open(binding)

    def checkpoint(self, handle: Path) -> str:
        ran.append("checkpoint")
        return super().checkpoint(handle)


def drafting(
    at: Path, policy: rebuno.CheckpointPolicy | None = None, deadly: bool = False
) -> Callable[[Any], Awaitable[Any]]:
    """A handler that writes a file for each word of its input, and says what was there before each."""

    async def draft(words: Any) -> list[list[str]]:
        checkpoints = rebuno.CheckpointPolicy() if policy is None else policy
        folder = await rebuno.resource("draft", driver=NotedFolder(at), checkpoints=checkpoints)

        def write(word: str) -> list[str]:
            ran.append(f"write {word}")
            found = sorted(one.name for one in folder.iterdir())
            (folder / word).write_text(word, encoding="utf-8")
            if word == "die" and deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            if word == "fail":
                raise ValueError("it failed after it had written")
            return found

        found = []
        for word in words:
            try:
                found.append(await rebuno.step("write", write, {"word": word}, resources=["draft"]))
            except rebuno.ToolError:
                found.append(["failed"])
        return found

    return draft


async def main(db: str, at: str, *words: str) -> None:
    async with rebuno.open(db, policy=rebuno.PERMISSIVE) as kernel:
        execution = await kernel.run(drafting(Path(at), deadly=True), [*words], id="draft", agent="agent")
    sys.stdout.write(json.dumps({"output": execution.output, "ran": ran}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
