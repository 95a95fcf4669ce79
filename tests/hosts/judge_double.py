"""A judge whose answers a test chooses: everything of it is real but what it answers with.

`python judge_double.py FOLDER IDENTITY IDLE`. An event is JSON: it sleeps for `sleep` seconds, and answers with `out`,
`said` and `code`. With `raises` it fails; with `path` it writes there that it began, and that it was told to end.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rebuno.hosts.answer import HookAnswer
from rebuno.hosts.judge.run import run


class Double:
    """Answers as the event says, and with what it was told of the host where it says nothing."""

    busy = False

    async def respond(self, argv: Sequence[str], event: bytes, environ: Mapping[str, str], cwd: str) -> HookAnswer:
        """The answer that the event asks for."""
        asked = json.loads(event)
        if "raises" in asked:
            raise RuntimeError(asked["raises"])
        note = Path(asked["path"]) if "path" in asked else None
        if note is not None:
            note.with_suffix(".begun").write_text(str(os.getpid()), encoding="utf-8")
        try:
            await asyncio.sleep(asked.get("sleep", 0))
        except asyncio.CancelledError:
            if note is not None:
                note.with_suffix(".ended").touch()
            raise
        told = json.dumps({"argv": list(argv), "environ": dict(environ), "cwd": cwd, "pid": os.getpid()})
        return HookAnswer(asked.get("out", told), asked.get("said", ""), asked.get("code", 0))

    async def upkeep(self) -> None:
        """Nothing is due."""

    async def close(self) -> None:
        """Nothing is open."""


def say(words: str) -> None:
    """Tells the test."""
    os.write(1, words.encode())


if __name__ == "__main__":
    folder, identity, idle = sys.argv[1:]
    asyncio.run(run(folder, identity, Double(), idle=float(idle), ready=say))
