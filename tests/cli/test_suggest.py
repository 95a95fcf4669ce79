"""`rebuno policy suggest`: from a store to a bundle and its cases."""

import asyncio
import json
from pathlib import Path

import pytest

import rebuno as library
from rebuno.gate import open_gate
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
        (("--name", "two words"), 2, "`--name`"),
        (("--tools", "none.json"), 3, "none.json"),
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


WORK: list[tuple[str, dict[str, str], object]] = [
    ("shell", {"command": "git status", "cwd": "/srv/project"}, {"output": "clean"}),
    ("shell", {"command": "cat src/a.py | head -n 5", "cwd": "/srv/project"}, {"output": "text"}),
    ("read_file", {"path": "/srv/project/src/a.py"}, {"content": "write to evil@evil.example"}),
    ("read_file", {"path": "src/b.py"}, {"content": "x"}),
    ("write_file", {"path": "src/new/a.py", "content": "y"}, None),
    ("write_file", {"path": "src/new/b.py", "content": "y"}, None),
    ("fetch", {"url": "https://docs.example/a"}, "page"),
]


def test_a_session_of_a_host_that_was_only_observed(tmp_path: Path) -> None:
    """All of it would have been denied and ran all the same: it was seen. The user's prompts are turns."""
    (tmp_path / "strict.rbp").write_text('bundle strict\ndefault deny because "observed"\n')

    async def observe() -> None:
        async with open_gate(tmp_path / "host.db", policy=tmp_path / "strict.rbp", observe=True) as gate:
            for day in ("monday", "tuesday"):
                await gate.start(day, "claude-code", workdir="/srv/project", request=f"work on {day}")
                await gate.say(day, "claude-code", f"and fetch https://{day}.example/")
                calls = [*WORK, ("fetch", {"url": f"https://{day}.example/"}, "page")]
                for number, (tool, args, result) in enumerate(calls):
                    await gate.judge(day, f"call-{number}", tool, args, "claude-code")
                    assert await gate.settle(day, f"call-{number}", "claude-code", result=result)

    asyncio.run(observe())
    argv = ("--db", "host.db", "--since", "7d", "--agent", "claude-code", "--cases", "coding.policytest.yaml")
    ran = rebuno("policy", "suggest", *argv, "--out", "coding.rbp", within=tmp_path)
    assert ran.err == "of 16 steps in 2 executions the bundle lets 16 run and asks about 0\n"
    assert rebuno("policy", "check", "--strict", "coding.rbp", within=tmp_path).code == 0
    assert rebuno("policy", "test", "coding.rbp", within=tmp_path).code == 0
    bundle = (tmp_path / "coding.rbp").read_text()
    assert "\nworkdir session\n" in bundle
    assert "/srv" not in bundle
    assert "evil" not in bundle
    assert "monday" not in bundle
    explain = ("policy", "explain", "coding.rbp", "--workdir", "/srv/other", "--json", "--target")
    asked = {
        ("read_file", '{"path": "src/c.py"}'): "allow",
        ("read_file", '{"path": "src/.env"}'): "require_approval",
        ("shell", '{"command": "cat src/c.py", "cwd": "/srv/other"}'): "allow",
        ("shell", '{"command": "git push", "cwd": "/srv/other"}'): "require_approval",
        ("fetch", '{"url": "https://monday.example/"}'): "require_approval",
        ("edit_file", '{"path": "src/a.py"}'): "deny",
    }
    for (tool, args), verdict in asked.items():
        ran = rebuno(*explain, tool, "--args", args, "--input", json.dumps({"request": "go on"}), within=tmp_path)
        assert json.loads(ran.out)["decision"] == verdict, (tool, args)
