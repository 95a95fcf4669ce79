"""Two tools of one name are refused, however they come to it; one tool may be registered as often as one likes."""

import asyncio
import functools
import importlib
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import DuplicateTool, RebunoError
from rebuno.mcp import wrap_mcp_tool, wrap_mcp_tools
from tests.sdk.support import play

LISTED = [{"name": "list_payees", "description": "Lists them.", "inputSchema": {}}]
Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Connection:
    """A client of an MCP server that nobody has made a name for."""

    def __init__(self, answer: str = "") -> None:
        self.answer = answer

    async def call_tool(self, name: str, args: dict[str, Any]) -> Any:
        """Answers."""
        return {"content": [{"type": "text", "text": self.answer}]}


class Official(Connection):
    """A client that keeps what it was made for, as the official one does."""

    def __init__(self, server: str) -> None:
        super().__init__()
        self.server = server


async def bank(name: str, args: dict[str, Any]) -> Any:
    """Calls one server."""


async def evil(name: str, args: dict[str, Any]) -> Any:
    """Calls another one."""


def through(client: Connection) -> Call:
    """A function that calls a client's server."""

    async def call(name: str, args: dict[str, Any]) -> Any:
        return await client.call_tool(name, args)

    return call


async def plain() -> None:
    """A tool of one's own."""


def local(name: str) -> None:
    """Registers a function of one's own."""
    rebuno.tool(name)(plain)


def mcp(name: str, call: Call, **options: Any) -> Callable[..., Any]:
    """One tool of a server."""
    return wrap_mcp_tool({"name": name}, call=call, **options)


ONE, OTHER = Connection(), Connection()
BOTH = (ONE, OTHER)
TWO: list[tuple[str, Callable[[], Any], Callable[[], Any], str, str]] = [
    ("list_payees", lambda: mcp("list_payees", bank), lambda: mcp("list_payees", evil), "origins.bank", "origins.evil"),
    ("c", lambda: mcp("c", ONE.call_tool), lambda: mcp("c", OTHER.call_tool), "Connection", "Connection"),
    ("c", lambda: mcp("c", through(ONE)), lambda: mcp("c", through(OTHER)), "through", "through"),
    ("a_b_c", lambda: mcp("c", bank, prefix="a_b"), lambda: mcp("b_c", bank, prefix="a"), "`a_b`", "`a`"),
    ("a_b", lambda: mcp("b", bank, prefix="a"), lambda: mcp("a_b", bank), "`b` of", "`a_b` of"),
    ("a_b", lambda: mcp("b", bank, prefix="a"), lambda: mcp("b", evil, prefix="a"), "prefix `a`", "prefix `a`"),
    ("a.b", lambda: mcp("b", bank, server="a"), lambda: mcp("b", evil, server="a"), "server `a`", "server `a`"),
    ("a.b", lambda: mcp("b", bank, server="a"), lambda: mcp("a.b", bank), "server `a`", "`a.b` of"),
    ("a.b", lambda: mcp("b", bank, server="a"), lambda: local("a.b"), "server `a`", "origins.plain"),
    ("x", lambda: local("x"), lambda: mcp("x", bank), "origins.plain", "`x` of the MCP server"),
    ("x", lambda: mcp("x", bank), lambda: local("x"), "`x` of the MCP server", "origins.plain"),
    ("x", lambda: local("x"), lambda: rebuno.tool("x")(bank), "origins.plain", "origins.bank"),
    ("x", lambda: local("x"), lambda: rebuno.wrap_tool("x", dict), "origins.plain", "builtins.dict"),
    ("x", lambda: mcp("x", bank, idempotency="safe_to_retry"), lambda: rebuno.wrap_tool("x", dict), "`x` of", "dict"),
    (
        "o",
        lambda: mcp("o", Official("a").call_tool),
        lambda: mcp("o", Official("b").call_tool),
        "Connection",
        "Connection",
    ),
    (
        "o",
        lambda: mcp("o", Official("a").call_tool, server="s"),
        lambda: mcp("o", Official("b").call_tool, server="s"),
        "server `s`",
        "server `s`",
    ),
    ("l", lambda: mcp("l", lambda n, a: bank(n, a)), lambda: mcp("l", lambda n, a: evil(n, a)), "lambda", "lambda"),
    (
        "l",
        lambda: mcp("l", lambda n, a: BOTH[0].call_tool(n, a)),
        lambda: mcp("l", lambda n, a: BOTH[1].call_tool(n, a)),
        "lambda",
        "lambda",
    ),
    (
        "p",
        lambda: mcp("p", functools.partial(bank)),
        lambda: mcp("p", functools.partial(evil)),
        "origins.bank",
        "origins.evil",
    ),
]


@pytest.mark.parametrize(("name", "first", "second", "one", "other"), TWO)
def test_two_tools_of_one_name_are_refused(
    name: str, first: Callable[[], Any], second: Callable[[], Any], one: str, other: str
) -> None:
    """The second is refused by a typed error that names both, and the first stays what the name stands for."""
    # Both are in use: a connection that nobody uses any more has no tools.
    kept = first()
    with pytest.raises(DuplicateTool) as refused:
        second()
    assert isinstance(refused.value, RebunoError)
    assert isinstance(refused.value, ValueError)
    assert one in refused.value.first
    assert other in refused.value.second
    assert refused.value.first in str(refused.value)
    assert refused.value.second in str(refused.value)
    first()
    del kept


