"""`rebuno hook run`: whatever goes wrong, the call does not run, and one sentence says why."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rebuno.hosts import HOSTS
from rebuno.hosts.failures import read_failures
from tests.cli.support import Ran, rebuno
from tests.hosts.support import ATTENDED, SHELLS, P, bundle_in, environ_of

CLAUDE, CODEX, GEMINI, OPENCODE = HOSTS


class Run:
    """The command in a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bundle = str(bundle_in(folder))
        self.env = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state")}

    def hook(self, host: str, event: Any, *options: str, **env: str) -> Ran:
        """Sends an event, as JSON or as it is."""
        text = event if isinstance(event, bytes) else json.dumps(event).encode()
        given = environ_of(host) | self.env | env
        return rebuno("hook", "run", host, *options, stdin=text, within=self.folder, env=given)

    def shell(self, host: str, command: str, *options: str, id: str = "t1", **env: str) -> Ran:
        """A command is about to run, judged by the bundle of these tests."""
        return self.hook(host, shell_event(host, command, id), "--policy", self.bundle, *options, **env)

    def prompt(self, host: str) -> Ran:
        """The session begins with a prompt."""
        return self.hook(host, prompt_event(host), "--policy", self.bundle)

    @property
    def store(self) -> Path:
        """Where the store lies that nobody named."""
        return self.folder / "state" / "rebuno" / "hooks.db"


def shell_event(host: str, command: str, id: str = "t1") -> dict[str, Any]:
    """The event before a command."""
    if host == OPENCODE:
        call = {"call": id, "tool": "bash", "args": {"command": command}}
        return {"event": "tool.execute.before", "session": "s", "directory": P, **call}
    name = "BeforeTool" if host == GEMINI else "PreToolUse"
    call = {"tool_name": SHELLS[host], "tool_input": {"command": command}, "tool_use_id": id}
    return {"session_id": "s", "cwd": P, "hook_event_name": name, **call}


def prompt_event(host: str) -> dict[str, Any]:
    """The event of a prompt."""
    if host == OPENCODE:
        return {"event": "chat.message", "session": "s", "directory": P, "text": "go", "typed": True}
    name = "BeforeAgent" if host == GEMINI else "UserPromptSubmit"
    return {"session_id": "s", "cwd": P, "hook_event_name": name, "prompt": "go"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command in an empty folder."""
    return Run(tmp_path)


def refused(ran: Ran) -> str:
    """The one sentence of a refusal that is not the policy's."""
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("rebuno: the call must not run: ")
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    return ran.err


ALLOWED = {
    CLAUDE: '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}\n',
    CODEX: "",
    GEMINI: '{"decision": "allow"}\n',
    OPENCODE: '{"decision": "allow"}\n',
}


@pytest.mark.parametrize("host", HOSTS)
def test_a_call_that_may_run(host: str, run: Run) -> None:
    """Exactly the words that the host expects; Codex expects none."""
    assert run.prompt(host) == Ran(0, "", "")
    assert run.shell(host, "ls") == Ran(0, ALLOWED[host], "")
    assert run.store.is_file()
    assert os.stat(run.store.parent).st_mode & 0o777 == 0o700


REASON = "shell not allowed. reason: nobody allowed it (rule default)"
DENIED = {
    CLAUDE: Ran(0, json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                                      "permissionDecisionReason": REASON}}) + "\n", ""),
    CODEX: Ran(2, "", f"{REASON}\n"),
    GEMINI: Ran(0, json.dumps({"decision": "deny", "reason": REASON}) + "\n", ""),
    OPENCODE: Ran(2, "", f"{REASON}\n"),
}  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_a_call_that_must_not_run(host: str, run: Run) -> None:
    """In the host's own words, with the reason and nothing else."""
    assert run.prompt(host).code == 0
    assert run.shell(host, "rm -rf /") == DENIED[host]


