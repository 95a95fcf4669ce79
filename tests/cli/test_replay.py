"""`rebuno exec replay`: a handler against a recording, from a file, a pipe or a store."""

import json
import sys
from pathlib import Path

import pytest

import rebuno as library
from rebuno.policy import compile_text
from tests.cli.support import Ran, rebuno

POLICY = compile_text("bundle tests\ndefault allow\n")
THEN = "and some words " * 20

ran: list[str] = []


@library.tool("replay.say")
async def say(text: str) -> str:
    ran.append(text)
    return text


async def agent(input: dict[str, str]) -> str:
    """Two steps, the second with long arguments that end in what a terminal would obey."""
    await say("first")
    return str(await say(f"{THEN}\x1b[31m{input['end']}"))


async def changed(input: dict[str, str]) -> str:
    """The same but for the last word."""
    await say("first")
    return str(await say(f"{THEN}\x1b[31mother"))


async def louder(input: dict[str, str]) -> str:
    """The same steps, another end."""
    return (await agent(input)).upper()


async def leaves(input: dict[str, str]) -> None:
    """Ends the interpreter with the code of success."""
    sys.exit(0)


NAMED = "tests.cli.test_replay"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with one execution, and the file of it."""
    library.run_sync(agent, {"end": "word"}, path=tmp_path / "agent.db", policy=POLICY, id="run", agent="agent")
    assert rebuno("exec", "export", "run", "run.jsonl", "--db", "agent.db", within=tmp_path).code == 0
    return tmp_path


def _ask(folder: Path, *argv: str, stdin: bytes = b"") -> Ran:
    ran.clear()
    asked = rebuno("exec", "replay", *argv, within=folder, stdin=stdin)
    assert ran == []
    assert "Traceback" not in asked.err
    assert "\x1b" not in asked.out + asked.err
    return asked


def test_the_recorded_handler_goes_the_recorded_way(folder: Path) -> None:
    """From a file, from standard input, from a store."""
    said = (0, "the same way: 2 of 2 recorded steps came again\n")
    for source, more in (("run.jsonl", ()), ("-", ()), ("run", ("--db", "agent.db"))):
        stdin = (folder / "run.jsonl").read_bytes()
        asked = _ask(folder, source, "--handler", f"{NAMED}:agent", *more, stdin=stdin)
        assert (asked.code, asked.out) == said


def test_another_way_is_shown_where_it_parts(folder: Path) -> None:
    """Both steps, long arguments from shortly before the first difference, on a narrow terminal too."""
    asked = _ask(folder, "run.jsonl", "--handler", f"{NAMED}:changed")
    assert asked.code == 1
    first, came, instead, missed = asked.out.splitlines()
    assert first == "another way: 1 of 2 recorded steps came again"
    assert came.startswith("came        tool_call replay.say …")
    assert "\\u001b[31mother" in came
    assert "\\u001b[31mword" in instead
    assert missed.startswith("not again   tool_call replay.say")
    data = json.loads(_ask(folder, "run.jsonl", "--handler", f"{NAMED}:changed", "--json").out)
    assert (data["same"], data["replayed_steps"], data["recorded_steps"], data["policy"]) == (False, 1, 2, None)
    assert data["unexpected_step"]["args"]["text"].endswith("other")
    assert data["expected_step"]["args"]["text"].endswith("word")


def test_another_end_is_shown(folder: Path) -> None:
    """The steps are the same, the output is not."""
    asked = _ask(folder, "run.jsonl", "--handler", f"{NAMED}:louder")
    assert (asked.code, "ended       completed with" in asked.out, "instead of  completed" in asked.out) == (
        1,
        True,
        True,
    )


def test_the_steps_are_judged_by_a_bundle(folder: Path) -> None:
    """The way is the same, the verdicts are not."""
    (folder / "new.rbp").write_text('bundle b\ndefault deny because "no"\n')
    asked = _ask(folder, "run.jsonl", "--handler", f"{NAMED}:agent", "--policy", "new.rbp")
    assert asked.code == 1
    assert "allow by default -> deny by default: 2" in asked.out
    data = json.loads(
        _ask(folder, "run.jsonl", "--handler", f"{NAMED}:agent", "--policy", "new.rbp", "--json").out,
    )
    assert (data["same"], data["policy"]["differing"]) == (True, 2)


def test_a_handler_is_found_in_this_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `python -m` would find it."""
    (folder / "replayed_here.py").write_text(f"from {NAMED} import agent\n\n\nclass Holder:\n    run = agent\n")
    monkeypatch.syspath_prepend(str(folder))
    assert _ask(folder, "run.jsonl", "--handler", "replayed_here:Holder.run").code == 0


@pytest.mark.parametrize(
    ("source", "handler", "code", "said"),
    [
        ("run.jsonl", "agent", 2, "module:name"),
        ("run.jsonl", "no_such_module:run", 2, "no_such_module"),
        ("run.jsonl", "..:run", 2, "cannot be loaded"),  # a module of no package
        ("run.jsonl", "raises_on_import:run", 2, "ZeroDivisionError: division by zero"),
        ("run.jsonl", "leaves_on_import:run", 2, "SystemExit: 0"),
        ("run.jsonl", f"{NAMED}:nothing", 2, "nothing"),
        ("run.jsonl", f"{NAMED}:NAMED", 2, "is no function"),
        ("run.jsonl", f"{NAMED}:leaves", 2, "ended the interpreter"),
        ("gone.jsonl", f"{NAMED}:agent", 2, "`gone.jsonl` is no file"),
        ("agent.db", f"{NAMED}:agent", 3, "no history"),
    ],
)
def test_a_wrong_question_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, handler: str, code: int, said: str
) -> None:
    """In a sentence, with the code of its kind."""
    (folder / "raises_on_import.py").write_text("1 / 0\n")
    (folder / "leaves_on_import.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(str(folder))
    asked = _ask(folder, source, "--handler", handler)
    assert (asked.code, said in asked.err) == (code, True)
