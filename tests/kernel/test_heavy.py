"""Long texts are read beside the event loop, whatever way a submission takes."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.policy import ahead
from rebuno.policy.compile import compile_text
from rebuno.policy.facets import shell_script, sql_tree

pytestmark = pytest.mark.anyio

POLICY = """default allow
rule sql { deny tool "query" when any table of args.text == "secrets" }
rule shell { deny tool "shell" when any program of args.text == "rm" }
"""


def _watched(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[str]:
    # The names of the threads in which a reader works.
    work: Callable[..., Any] = getattr(module, name)
    threads: list[str] = []

    def watching(*args: Any) -> Any:
        threads.append(threading.current_thread().name)
        return work(*args)

    monkeypatch.setattr(module, name, watching)
    return threads


@pytest.mark.parametrize(
    ("tool", "module", "name", "text"),
    [
        ("query", sql_tree, "_script", "select a from t where a = 1" + " and b = 1" * 600),
        ("query", sql_tree, "_script", "select '" + "x" * 3_000 + "' from t"),
        ("query", sql_tree, "_script", "select a from " + "t," * 29_900 + "t"),
        ("shell", shell_script, "walk", "ls; " * 1_500),
        ("shell", shell_script, "walk", "ls " + "a " * 30_000),
    ],
)
async def test_a_long_text_is_read_beside_the_loop(
    tool: str, module: Any, name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision on the loop finds what was read, and reads nothing itself."""
    threads = _watched(monkeypatch, module, name)
    called = rebuno.wrap_tool(tool, lambda args: "done", args_schema={"properties": {"text": {}}})

    async def handler() -> Any:
        return await called(text=text)

    for reader in (sql_tree.script, shell_script.read_script):
        reader.cache_clear()
    async with rebuno.open(tmp_path / "a.db", policy=compile_text(POLICY)) as kernel:
        await kernel.run(handler, id="a", agent="a")
    assert threads
    assert {thread.rpartition("_")[0] for thread in threads} == {"rebuno-heavy"}


def test_only_the_facets_that_a_policy_uses_read_ahead() -> None:
    """A policy without facets of SQL or shell text has no work to do before a decision."""
    assert (
        ahead.readers(compile_text('default allow\nrule r { deny tool "t" when host of args.u == "a.example" }')) == ()
    )
    assert len(ahead.readers(compile_text(POLICY))) == 2
    one = compile_text('default allow\nrule r { deny tool "t" when any statement of args.a == "drop" }')
    assert len(ahead.readers(one)) == 1


def test_long_texts_are_found_wherever_they_stand() -> None:
    """In lists and objects; short ones are left to the decision, and so are those beyond a number."""
    seen: list[str] = []
    long = "x" * (ahead.LONG + 1)
    ahead.read([seen.append], '{"a":["' + long + '",{"b":"' + long + '"}],"c":"short"}')
    assert seen == [long, long]
    seen.clear()
    ahead.read([seen.append], "[" + ",".join([f'"{long}"'] * 100) + "]")
    assert len(seen) == ahead.MOST
    ahead.read([seen.append], "no json")
