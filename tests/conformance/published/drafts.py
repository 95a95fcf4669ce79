"""An agent that works in a folder: a resource with a driver that copies it."""

import asyncio
import shutil
import uuid
from pathlib import Path
from typing import Any

import rebuno
from tests.conformance.published import tools
from tests.conformance.published.ledger import note


class Drafts:
    """Folders below `root`, and copies of them as checkpoints."""

    driver_id = "conformance-drafts"
    coverage_reuse = False

    def __init__(self, root: str) -> None:
        self.configuration = {"root": root}
        self._root = Path(root)

    def create(self, ref: str | None) -> tuple[Path, dict[str, str]]:
        """A folder of its own, with what the checkpoint holds."""
        note(f"create {ref is not None}")
        folder = self._root / "work" / uuid.uuid4().hex
        if ref is None:
            folder.mkdir(parents=True)
        elif not (self._root / "kept" / ref).is_dir():
            raise rebuno.CheckpointUnavailable(ref)
        else:
            shutil.copytree(self._root / "kept" / ref, folder)
        return folder, {"path": str(folder)}

    async def open(self, binding: dict[str, str]) -> Path:
        """The folder that it is bound to; a driver's methods may be async."""
        note("open")
        return await asyncio.to_thread(Path, binding["path"])

    def checkpoint(self, folder: Path) -> str:
        """A copy."""
        note("checkpoint")
        ref = uuid.uuid4().hex
        shutil.copytree(folder, self._root / "kept" / ref)
        return ref


async def drafting(root: str, words: list[str], go: str) -> dict[str, Any]:
    """Writes a file a word into the folder, each after it has looked at what is there; the word `wait` waits for a
    file that lets it go, and the word `fail` fails."""
    folder = await rebuno.resource("draft", driver=Drafts(root), checkpoints=rebuno.CheckpointPolicy())

    @rebuno.tool("write", resources=["draft"])
    async def write(word: str) -> list[str]:
        note(f"write {word}")
        found = sorted(one.name for one in folder.iterdir())
        (folder / word).write_text(word, encoding="utf-8")
        if word == "fail":
            raise ValueError("it failed after it had written")
        if word == "wait":
            await tools.until_there(go)
        return found

    found = []
    for word in words:
        try:
            found.append(await write(word))
        except rebuno.ToolError:
            found.append(["failed"])
    return {"found": found, "at last": sorted(one.name for one in folder.iterdir())}
