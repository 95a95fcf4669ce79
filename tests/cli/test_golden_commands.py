"""What each command prints, at 80 and 120 columns and in a pipe, compared with files; colours change no word.

Where a change is meant, run `python -m tests.cli.test_golden_commands` and read the difference.
"""

import asyncio
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pytest

import rebuno as sdk
from rebuno.journal.records import Holder
from rebuno_cli.tree import names
from tests.cli.support import payments, rebuno

GOLDEN: Final = Path(__file__).resolve().parents[1] / "golden" / "commands"
WIDTHS: Final = {"pipe": None, "80": 80, "120": 120}
BUNDLE: Final = """\
bundle desk
default deny because "not listed"

rule reads {
  allow tool "golden_read", "golden_break"
}

rule ask {
  require approval for tool "golden_send"
  approvers "ana", "ben"
  message f"May it go to {args.to}?"
  because "it leaves the house"
}
"""
AGENT: Final = """\
import rebuno


@rebuno.tool("golden_read")
async def read(what):
    return {"text": f"what {what} says", "pages": 12}


@rebuno.tool("golden_break")
async def broken(what):
    raise ValueError(f"{what} is torn \\x1b[31m")


@rebuno.tool("golden_send", idempotency="at_most_once")
async def send(to, text):
    return "sent"


async def agent(name: str):
    found = await read(name)
    if name == "torn":
        await broken(name)
    if name == "letter":
        await send("ana@example.com", str(found))
    return "done"
"""
NEWER: Final = BUNDLE.replace('allow tool "golden_read", "golden_break"', 'allow tool "golden_read"')
# Commands that serve, talk with a host or a server of tools, or write keys: other tests hold what they print.
ELSEWHERE: Final = {
    "dev", "server", "console", "mcp proxy", "mcp pin", "mcp tools", "hook install", "hook uninstall", "hook doctor",
    "hook run",
    "audit tail", "audit verify", "audit keygen", "key create", "key rotate", "key rm", "exec import",
    "exec create", "exec watch", "policy set", "verify", "policy prove", "tools schemas", "exec replay",
    "policy suggest",
    "store finish-upgrade", "keyring create", "keyring ls", "keyring rotate", "exec erase",
    "agent add", "agent rm", "agent get", "exec cancel", "exec sweep", "exec retry", "exec fork", "exec say",
    "approval grant", "approval deny",
    "grant rm", "store restore", "store mark-restored", "store accept-restore", "stop", "stop lift",
}  # fmt: skip
# Of each command the line that is tried. `{run}`, `{failed}` and `{question}` are ids.
LINES: Final = {
    "policy check": "policy check bad.rbp",
    "policy test": "policy test pay.rbp",
    "policy diff": "policy diff desk.rbp newer.rbp",
    "policy shadow": "policy shadow newer.rbp --db a.db",
    "policy explain": "policy explain desk.rbp --target golden_send --all",
    "policy fmt": "policy fmt --check desk.rbp bad-layout.rbp",
    "policy ast": "policy ast desk.rbp",
    "policy convert": "policy convert old.yaml",
    "policy inline": "policy inline desk.rbp",
    "policy new": "policy new",
    "exec ls": "exec ls --db a.db",
    "exec get": "exec get {run} --db a.db",
    "exec events": "exec events {run} --db a.db",
    "exec trace": "exec trace {failed} --db a.db",
    "exec verify": "exec verify {run} --db a.db",
    "exec export": "exec export {run} out.jsonl --db a.db",
    "approval ls": "approval ls --db a.db",
    "approval get": "approval get {question} --db a.db",
    "grant ls": "grant ls --db a.db",
    "policy stats": "policy stats --db a.db --since 1h",
    "exec fork-points": "exec fork-points {run} --db a.db",
    "exec explain": "exec explain {run} {step} --db a.db",
    "agent ls": "agent ls --db a.db",
    "tools ls": "tools ls --db a.db",
    "tools pin": "tools pin --db a.db",
    "store backup": "store backup copy.db --db a.db",
    "store info": "store info --db a.db",
    "key ls": "key ls --db a.db",
    "init": "init --into begun",
    "rule": "rule",
    "top": "top --once --db a.db",
    "effects": "effects --workdir /place --home /home/ana 'rm -rf build && curl https://example.com'",
    "limits": "limits --db a.db",
    "stop ls": "stop ls --db a.db",
    "version": "version",
}

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
UNWRAPPED: Final = frozenset({"policy ast", "policy inline", "policy convert", "tools pin", "init"})


