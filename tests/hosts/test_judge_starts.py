"""The client starts a judge where there is none, and judges by itself where none is to be had."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rebuno_cli import hook_client
from tests.hosts.judges import CLIENT, PATIENCE, JudgeHome, decision, is_alive, shell, until, write_settings

BUNDLE = """bundle small
default deny because "not ls"

rule reads {
  allow tool "shell" when args.command == "ls"
}
rule asks {
  require approval for tool "shell" when args.command == "make"
  message "Build it?"
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[JudgeHome]:
    """A home without a judge, and with settings of the host. A judge that was started ends with the test."""
    made = JudgeHome(tmp_path)
    (tmp_path / "small.rbp").write_text(BUNDLE, encoding="utf-8")
    write_settings(made, policy=[str(tmp_path / "small.rbp")])
    yield made
    made.end_judge()


def in_own_process(home: JudgeHome, event: dict[str, Any], **environ: str) -> "subprocess.CompletedProcess[str]":
    """What `rebuno hook run` says of an event."""
    program = "import sys; from rebuno_cli.main import main; sys.exit(main())"
    command = [sys.executable, "-P", "-c", program, "hook", "run", "claude-code"]
    return subprocess.run(
        command, input=json.dumps(event), capture_output=True, text=True, env=home.environ | environ, cwd=home.project,
        check=False,
    )  # fmt: skip


# ---------------------------------------------------------------- a judge is started


def test_the_first_call_starts_a_judge_that_the_next_one_asks(home: JudgeHome) -> None:
    """Both are judged by the policy of the settings."""
    assert decision(home.hook(shell("ls", "one"))) == "allow"
    judge = home.judge_pid()
    assert judge
    assert decision(home.hook(shell("rm x", "two"))) == "deny"
    assert home.judge_pid() == judge


def test_of_first_calls_at_once_one_starts_the_judge(home: JudgeHome) -> None:
    """All get their answers from it, and no second one was ever there."""
    calls = [home.hooking(shell("ls" if n % 2 else "rm x", f"call-{n}")) for n in range(8)]
    running = [call.__enter__() for call in calls]
    answers = [one.communicate() for one in running]
    assert [json.loads(out)["hookSpecificOutput"]["permissionDecision"] for out, _ in answers] == ["deny", "allow"] * 4
    assert [said for _, said in answers] == [""] * 8
    assert [one.returncode for one in running] == [0] * 8
    for call in calls:
        call.__exit__(None, None, None)
    judge = home.judge_pid()
    assert judge
    assert judges(home) == [judge]


def judges(home: JudgeHome) -> list[int]:
    """The processes that were started as judges of this home."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"rebuno.hosts.judge" in words and os.fsencode(home.judge) in words:
                found.append(int(entry.name))
    return found


def test_the_judge_says_what_the_hook_says_in_a_process_of_its_own(home: JudgeHome) -> None:
    """For each event it is the same, letter by letter."""
    other = home.folder / "other"
    (other / "state").mkdir(parents=True)
    events = [
        shell("ls", "a"),
        shell("rm x", "b"),
        shell("ls", "a", name="PostToolUse", tool_response={"stdout": "x"}),
        {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(home.project), "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(home.project), "prompt": "Build it."},
        {"hook_event_name": "PreToolUse"},
        {"hook_event_name": "SessionEnd", "session_id": "s", "cwd": str(home.project), "reason": "exit"},
    ]
    for event in events:
        alone = in_own_process(home, event, XDG_STATE_HOME=str(other / "state"))
        judged = home.hook(event)
        assert (judged.returncode, judged.stdout, judged.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_the_judge_outlives_its_host_and_keeps_none_of_its_keys(home: JudgeHome) -> None:
    """It is in a session of its own, and has the environment of no host."""
    home.hook(shell("ls", "a"), ANTHROPIC_API_KEY="sk-secret", CLAUDE_CODE_OAUTH_TOKEN="secret", PYTHONPATH="/nowhere")
    judge = home.judge_pid()
    environ = Path(f"/proc/{judge}/environ").read_bytes()
    assert os.getsid(judge) == judge
    assert b"secret" not in environ
    assert b"PYTHONPATH" not in environ


def test_the_judge_holds_nothing_that_the_host_waits_for(home: JudgeHome) -> None:
    """A shell that leaves a pipe open for the hook sees its end when the hook ends."""
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    command = [*CLIENT, "claude-code"]
    event = json.dumps(shell("ls", "a"))
    subprocess.run(command, input=event, text=True, env=home.environ, close_fds=False, check=True, capture_output=True)
    os.close(theirs)
    assert home.judge_pid()
    assert select.select([ours], [], [], PATIENCE)[0]
    assert os.read(ours, 1) == b""
    os.close(ours)


def test_an_idle_judge_ends_and_the_next_call_starts_another(home: JudgeHome) -> None:
    """The session goes on where it stood."""
    assert decision(home.hook(shell("ls", "a"), REBUNO_JUDGE_IDLE="0.2")) == "allow"
    until(lambda: not home.socket.exists())
    assert decision(home.hook(shell("ls", "b"))) == "allow"
    assert home.judge_pid()


def test_a_judge_of_another_version_is_replaced(home: JudgeHome) -> None:
    """The call that finds it is answered by the new one."""
    with home.double(identity="0.0.1 /elsewhere") as old:
        assert decision(home.hook(shell("rm x", "a"))) == "deny"
        assert old.wait() == 0
        assert home.judge_pid() not in (0, old.pid)


# ---------------------------------------------------------------- a judge goes


@pytest.mark.parametrize("command", ["ls", "rm x"])
def test_a_judge_that_is_killed_in_the_middle_of_a_call_is_replaced(home: JudgeHome, command: str) -> None:
    """The call gets the answer of the policy, from another judge."""
    event = shell(command, "a") | {"sleep": 600, "path": str(home.folder / "call")}
    with home.double() as judge, home.hooking(event) as running:
        until((home.folder / "call.begun").exists)
        os.kill(judge.pid, signal.SIGKILL)
        out, said = running.communicate()
    answer = subprocess.CompletedProcess(running.args, running.returncode, out, said)
    assert decision(answer) == ("allow" if command == "ls" else "deny")
    assert home.judge_pid() not in (0, judge.pid)


def test_a_judge_that_is_killed_lets_nothing_through_where_no_other_can_be_had(home: JudgeHome) -> None:
    """The client judges in a process of its own, and where that is broken too, the call does not run."""
    event = shell("rm x", "a") | {"sleep": 600, "path": str(home.folder / "call")}
    with home.double() as judge, home.hooking(event) as running:
        until((home.folder / "call.begun").exists)
        (home.judge / "start.lock").mkdir()
        os.kill(judge.pid, signal.SIGKILL)
        out, said = running.communicate()
        assert decision(subprocess.CompletedProcess(running.args, running.returncode, out, said)) == "deny"
    (home.folder / "small.rbp").write_text("bundle broken {", encoding="utf-8")
    answer = home.hook(shell("ls", "b"))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("rebuno: the call must not run: the policy has ")


def test_a_stopped_judge_lets_nothing_through_and_observing_stops_nothing(home: JudgeHome) -> None:
    """Where the policy is only observed the host goes on, and the failure is on the list that doctor shows."""
    home.hook(shell("ls", "a"))
    judge = home.judge_pid()
    os.kill(judge, signal.SIGSTOP)
    refused = home.hook(shell("ls", "b"), "--timeout", "3")
    observed = home.hook(shell("ls", "c"), "--timeout", "3", "--observe")
    write_settings(home, observe=True)
    settled = home.hook(shell("ls", "d"), "--timeout", "3")
    os.kill(judge, signal.SIGCONT)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (observed.returncode, observed.stdout) == (settled.returncode, settled.stdout) == (0, "")
    failures = (home.folder / "state" / "rebuno" / "hook-failures.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["observed"] for line in failures] == [False, True, True]


# ---------------------------------------------------------------- what is not taken for the judge's


def test_a_socket_that_a_killed_judge_left_is_no_hindrance(home: JudgeHome) -> None:
    """The next call starts a judge in its place."""
    home.hook(shell("ls", "a"))
    home.end_judge()
    assert home.socket.exists()
    assert decision(home.hook(shell("ls", "b"))) == "allow"
    assert home.judge_pid()


@pytest.mark.parametrize("command", ["ls", "rm x"])
@pytest.mark.parametrize("what", ["file", "folder", "mode", "link", "lock"])
def test_where_the_place_of_the_judge_is_taken_the_call_is_judged_without_one(
    home: JudgeHome, what: str, command: str
) -> None:
    """The answer is the policy's, what stands there stays, and no judge is left behind."""
    elsewhere = home.folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    match what:
        case "file":
            home.judge.mkdir(mode=0o700)
            home.socket.write_text("mine", encoding="utf-8")
        case "folder":
            home.judge.mkdir(mode=0o700)
            home.socket.mkdir()
        case "mode":
            home.judge.mkdir()
            home.judge.chmod(0o755)
        case "link":
            home.judge.symlink_to(elsewhere)
        case _:
            home.judge.mkdir(mode=0o700)
            (home.judge / "start.lock").symlink_to(elsewhere / "lock")
    before = home.judge.lstat().st_mode
    assert decision(home.hook(shell(command, "a"))) == ("allow" if command == "ls" else "deny")
    assert home.judge.lstat().st_mode == before
    assert list(elsewhere.iterdir()) == []
    assert what not in ("file", "folder") or home.socket.lstat()
    assert judges(home) == []


def test_a_judge_whose_folder_others_may_enter_lets_go_of_its_sessions(home: JudgeHome) -> None:
    """No client comes to it any more; a call that is judged without one gets its session, and its answer."""
    assert decision(home.hook(shell("ls", "a"), REBUNO_JUDGE_IDLE="2")) == "allow"
    home.judge.chmod(0o755)
    assert decision(home.hook(shell("ls", "b"))) == "allow"
    until(lambda: not judges(home))


def test_without_any_folder_the_call_is_judged_all_the_same(home: JudgeHome) -> None:
    """No judge can be had there; the policy is named on the command line."""
    options = ["--policy", str(home.folder / "small.rbp"), "--db", str(home.folder / "here.db")]
    env = {"PATH": home.environ["PATH"]}
    answers = [
        subprocess.run(
            [*CLIENT, "claude-code", *options], input=json.dumps(shell(command, command)), capture_output=True,
            text=True, env=env, cwd=home.project, check=False,
        )
        for command in ("ls", "rm x")
    ]  # fmt: skip
    assert [decision(answer) for answer in answers] == ["allow", "deny"]


def test_a_judge_that_cannot_begin_leaves_nothing(home: JudgeHome) -> None:
    """Its process has ended when the client has the answer of its own process."""
    home.judge.mkdir(mode=0o700)
    (home.judge / "judge.lock").mkdir()
    assert decision(home.hook(shell("rm x", "a"))) == "deny"
    until(lambda: not any(is_alive(pid) for pid in judges(home)))
    assert not home.socket.exists()


def test_the_folder_of_the_state_has_the_judge_where_there_is_none_for_the_login(home: JudgeHome) -> None:
    """Its folder is made so that only the user may enter it."""
    del home.environ["XDG_RUNTIME_DIR"]
    assert decision(home.hook(shell("ls", "a"))) == "allow"
    home.judge = home.folder / "state" / "rebuno" / "judge"
    home.socket = home.judge / hook_client.SOCKET
    assert home.judge_pid()
    assert home.judge.stat().st_mode & 0o777 == 0o700