@pytest.mark.parametrize("host", HOSTS)
def test_the_shipped_bundle_and_a_store_of_its_own_are_enough(host: str, run: Run) -> None:
    """Without any option or setting."""
    env = {"GEMINI_PROJECT_DIR": P}
    assert run.hook(host, prompt_event(host), **env).code == 0
    assert run.hook(host, shell_event(host, "git status"), **env) == Ran(0, ALLOWED[host], "")
    denied = run.hook(host, shell_event(host, "sudo id", "t2"), **env)
    assert "becomes another user" in denied.out + denied.err
    assert (denied.code, "allow" in denied.out.replace("not allowed", "")) == (DENIED[host].code, False)


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is empty"),
    "no JSON": (b"{oops", "cannot be read"),
    "half an object": (b'{"session_id": "s"', "cannot be read"),
    "a list": (b"[]", "no JSON object"),
    "no UTF-8": (b'{"a": "\xff"}', "cannot be read"),
    "a lone surrogate": (b'{"session_id": "\\ud800"}', ""),
    "no event": (b'{"session_id": "s"}', "has no `"),
    "deep": (b'{"a":' * 100_000, "cannot be read"),
}


@pytest.mark.parametrize("case", UNREADABLE)
@pytest.mark.parametrize("host", HOSTS)
def test_an_event_that_cannot_be_read(host: str, case: str, run: Run) -> None:
    """The host sent something else than it promises."""
    text, why = UNREADABLE[case]
    assert why in refused(run.hook(host, text))


@pytest.mark.parametrize("field", ["session_id", "tool_name", "tool_use_id"])
@pytest.mark.parametrize("value", [None, "", 7, ["s"], "x" * 1000])
def test_a_field_that_is_missing_or_no_text(field: str, value: Any, run: Run) -> None:
    """No call is let in that cannot be told from another one."""
    assert run.prompt(CODEX).code == 0
    event = {**shell_event(CODEX, "ls"), field: value}
    if value is None:
        del event[field]
    ran = run.hook(CODEX, event, "--policy", run.bundle)
    if field == "tool_name" and value == "x" * 1000:
        assert "not allowed" in ran.err
        assert ran.code == 2
    else:
        refused(ran)


@pytest.mark.parametrize("host", HOSTS)
def test_a_bundle_that_is_broken_or_gone(host: str, run: Run) -> None:
    """There is no policy, so there is no yes."""
    assert run.prompt(host).code == 0
    Path(run.bundle).write_text("bundle b\ndefault perhaps\n")
    assert "test.rbp:2" in refused(run.shell(host, "ls"))
    Path(run.bundle).unlink()
    assert "test.rbp" in refused(run.shell(host, "ls"))


@pytest.mark.parametrize("host", HOSTS)
def test_a_store_that_is_locked(host: str, run: Run) -> None:
    """The hook gives up before the host does."""
    assert run.prompt(host).code == 0
    # Locks of one process do not keep itself out.
    code = "import sqlite3, sys; s = sqlite3.connect(sys.argv[1], isolation_level=None); s.execute('BEGIN EXCLUSIVE')"
    code += "; print(flush=True); sys.stdin.read()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code, run.store], stdin=pipe, stdout=pipe) as locking:
        assert locking.stdout is not None
        locking.stdout.readline()
        for options in ([], ["--timeout", "2s"]):
            hook = _started(run, host, *options)
            out, err = hook.communicate(json.dumps(shell_event(host, "ls")).encode())
            said = refused(Ran(hook.returncode, out.decode(), err.decode()))
            assert ("no answer within" if options else "locked") in said
        locking.communicate()
    assert run.shell(host, "ls").code == 0


@pytest.mark.parametrize("host", HOSTS)
def test_a_store_that_is_gone_or_no_store(host: str, run: Run) -> None:
    """What the session did would be forgotten, and the rules ask about it."""
    assert run.prompt(host).code == 0
    run.store.unlink()
    assert "is gone" in refused(run.shell(host, "ls"))
    assert not run.store.exists()
    run.store.write_text("something else " * 100)
    refused(run.shell(host, "ls"))
    run.store.unlink()
    run.store.mkdir()
    refused(run.shell(host, "ls"))
    none = str(run.folder / "none" / "a.db")
    assert none in refused(run.shell(host, "ls", "--db", none))
    assert none in refused(run.hook(host, prompt_event(host), "--db", none))


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"version": 2}', '{"version": 1, "polcy": "a"}',
                                  '{"version": 1, "observe": "yes"}', '{"version": 1, "timeout": 0}',
                                  '{"version": 1, "policy": [7]}', "\udcff"])  # fmt: skip
def test_settings_that_cannot_be_read(text: str, run: Run) -> None:
    """Nobody knows what they were meant to say, not even whether to observe."""
    file = run.folder / "home" / ".config" / "rebuno" / "hooks" / "codex.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "settings" in refused(run.shell(CODEX, "ls"))
    assert "missing" in refused(run.shell(CODEX, "ls", "--settings", str(run.folder / "none.json")))


