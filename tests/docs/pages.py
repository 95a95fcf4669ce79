"""Reads the fenced blocks of the pages, and runs those that say that they can be run.

A page is one session in one empty folder, from top to bottom. The words after the fence say what a block is:

- `rbp`: a whole bundle, without errors, and without warnings that it does not accept. `rbp fragment`: statements or
  rules, put below a `bundle` and a `default` line, without errors.
- `python run`: a program that ends well. `python`: code that is only compiled.
- `console`: lines that begin with `$ ` are commands (`rebuno …`, `python …`, or a coding agent, for which
  `coding_agents.py` stands) and are run. A command ends with code 0, or with N where the line ends in `# exit N`. Lines
  below it, if there are any, are all that it prints; `…` stands for any text in a line. `ID` in a command is the first
  id that the command before it printed, `SESSION` that of the coding agent's session, `~` a home of the page's own.
- `file=NAME`, after any of these or after another word, also saves the block under that name; where `examples/` has
  such a file, it is the same.

Every other block is for reading only.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

from rebuno.policy import Diagnostic, Severity, Source, check_bundle, parse_bundle, read_soft_roots
from rebuno_cli.main import main
from tests.docs.coding_agents import COMMANDS, Agent, clean

ROOT: Final = Path(__file__).resolve().parents[2]
_FENCE: Final = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT: Final = re.compile(r"\s+# exit (\d+)$")
_ID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
# Of each folder in which a page is followed, the coding agent that was called there.
_AGENTS: Final[dict[Path, Agent]] = {}
# What a page starts by name is what these tests run with.
_PATH: Final = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
_HEAD: Final = 'bundle fragment\ndefault deny because "no rule allows it"\n\n'


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `line` is where it starts on its page, `words` what stands after the fence."""

    page: str
    line: int
    words: tuple[str, ...]
    body: str

    @property
    def file(self) -> str:
        """The name to save it under, or an empty string."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), "")

    @property
    def sort(self) -> str:
        """The words that say what it is: `rbp`, `rbp fragment`, `python run`, …"""
        return " ".join(word for word in self.words if not word.startswith("file="))


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, tuple(match["info"].split()), match["body"]))
    return found


def findings(block: Block) -> list[Diagnostic]:
    """What the checker has against a bundle that it should accept as it stands."""
    text = _HEAD + block.body if block.sort == "rbp fragment" else block.body
    bundle, found = parse_bundle(Source(text, f"{block.page}:{block.line}"))
    every = [*found, *check_bundle(read_soft_roots(bundle))]
    if block.sort == "rbp fragment":
        return [d for d in every if d.severity is Severity.ERROR]
    return [d for d in every if not d.accepted]


def run(block: Block, folder: Path) -> None:
    """Saves a block and, if it can be run, runs it; raises AssertionError where it does not do what it says."""
    if block.file:
        (folder / block.file).write_text(block.body, encoding="utf-8")
    where = f"{block.page}:{block.line}"
    if block.sort == "python run":
        done = _python([block.file] if block.file else ["-c", block.body], folder)
        assert done.returncode == 0, f"{where}: {done.stdout}{done.stderr}"
    elif block.sort == "python":
        compile(block.body, where, "exec")
    elif block.sort == "console":
        said = ""
        for command, wanted, expected in commands(block.body):
            name, *args = _words(command, said, folder)
            assert name in ("rebuno", "python", *COMMANDS), f"{where}: `{name}` is not run here"
            done = {"rebuno": _rebuno, "python": _python}.get(name, partial(_agent, name))(args, folder)
            said = done.stdout + done.stderr
            assert done.returncode == wanted, f"{where}: `{command}` ended with {done.returncode}\n{said}"
            if expected:
                assert matches(expected, said), f"{where}: `{command}` says\n{said}\nand not\n{expected}"


def commands(body: str) -> Iterator[tuple[str, int, str]]:
    """The commands of a console block, each with its exit code and the output that is shown for it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        first, _, output = part.partition("\n")
        code = _EXIT.search(first)
        yield _EXIT.sub("", first), int(code[1]) if code else 0, output.strip()


def matches(expected: str, said: str) -> bool:
    """Whether the output is as shown, `…` standing for any text in a line."""
    pattern = re.escape(expected).replace("…", "[^\n]*")
    return re.fullmatch(pattern, said.strip()) is not None


def home(folder: Path) -> Path:
    """The home of the reader who follows a page in the folder."""
    return folder.with_name(f"{folder.name}-home")


def _words(command: str, said: str, folder: Path) -> list[str]:
    found = _ID.search(said)
    meant = {"ID": found[0] if found else "ID"}
    if folder in _AGENTS:
        meant["SESSION"] = _AGENTS[folder].session
    own = f"{home(folder)}/"
    return [meant.get(word, own + word[2:] if word.startswith("~/") else word) for word in shlex.split(command)]


def _agent(name: str, args: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    agent = _AGENTS.setdefault(folder, Agent(COMMANDS[name], home(folder), folder))
    code, out = agent.run(args)
    return subprocess.CompletedProcess(args, code, out, "")


def _installed(folder: Path) -> Path:
    """The name of a Python with a `rebuno-hook` beside it."""
    programs = home(folder) / "bin"
    if not programs.exists():
        programs.mkdir(parents=True)
        run = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'cli')!r}]"
        text = f"#!{sys.executable}\n{run}\nfrom rebuno_cli.hook_main import main\nmain()\n"
        (programs / "rebuno-hook").write_text(text, encoding="utf-8")
        (programs / "rebuno-hook").chmod(0o755)
    return programs / "python"


def end(folder: Path) -> None:
    """Ends what was started for a page in the folder."""
    if agent := _AGENTS.pop(folder, None):
        agent.end()


def _python(args: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home(folder)), "PATH": _PATH}
    command = [sys.executable, "-W", "error", *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def _rebuno(args: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    # In this process: a program of its own takes half a second to start.
    out, err = io.StringIO(), io.StringIO()
    env = clean(os.environ)
    own = {"COLUMNS": "400" if folder in _AGENTS else "200", "NO_COLOR": "1", "HOME": str(home(folder))}
    with (
        patch.dict(os.environ, env | own | {"PATH": _PATH}, clear=True),
        patch.object(sys, "executable", str(_installed(folder)) if args[:1] == ["hook"] else sys.executable),
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main(args)
    return subprocess.CompletedProcess(args, code, out.getvalue(), err.getvalue())
