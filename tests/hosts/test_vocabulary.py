"""The tools of every host under the names that bundles are written for, and what the shipped bundle says of them."""

from pathlib import Path
from typing import Any

import pytest

from rebuno.hosts import HOSTS
from rebuno.hosts.events import HostTool
from rebuno.hosts.vocabulary import TABLES, judged_tools, server_of
from rebuno.policy import Facts, Policy, compile_bundle, read_source
from tests.hosts.vocabulary_rows import ROWS, Calls, P

BUNDLE = Path(__file__).resolve().parents[2] / "policies" / "coding.rbp"
STRICTNESS = ["deny", "require_approval", "allow"]


@pytest.fixture(scope="module")
def coding() -> Policy:
    """The shipped bundle."""
    return compile_bundle(read_source(BUNDLE))


def tool(name: str, given: Any) -> HostTool:
    """A call as an event has it."""
    return HostTool(name, given, *server_of(name))


@pytest.mark.parametrize(("host", "row"), [(host, row) for host in HOSTS for row in ROWS[host]])
def test_a_call_is_judged_under_the_common_name(host: str, row: tuple[str, Any, Calls, str], coding: Policy) -> None:
    """Each input goes where bundles look for it, and the shipped bundle decides the call as it is meant to."""
    name, given, expected, verdict = row
    found = judged_tools(host, tool(name, given), P, TABLES[host])
    assert [(one.tool, one.args) for one in found] == expected
    verdicts = [
        coding.decide(Facts("tool_call", one.tool, one.args, agent=host, workdir=P)).verdict.value for one in found
    ]
    assert min(verdicts, key=STRICTNESS.index) == verdict


@pytest.mark.parametrize("host", HOSTS)
def test_every_row_of_the_table_has_a_call_here(host: str) -> None:
    """A row that nobody tries may be wrong."""
    tried = {name for name, *_ in ROWS[host]}
    assert set(TABLES[host]) - tried <= {"NotebookRead", "EnterPlanMode", "ExitPlanMode"}


@pytest.mark.parametrize("host", HOSTS)
def test_only_what_reads_is_safe_to_repeat(host: str) -> None:
    """Whatever writes, runs, sends or is not known may happen once."""
    for name, given, _, _ in ROWS[host]:
        for one in judged_tools(host, tool(name, given), P, TABLES[host]):
            assert one.safe == (one.tool in ("read_file", "list_files", "search_files")), (name, one)


@pytest.mark.parametrize(
    ("name", "told", "expected"),
    [
        ("mcp__mail__send", "", ("mail", "send")),
        ("mcp__mail__send__now", "", ("mail", "send__now")),
        ("mcp__claude_ai_Mail__send", "claude.ai Mail", ("claude_ai_Mail", "send")),
        ("mcp__a__b__send", "a__b", ("a__b", "send")),
        ("mcp__mail__send", "other", ("mail", "send")),
        ("mcp__mail__", "", ("", "")),
        ("mcp____send", "", ("", "")),
        ("Bash", "mail", ("", "")),
    ],
)
def test_the_name_tells_the_server(name: str, told: str, expected: tuple[str, str]) -> None:
    """What the host says of the server counts only where it fits the name."""
    assert server_of(name, told) == expected


def test_a_name_without_a_server_is_a_tool_of_the_host() -> None:
    """It cannot pass for one of a server."""
    (found,) = judged_tools("codex", tool("mcp__mail__", {}), P, TABLES["codex"])
    assert (found.tool, found.server) == ("codex.mcp__mail__", "")


def test_a_command_without_a_folder_begins_nowhere_that_is_known() -> None:
    """The host did not say where it runs: no path of it is read from the project."""
    (found,) = judged_tools("codex", tool("Bash", {"command": "cat a"}), "", TABLES["codex"])
    assert found.args == {"command": "cat a", "cwd": None}
