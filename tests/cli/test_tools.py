"""`rebuno tools`: what servers say of their tools is listed, pinned, and read by a bundle."""

import asyncio
import json
from pathlib import Path
from typing import Any

import rebuno as sdk
from rebuno.journal.sqlite import SQLiteStore
from rebuno.mcp import wrap_mcp_tool
from rebuno.model.definition import define
from rebuno.policy import Facts, compile_policy, read_source
from tests.cli.support import rebuno


async def _answers(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "sent"}], "isError": name == "fails"}


def descriptor(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, "annotations": {"title": "x"}}


def _store(path: Path) -> None:
    """A store that knows a tool of a server, which has changed since, and one of the agent's own."""
    send = wrap_mcp_tool(descriptor("send", "Sends a mail."), call=_answers, server="pinmail")

    @sdk.tool("pin_look")
    async def look() -> str:
        return ""

    async def handler() -> str:
        await look()
        await send()
        return "done"

    async def run() -> None:
        async with sdk.open(path, policy=sdk.PERMISSIVE) as kernel:
            assert (await kernel.run(handler)).status == "completed"
        store = await SQLiteStore.open(path)
        changed = define("pinmail", "send", description='Sends a mail.\n- "ff"', input_schema={"type": "object"})
        await store.save_definition(changed.digest, changed.text)
        await store.close()

    asyncio.run(run())


def test_what_servers_say_is_listed_and_pinned(tmp_path: Path) -> None:
    """The file that is written is what `let … = file` reads; annotations make no difference."""
    db = tmp_path / "a.db"
    _store(db)
    told = json.loads(rebuno("tools", "ls", "--db", str(db), "--json").out)["tools"]
    assert [(tool["server"], tool["name"]) for tool in told] == [
        ("", "pin_look"),
        ("pinmail", "send"),
        ("pinmail", "send"),
    ]
    plain = define("pinmail", "send", description="Sends a mail.", input_schema={"type": "object"})
    assert plain.digest in {tool["digest"] for tool in told}
    assert "pinmail" in rebuno("tools", "ls", "--db", str(db)).out

    file = rebuno("tools", "pin", "--db", str(db)).out
    assert file.count("# pinmail send") == 2
    assert "# Another definition of the same tool" in file
    (tmp_path / "tools.yaml").write_text(file)
    bundle = tmp_path / "b.rbp"
    bundle.write_text(
        'bundle b\ndefault deny\nlet reviewed = file "tools.yaml"\nrule r { allow any step when args.d in reviewed }\n'
    )
    policy = compile_policy([read_source(str(bundle))])
    for tool in told:
        assert policy.decide(Facts("tool_call", "t", {"d": tool["digest"]})).rule_id == "r"
    assert policy.decide(Facts("tool_call", "t", {"d": "ff"})).rule_id == "default"


def test_a_store_without_tools_gives_an_empty_list(tmp_path: Path) -> None:
    """Which a bundle reads as one."""

    async def make() -> None:
        await (await SQLiteStore.open(tmp_path / "a.db")).close()

    asyncio.run(make())
    assert rebuno("tools", "pin", "--db", str(tmp_path / "a.db")).out.splitlines()[-1] == "[]"
    assert "no tools" in rebuno("tools", "ls", "--db", str(tmp_path / "a.db")).out


def test_what_has_changed_in_integers_of_any_size_is_shown(tmp_path: Path) -> None:
    """Python's own writer of JSON gives up on them."""

    async def make() -> None:
        store = await SQLiteStore.open(tmp_path / "a.db")
        for least in (0, 10**5_000):
            told = define("bank", "pay", description="Pays.", input_schema={"minimum": least})
            await store.save_definition(told.digest, told.text)
        await store.close()

    asyncio.run(make())
    file = rebuno("tools", "pin", "--db", str(tmp_path / "a.db")).out
    assert "0" * 5_000 in file
    assert all(line[0] in "#-" for line in file.splitlines())