class Place:
    """A folder with bundles and a store of three executions: one that waits, one that failed, one that is done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        payments(folder)
        (folder / "desk.rbp").write_text(BUNDLE)
        (folder / "newer.rbp").write_text(NEWER)
        (folder / "bad-layout.rbp").write_text(BUNDLE.replace("  allow", "      allow"))
        (folder / "bad.rbp").write_text('rule a {\n  ask tool "x"\n  when args.amount in 1, 2\n}\n')
        (folder / "old.yaml").write_text("rules:\n  - id: a\n    when: {target: get_*}\n    decision: allow\n")
        self.ids = asyncio.run(self._fill())

    async def _fill(self) -> dict[str, str]:
        space: dict[str, Any] = {}
        # Tracebacks name the file, at any place of the checkout.
        exec(compile(AGENT, "/place/agent.py", "exec"), space)
        with _same_everywhere():
            return await self._run(space["agent"])

    async def _run(self, agent: Any) -> dict[str, str]:
        ids = {}
        async with sdk.open(self.folder / "a.db", policy=self.folder / "desk.rbp") as kernel:
            for named, name in (("done", "page"), ("failed", "torn"), ("run", "letter")):
                run = await kernel.run(agent, {"name": name}, agent="clerk", id=named)
                ids[named] = run.id
            ids["question"] = run.approvals[0].id
            ids["step"] = run.approvals[0].step_id
        return ids

    def shown(
        self, command: str, columns: int | None, env: dict[str, str] | None = None, terminal: bool = False
    ) -> str:
        """What a command prints, with what differs from run to run made the same."""
        line = shlex.split(LINES[command].format(**self.ids))
        with _same_everywhere():
            ran = rebuno(*line, within=self.folder, columns=columns, env=env, terminal=terminal)
        said = f"$ rebuno {LINES[command]}  # exit {ran.code}\n{ran.out}{ran.err}"
        if (env or {}).get("TERM", "").startswith("xterm") and "NO_COLOR" not in (env or {}):
            # Colours may pad a line.
            said = "\n".join(line.rstrip() for line in _COLOUR.sub("", said).split("\n"))
        for made in ("begun", "copy.db", "out.jsonl"):
            _remove(self.folder / made)
        return _same(said)


@contextmanager
def _same_everywhere() -> Iterator[None]:
    """A process whose number and machine are always the same, and spans of time that are."""
    with ExitStack() as stack:
        stack.enter_context(
            patch("rebuno.journal.liveness.Holder", lambda owner, host, pid: Holder(owner, "machine", 4242))
        )
        for module in ("agents", "approvals", "live", "records", "timeline"):
            stack.enter_context(patch(f"rebuno_cli.render.{module}.span", lambda seconds: "1 s"))
        yield


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()


def _same(text: str) -> str:
    """The text with ids, hashes and times that are the same in every run, and as wide."""
    for pattern, put in (
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "0" * 8 + "-0000-0000-0000-" + "0" * 12),
        (r"\b[0-9a-f]{64}\b", "f" * 64),
        (r"\[[0-9a-f]{12}", f"[{'f' * 12}"),
        (r"\b20\d\d-\d\d-\d\d\b", "2026-01-01"),
        (r"\b\d\d:\d\d:\d\dZ", "00:00:00Z"),
        (r"\b\d{3},\d{3} bytes", "000,000 bytes"),
        (r"\bschema \d+", "schema 0"),
    ):
        text = re.sub(pattern, put, text)
    return text


def _file(command: str, width: str) -> Path:
    return GOLDEN / f"{command.replace(' ', '-')}-{width}.txt"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The folder for the whole file."""
    return Place(tmp_path_factory.mktemp("golden"))


def test_each_command_is_shown_here_or_said_to_be_elsewhere() -> None:
    """A new command joins one of the two."""
    assert set(names()) == LINES.keys() | ELSEWHERE
    assert not LINES.keys() & ELSEWHERE


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", LINES)
def test_what_is_printed(place: Place, command: str, width: str) -> None:
    """As in the file, without an escape, and within the terminal's width."""
    columns = WIDTHS[width]
    said = place.shown(command, columns)
    assert "\x1b" not in said
    assert said == _file(command, width).read_text(encoding="utf-8")
    # What is for programs, and sentences of one line, are left to the terminal.
    if columns is not None and command not in UNWRAPPED:
        assert max(map(len, said.split("\n")[1:])) <= columns


@pytest.mark.parametrize("command", LINES)
def test_a_terminal_gets_the_same_words(place: Place, command: str) -> None:
    """In colours where it wants them; NO_COLOR and a dumb terminal get none."""
    plain = place.shown(command, 80)
    coloured = place.shown(command, 80, {"TERM": "xterm-256color"}, terminal=True)
    assert "\x1b" not in coloured
    assert coloured == plain
    for env in ({"TERM": "xterm-256color", "NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert place.shown(command, 80, env, terminal=True) == plain


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        written = Place(Path(made))
        for command in LINES:
            for width, columns in WIDTHS.items():
                _file(command, width).write_text(written.shown(command, columns), encoding="utf-8")
    sys.stdout.write(f"wrote {GOLDEN}\n")
