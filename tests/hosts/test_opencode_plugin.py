"""The plugin that OpenCode runs, run by Node.js with a `rebuno-hook` of the test: a call runs after a clear answer."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rebuno.hosts.install import HOSTS, Scope
from rebuno.hosts.settings import HookSettings
from tests.hosts.planted import Machine, machine

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js")

# What OpenCode does with a plugin: it calls its hooks, and runs the tool where none of them throws.
DRIVER = """
import { Rebuno } from "./rebuno.mjs"
const made = { child: "parent", parent: undefined, old: undefined }
const client = {
  session: {
    get: async ({ path: { id } }) => {
      if (!(id in made)) return { error: "no such session" }
      return { data: { id, parentID: made[id], time: { created: id === "old" ? 1 : Date.now() + 1000 } } }
    },
  },
  app: { log: async ({ body }) => void logged.push(body.message) },
}
const logged = []
const hooks = await Rebuno({ client, directory: "/proj" })
await hooks.config({ mcp: { mail: {} } })
const told = []
for (const [name, input, output] of JSON.parse(process.argv[2])) {
  try {
    await (name === "event" ? hooks.event({ event: input }) : hooks[name](input, output))
    told.push("done")
  } catch (error) {
    told.push(error.message)
  }
}
console.log(JSON.stringify({ told, logged }))
"""
ALLOWS = f"""#!{sys.executable}
import json, sys
event = json.load(sys.stdin)
open(__file__ + ".log", "a").write(json.dumps(event) + "\\n")
if event["event"] == "tool.execute.before":
    print('{{"decision": "allow"}}')
"""
CALLED: dict[str, Any] = {"tool": "bash", "sessionID": "parent", "callID": "c1"}
CALL: list[Any] = ["tool.execute.before", CALLED, {"args": {"command": "ls"}}]


@pytest.fixture
def one(tmp_path: Path) -> Machine:
    """A machine with the plugin in it."""
    made = machine(tmp_path)
    made.install("opencode")
    return made


def drive(one: Machine, *calls: list[Any], scope: Scope = "user") -> tuple[list[str], list[str]]:
    """Calls hooks one after the other: what each came to, and what was logged."""
    folder = one.root / "driver"
    folder.mkdir(exist_ok=True)
    (folder / "rebuno.mjs").write_bytes(one.settings("opencode", scope).read_bytes())
    (folder / "driver.mjs").write_text(DRIVER)
    done = subprocess.run(
        [str(NODE), str(folder / "driver.mjs"), json.dumps(calls)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["told"], found["logged"]


def heard(one: Machine) -> list[dict[str, Any]]:
    """The events that `rebuno-hook` was told."""
    file = one.program.with_name("rebuno-hook.log")
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_refusal_stops_the_call_with_its_words(one: Machine) -> None:
    """What stands on standard error, and nothing else."""
    assert drive(one, CALL)[0] == ["refused"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("kill -9 $$", "killed by SIGKILL"),
        ("exit 1", "exit code 1"),
        ("exit 2", "exit code 2"),
        ("echo '{oops'", "not JSON"),
        ("true", "did not allow it"),
        ("echo '{}'", "did not allow it"),
        ("""echo '{"decision": "deny", "reason": "no way"}'""", "no way"),
        ("""echo '{"decision": "ALLOW"}'""", "did not allow it"),
        ("""echo '["allow"]'""", "did not allow it"),
        ("""echo '{"decision": "allow"}'; exit 3""", "exit code 3"),
    ],
)
def test_whatever_is_no_clear_answer_stops_the_call(one: Machine, script: str, words: str) -> None:
    """The text says why, and how to take the plugin out."""
    # It reads nothing: that the other end is closed early must not stop the plugin.
    one.program.write_text(f"""#!/bin/sh
