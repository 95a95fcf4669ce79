"""A policy that the kernel would not carry out in full opens no kernel."""

import asyncio
from pathlib import Path

import pytest

import rebuno
from rebuno.errors import BundleError
from rebuno.kernel.unenforced import UNENFORCED
from rebuno.testing import memory_kernel

CLAUSES = {
    "limit": 'allow tool "a" limit 5 per 1h',
    "budget": 'allow tool "a" budget 5 tokens per execution',
}


def _bundle(folder: Path, name: str, rule: str) -> Path:
    path = folder / f"{name}.rbp"
    path.write_text(f'rule free {{ allow tool "b" }}\nrule r {{\n  {rule}\n}}', encoding="utf-8")
    return path


async def _open(*paths: Path) -> None:
    async with memory_kernel(list(paths)):
        pass


@pytest.mark.parametrize("word", sorted(UNENFORCED.values()))
def test_what_is_not_enforced_is_refused(word: str, tmp_path: Path) -> None:
    """The refusal names the clause and its line, and comes whichever layer holds it."""
    path = _bundle(tmp_path, "a", CLAUSES[word])
    sound = _bundle(tmp_path, "b", 'require approval for tool "a" message "m"')
    for layers in ([path], [sound, path]):
        with pytest.raises(BundleError, match=f"the kernel does not enforce `{word}` yet") as caught:
            asyncio.run(_open(*layers))
        assert [(d.code, d.span.line, d.path) for d in caught.value.diagnostics] == [("not-built-yet", 3, str(path))]


def test_opening_a_store_refuses_too(tmp_path: Path) -> None:
    """No store is left behind in use: it opens with a policy that asks for less."""
    path, store = _bundle(tmp_path, "a", CLAUSES["limit"]), tmp_path / "a.db"

    async def run(policy: Path) -> None:
        async with rebuno.open(store, policy=policy):
            pass

    with pytest.raises(BundleError, match="`limit`"):
        asyncio.run(run(path))
    asyncio.run(run(_bundle(tmp_path, "b", 'require approval for tool "a" message "m"')))