def test_the_settings_of_the_hook_hold(run: Run) -> None:
    """Those that lie where `hook install` puts them; options stand in their place."""
    file = run.folder / "home" / ".config" / "rebuno" / "hooks" / "codex.json"
    file.parent.mkdir(parents=True)
    db = str(run.folder / "own.db")
    file.write_text(json.dumps({"version": 1, "policy": run.bundle, "db": db, "observe": True}))
    assert run.hook(CODEX, prompt_event(CODEX)).code == 0
    assert run.hook(CODEX, shell_event(CODEX, "rm -rf /")) == Ran(0, "", "")
    assert Path(db).is_file()
    assert not run.store.exists()


@pytest.mark.parametrize("host", HOSTS)
def test_a_fault_of_ours(host: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that nobody thought of is a refusal too, and is noted for the doctor."""

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a bug\nin two lines")

    monkeypatch.setattr("rebuno.hosts.sessions.judged_tools", broken)
    assert "ZeroDivisionError: a bug in two lines" in refused(run.shell(host, "ls"))
    (noted,) = read_failures(run.env)
    assert (noted["host"], noted["observed"]) == (host, False)
    monkeypatch.setattr("rebuno.hosts.run.run_hook", broken)
    ran = run.shell(host, "ls")
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize("host", HOSTS)
def test_observing_a_failure_is_noted_and_stops_nothing(host: str, run: Run) -> None:
    """The doctor tells of it."""
    assert run.hook(host, b"{oops", "--observe").code == 0
    Path(run.bundle).write_text("bundle {\n")
    ran = run.shell(host, "ls", "--observe")
    assert (ran.code, ran.out) == (0, ALLOWED[host] if host == OPENCODE else "")
    assert [one["observed"] for one in read_failures(run.env)] == [True, True]


def test_an_unknown_host_is_a_refusal(run: Run) -> None:
    """A misspelt name in the host's settings lets nothing through."""
    assert rebuno("hook", "run", "claude", within=run.folder).code == 2


@pytest.mark.parametrize("wait", ["5x", "soon", "-1s"])
def test_an_option_that_is_misspelt_is_a_refusal(wait: str, run: Run) -> None:
    """It names the option."""
    ran = run.shell(CODEX, "ls", "--wait", wait)
    assert ran.code == 2
    assert "--wait" in ran.err


def _started(run: Run, host: str, *options: str, **env: str) -> "subprocess.Popen[bytes]":
    code = "import sys; from rebuno_cli.main import main; sys.exit(main())"
    path = os.pathsep.join(str(Path(__file__).resolve().parents[2] / below) for below in (".", "cli"))
    given = {**os.environ, "PYTHONPATH": path, **environ_of(host), **run.env, **env}
    argv = [sys.executable, "-c", code, "hook", "run", host, "--policy", run.bundle, *options]
    return subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=given, cwd=run.folder
    )


def test_a_hook_whose_host_sends_nothing_ends_by_itself(run: Run) -> None:
    """Before the host would let the call run."""
    hook = _started(run, CODEX, "--timeout", "2s")
    assert hook.stdin is not None
    assert hook.wait(60) == 2
    out, err = hook.communicate()
    assert out == b""
    assert b"there was no answer within" in err


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_hook_that_is_killed_says_nothing_that_lets_a_call_run(kind: signal.Signals, run: Run) -> None:
    """Its exit code is 2 or a signal's, and the next hook takes the session over."""
    assert run.prompt(CODEX).code == 0
    hook = _started(run, CODEX, "--wait", "50s")
    assert hook.stdin is not None
    hook.stdin.write(json.dumps(shell_event(CODEX, "make")).encode())
    hook.stdin.close()
    with sqlite3.connect(run.store) as store:
        while not store.execute("SELECT count(*) FROM approvals").fetchone()[0]:
            assert hook.poll() is None
    hook.send_signal(kind)
    assert hook.wait(60) in (2, -kind)
    assert hook.stdout is not None
    assert hook.stdout.read() == b""
    hook.stdout.close()
    assert hook.stderr is not None
    hook.stderr.close()
    assert run.shell(CODEX, "ls", id="t2").code == 0