case "$1" in opencode) ;; *) exit 0;; esac
cat > "$0.event"
grep -q session.created "$0.event" && exit 0
{script}
""")
    (said,) = drive(one, CALL)[0]
    assert words in said
    assert words == "no way" or "rebuno hook uninstall opencode" in said


def test_a_program_that_is_missing_stops_the_call(one: Machine) -> None:
    """Not executable, or gone."""
    one.program.chmod(0o644)
    assert "rebuno hook uninstall opencode" in drive(one, CALL)[0][0]
    one.program.unlink()
    (said,) = drive(one, CALL)[0]
    assert "gave no answer" in said
    assert str(one.settings("opencode")) in said


def test_a_program_that_hangs_stops_the_call(one: Machine) -> None:
    """After the time that was planted."""
    file = one.settings("opencode")
    file.write_text(file.read_text().replace('"timeout": 60000', '"timeout": 300'))
    one.program.write_text("#!/bin/sh\nexec sleep 600\n")
    assert "killed by SIGKILL" in drive(one, CALL)[0][0]


def test_an_allowed_call_runs_and_its_outcome_is_told(one: Machine) -> None:
    """Each event in the form that `rebuno.hosts.opencode` reads."""
    one.program.write_text(ALLOWS)
    after = [
        "tool.execute.after",
        CALLED | {"args": {"command": "ls"}},
        {"output": "a\nb", "title": "", "metadata": {}},
    ]
    assert drive(one, CALL, after) == (["done", "done"], [])
    place = {"session": "parent", "directory": "/proj"}
    call = {"call": "c1", "tool": "bash", "args": {"command": "ls"}, "servers": ["mail"]}
    assert heard(one) == [
        place | {"event": "session.created"},
        place | call | {"event": "tool.execute.before"},
        place | call | {"event": "tool.execute.after", "output": "a\nb"},
    ]


def test_what_a_person_typed_is_told_apart(one: Machine) -> None:
    """Text that a command or the host put there is not typed."""
    one.program.write_text(ALLOWS)
    text = {
        "parts": [{"type": "text", "text": "hi"}, {"type": "text", "text": "x", "synthetic": True}, {"type": "file"}]
    }
    say = ["chat.message", {"sessionID": "parent"}, text]
    drive(one, say, ["command.execute.before", {"sessionID": "parent"}, {}], say, say)
    assert [(event["text"], event["typed"]) for event in heard(one)[1:]] == [("hi", True), ("hi", False), ("hi", True)]


def test_a_subagent_belongs_to_its_session_and_an_old_session_is_resumed(one: Machine) -> None:
    """As OpenCode itself knows them."""
    one.program.write_text(ALLOWS)
    child = ["tool.execute.before", CALLED | {"sessionID": "child"}, CALL[2]]
    drive(one, child, ["tool.execute.before", CALLED | {"sessionID": "old"}, CALL[2]])
    assert [(event["event"], event["session"], event.get("parent")) for event in heard(one)] == [
        ("session.created", "parent", None),
        ("session.created", "child", "parent"),
        ("tool.execute.before", "child", "parent"),
        ("session.resumed", "old", None),
        ("tool.execute.before", "old", None),
    ]


def test_a_session_that_cannot_be_looked_up_has_no_call(one: Machine) -> None:
    """Whose call it is nobody knows."""
    one.program.write_text(ALLOWS)
    (said,) = drive(one, ["tool.execute.before", CALLED | {"sessionID": "none"}, CALL[2]])[0]
    assert "cannot look up the session" in said


def test_a_call_that_failed_is_told_and_one_that_was_interrupted_is_not(one: Machine) -> None:
    """Of the latter nobody knows how far it came; of one that was refused there is nothing to tell."""
    one.program.write_text(ALLOWS)

    def failed(call: str, **metadata: Any) -> list[Any]:
        state = {"status": "error", "error": "exit 1", "input": {"command": "ls"}, "metadata": metadata}
        part = {"type": "tool", "tool": "bash", "callID": call, "sessionID": "parent", "state": state}
        return ["event", {"type": "message.part.updated", "properties": {"part": part}}]

    drive(one, CALL, failed("c1"), failed("c2", interrupted=True))
    assert [(event["call"], event["error"]) for event in heard(one)[2:]] == [("c1", "exit 1")]
    one.program.write_text(ALLOWS.replace("    print(", "    sys.exit('no') or print("))
    one.program.with_name("rebuno-hook.log").unlink()
    drive(one, CALL, failed("c1"))
    assert [event["event"] for event in heard(one)] == ["session.created", "tool.execute.before"]


def test_an_outcome_that_cannot_be_told_is_logged(one: Machine) -> None:
    """The call has run: to stop it now would tell the model what is not so."""
    one.program.write_text(
        ALLOWS.replace("if event", "if event['event'] == 'tool.execute.after': sys.exit(1)\nif event")
    )
    after = ["tool.execute.after", CALLED, {"output": ""}]
    told, logged = drive(one, CALL, after)
    assert told == ["done", "done"]
    assert "exit code 1" in logged[0]


def test_where_the_policy_is_only_observed_nothing_stops(one: Machine) -> None:
    """Neither a refusal nor a failure."""
    one.install("opencode", "user", HookSettings(observe=True))
    assert drive(one, CALL)[0] == ["done"]
    one.program.unlink()
    assert drive(one, CALL)[0] == ["done"]
    assert HOSTS["opencode"].module
