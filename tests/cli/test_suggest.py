"""`rebuno policy suggest`: from a store to a bundle and its cases."""

import json
from pathlib import Path

import pytest

import rebuno as library
from tests.cli.support import rebuno
from tests.docs.pages import blocks

EVIL = 'x"{evil}\n\x1b[31m\u202e'


@library.tool("look_up")
async def look_up(key: str) -> dict[str, str]:
    return {"id": f"r-{key}", "note": EVIL}


@library.tool("send_it", idempotency="at_most_once")
async def send_it(to: str, body: str) -> str:
    return "sent"


async def agent() -> None:
    """Sends what it looked up, and once to somebody else."""
    found = await look_up("alpha")
    await send_it(found["id"], "done")
    await send_it(EVIL, "done")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store in which two agents ran, one of them twice."""
    for name, id in (("one", "run-1"), ("one", "run-2"), ("two", "run-3")):
        library.run_sync(
            agent, {"request": "send alpha"}, path=tmp_path / "agent.db", policy=library.PERMISSIVE, agent=name, id=id
        )
    return tmp_path


def test_both_files_are_sound(folder: Path) -> None:
    """Checked without a warning, formatted, and each case comes out as it says."""
    ran = rebuno(
        "policy", "suggest", "--db", "agent.db", "--agent", "one", "--cases", "s.policytest.yaml", within=folder
    )
    assert (ran.code, ran.err) == (0, "of 6 steps in 2 executions the bundle lets 4 run and asks about 2\n")
    assert ran.out.splitlines()[6] == "bundle one"
    (folder / "s.rbp").write_text(ran.out)
    assert rebuno("policy", "check", "--strict", "s.rbp", within=folder).code == 0
    assert rebuno("policy", "fmt", "--check", "s.rbp", within=folder).code == 0
    tested = rebuno("policy", "test", "s.rbp", "--json", within=folder)
    assert tested.code == 0
    assert "evil" not in ran.out
    assert "evil" in (folder / "s.policytest.yaml").read_text()


def test_json_and_written_files(folder: Path) -> None:
    """With `--out` nothing is printed; the JSON holds both texts."""
    ran = rebuno(
        "policy", "suggest", "--db", "agent.db", "--since", "1h", "-o", "o.rbp", "--name", "all", within=folder
    )
    assert (ran.code, ran.out) == (0, "")
    told = json.loads(rebuno("policy", "suggest", "--db", "agent.db", "--name", "all", "--json", within=folder).out)
    assert told["bundle"] == (folder / "o.rbp").read_text()
    assert (told["executions"], told["steps"], told["asks"], told["out"]) == (3, 9, 3, None)
    # What the three executions have alike stands there once.
    assert told["cases"].count("- name: ") == 3


def test_one_execution_and_how_often(folder: Path) -> None:
    """`--execution` takes what it names. What was seen in fewer executions than `--often` says is no literal."""
    ran = rebuno("policy", "suggest", "--db", "agent.db", "--execution", "run-3", "--often", "3", within=folder)
    assert ran.err == "of 3 steps in 1 execution the bundle lets 2 run and asks about 1\n"


def test_definitions_of_tools(folder: Path) -> None:
    """A tool that says that it does not only read loses its trust."""
    tool = {"name": "look_up", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}}
    (folder / "tools.json").write_text(json.dumps({"tools": [tool]}))
    ran = rebuno("policy", "suggest", "--db", "agent.db", "--tools", "tools.json", within=folder)
    assert "\nrule looks " not in ran.out
    (folder / "tools.json").write_text("[1]")
    ran = rebuno("policy", "suggest", "--db", "agent.db", "--tools", "tools.json", within=folder)
    assert (ran.code, ran.err) == (2, "error: tool number 1 has no `name`\n")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("--agent", "nobody"), 1, "no step that ran was recorded"),
        (("--since", "soon"), 2, "`--since`"),
        (("--since", "1h", "--execution", "run-1"), 2, "leave one out"),
        (("--execution", "none"), 4, "none"),
        (("--often", "1"), 2, "--often"),
    ],
)
def test_what_cannot_be_suggested_from(folder: Path, argv: tuple[str, ...], code: int, said: str) -> None:
    """One sentence, and no bundle."""
    ran = rebuno("policy", "suggest", "--db", "agent.db", *argv, within=folder)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_the_page_shows_the_bundle_that_comes_out(tmp_path: Path) -> None:
    """But for its head."""
    program, bundle = (next(b for b in blocks("docs/suggest.md") if b.sort == sort) for sort in ("python run", "rbp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        exec(compile(program.body, "office.py", "exec"), {"__name__": "__main__"})
    ran = rebuno("policy", "suggest", "--db", "office.db", within=tmp_path)
    assert ran.out[ran.out.index("bundle office") :] == bundle.body