@pytest.mark.parametrize("host", HOSTS)
def test_hooks_that_run_at_once_share_the_session(host: str, run: Run) -> None:
    """Each call of a turn starts a hook of its own; one waits for the other."""
    assert run.prompt(host).code == 0
    hooks = []
    for number, command in enumerate(["ls", "rm -rf /", "ls"]):
        hooks.append(_started(run, host))
        given = hooks[-1].stdin
        assert given is not None
        given.write(json.dumps(shell_event(host, command, f"t{number}")).encode())
        given.close()
        hooks[-1].stdin = None
    answers = [Ran(code=0, out=out.decode(), err=err.decode()) for out, err in (hook.communicate() for hook in hooks)]
    assert [(one.out, one.err) for one in answers] == [
        (ALLOWED[host], ""), (DENIED[host].out, DENIED[host].err), (ALLOWED[host], ""),
    ]  # fmt: skip
    assert [hook.returncode for hook in hooks] == [0, DENIED[host].code, 0]


def test_an_attended_question_has_its_message_only(run: Run) -> None:
    """The user sees the rule's own words."""
    assert run.prompt(CLAUDE).code == 0
    said = json.loads(run.shell(CLAUDE, "make", **ATTENDED).out)["hookSpecificOutput"]
    assert (said["permissionDecision"], said["permissionDecisionReason"]) == ("ask", "Should this run?")


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        ({"stdout": "cut in a \ud83d"}, {"stdout": "cut in a \ufffd"}),
        ({"\udc00": "x"}, {"\ufffd": "x"}),
        ({"n": float("nan")}, {"n": "NaN"}),
    ],
)
def test_an_outcome_is_recorded_whatever_the_result_holds(run: Run, result: Any, kept: Any) -> None:
    """A host cuts texts in the middle of a character. What ran has run."""
    assert run.shell(CLAUDE, "ls").code == 0
    ended = shell_event(CLAUDE, "ls") | {"hook_event_name": "PostToolUse", "tool_response": result}
    assert run.hook(CLAUDE, ended, "--policy", run.bundle) == Ran(0, "", "")
    assert _results(run) == [kept]


@pytest.mark.parametrize("result", ["x" * (12 << 20), ["x"] * (3 << 20)])
def test_an_outcome_is_recorded_however_long_the_result_is(run: Run, result: Any) -> None:
    """An event may be longer than what is kept of it."""
    assert run.shell(CLAUDE, "ls").code == 0
    ended = shell_event(CLAUDE, "ls") | {"hook_event_name": "PostToolUse", "tool_response": result}
    assert run.hook(CLAUDE, ended, "--policy", run.bundle) == Ran(0, "", "")
    assert "shortened" in str(_results(run)[0])


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("wrong", ['"\\ud800"', "NaN", "[" * 200 + "]" * 200])
def test_a_call_is_read_to_the_letter(run: Run, host: str, wrong: str) -> None:
    """Only what has run is recorded as well as it can be: what is about to run is judged as it is or not at all."""
    event = json.dumps(shell_event(host, "ls"))[:-1] + f', "output": {wrong}, "tool_response": {wrong}}}'
    assert "the event cannot be read" in refused(run.hook(host, event.encode(), "--policy", run.bundle))


def _results(run: Run) -> list[Any]:
    ran = rebuno("exec", "ls", "--db", str(run.store), "--json", env=run.env)
    one = json.loads(ran.out)["executions"][0]["id"]
    steps = json.loads(rebuno("exec", "trace", one, "--db", str(run.store), "--json", env=run.env).out)["steps"]
    return [step["result"] for step in steps]


@pytest.mark.parametrize("stdout", ["closed", os.devnull, "/dev/full"])
@pytest.mark.parametrize("stderr", ["open", "closed"])
def test_an_answer_that_nobody_hears_is_a_refusal(run: Run, stdout: str, stderr: str) -> None:
    """Exit code 0 without an answer, and any other code than 2, lets the call run."""
    program = "import sys; from rebuno_cli.main import main; sys.exit(main())"
    streams = f"{'>&-' if stdout == 'closed' else f'>{stdout}'} {'2>&-' if stderr == 'closed' else ''}"
    line = f'exec "$@" {streams}'
    command = [sys.executable, "-P", "-c", program, "hook", "run", CLAUDE, "--policy", run.bundle]
    ended = subprocess.run(
        ["/bin/sh", "-c", line, "sh", *command],
        input=json.dumps(shell_event(CLAUDE, "rm -rf /")).encode(),
        capture_output=True,
        env={"PATH": os.environ["PATH"], **run.env},
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, b"")