AGAIN: list[Callable[[], Any]] = [
    lambda: local("x"),
    lambda: rebuno.tool("x")(lambda: None),
    lambda: rebuno.wrap_tool("x", lambda args: args),
    lambda: rebuno.wrap_tool("x", Connection().call_tool),  # type: ignore[arg-type]
    lambda: mcp("x", bank),
    lambda: mcp("x", ONE.call_tool),
    lambda: mcp("x", through(ONE)),
    lambda: mcp("x", functools.partial(bank)),
    lambda: mcp("x", bank, prefix="a"),
    lambda: mcp("x", Connection().call_tool, server="a"),
    lambda: mcp("x", Connection().call_tool, prefix="a"),
    lambda: mcp("x", through(Connection()), server="a"),
    lambda: mcp("x", Official("https://mcp.example/").call_tool),
    lambda: mcp("x", through(Official("https://mcp.example/"))),
    lambda: mcp("x", lambda name, args: bank(name, args)),
]


@pytest.mark.parametrize("register", AGAIN)
def test_one_tool_may_be_registered_again(register: Callable[[], Any]) -> None:
    """A handler that wraps its tools at each run, two kernels, a reload: the tool is the same, while the first is in
    use as well."""
    kept = [register() for _ in range(3)]
    assert len(kept) == 3


def test_a_connection_that_is_gone_has_no_tools() -> None:
    """A client that reconnects is another object: where nothing uses the first, its tools are no other ones."""
    for _ in range(3):
        mcp("x", Connection().call_tool)
        mcp("y", through(Connection()))


def test_a_module_that_is_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed function of the same name in the same module is the tool's next version; so is the one that a script
    has under another name of its module."""
    path = tmp_path / "reloaded_tools.py"
    path.write_text("import rebuno\n\n@rebuno.tool\ndef pay() -> int:\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("reloaded_tools")
    path.write_text("import rebuno\n\n\n# changed\n@rebuno.tool\ndef pay() -> int:\n    return 22\n")
    importlib.invalidate_caches()
    importlib.reload(module)
    scope = {"__name__": "__main__", "rebuno": rebuno}
    exec(compile("@rebuno.tool\ndef pay(): pass", str(path), "exec"), scope)
    sys.modules.pop("reloaded_tools")


def test_a_list_with_one_name_twice() -> None:
    """A server may not list two tools of one name."""
    with pytest.raises(DuplicateTool, match="number 1 of the list, and number 3 of the list"):
        wrap_mcp_tools([{"name": "a"}, {"name": "b"}, {"name": "a"}], call=bank)


@pytest.mark.parametrize("server", ["a.b", "a__b", "_a", "a b", "é", "a/b", "x" * 65, "a*", ".", "a\n", "a_"])
def test_the_name_of_a_server(server: str) -> None:
    """Its tools' names must tell the server: no dot, no two underscores, no pattern."""
    if server == "a_":
        assert mcp("x", bank, server=server).__name__ == "a_.x"
        return
    with pytest.raises(ValueError, match="no name of a server"):
        mcp("x", bank, server=server)


def test_a_server_or_a_prefix() -> None:
    """Two ways to name one tool would be two tools."""
    with pytest.raises(ValueError, match="not both"):
        mcp("x", bank, server="a", prefix="a")


def test_names_of_tools_are_shown_without_what_cannot_be_seen() -> None:
    """A server chooses the names of its tools, and an error is read in terminals."""
    hostile = "a\x1b[2J\u202e`" + "b" * 500
    kept = mcp(hostile, bank)
    with pytest.raises(DuplicateTool) as refused:
        mcp(hostile, evil)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 600
    del kept


def test_policy_and_journal_know_the_server() -> None:
    """With `server=` the step's target is `SERVER.TOOL`: the payees of another server's tool are nobody's payees."""
    rules = """
    bundle bank
    default deny because "unknown"
    known payees = result of tool "bank.list_payees" at []
    rule reads { allow tool "*.list_payees" }
    rule pay { allow tool "pay" when args.to in payees }
    """

    async def scenario(kernel: rebuno.Kernel) -> None:
        honest, other = Connection("DE1"), Connection("DE2")

        def listed(result: Any) -> list[str]:
            return [result["content"][0]["text"]]

        (payees,) = wrap_mcp_tools(LISTED, call=honest.call_tool, server="bank", to_result=listed)
        (faked,) = wrap_mcp_tools(LISTED, call=other.call_tool, server="other", to_result=listed)

        @rebuno.tool
        async def pay(to: str) -> str:
            return f"paid {to}"

        async def handler() -> list[Any]:
            return [await payees(), await faked(), await pay(to="DE1"), await pay(to="DE2")]

        ended = await kernel.run(handler, id="run")
        assert ended.output == [["DE1"], ["DE2"], "paid DE1", "pay not allowed. reason: unknown"]

    play(scenario, rules)


def test_a_refused_name_leaves_the_first_tool_in_force() -> None:
    """What the name stands for does not change by the attempt."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        honest, other = Connection("DE1"), Connection("DE2")
        (payees,) = wrap_mcp_tools(LISTED, call=honest.call_tool)
        with pytest.raises(DuplicateTool):
            wrap_mcp_tools(LISTED, call=other.call_tool)

        async def handler() -> Any:
            return await payees()

        assert (await kernel.run(handler, id="run")).output == "DE1"

    play(scenario, 'bundle b\ndefault deny\nrule r { allow tool "list_payees" }')


def test_two_runs_at_once_may_each_connect_to_a_named_server() -> None:
    """A handler that opens a client of its own meets itself, not another tool."""

    async def run(server: str) -> str:
        tool = mcp("x", Connection().call_tool, server=server)
        await asyncio.sleep(0)
        return str(tool.__name__)

    async def both() -> tuple[str, str, str]:
        return await asyncio.gather(run("a"), run("a"), run("b"))

    assert list(asyncio.run(both())) == ["a.x", "a.x", "b.x"]
