"""A home for judges, the client in front of it, and judges whose answers a test chooses."""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rebuno_cli import hook_client

ROOT: Final = Path(__file__).parents[2]
CLIENT: Final = (sys.executable, "-P", "-c", "from rebuno_cli.hook_main import main; main()")
# In seconds: longer than anything takes that ends at all.
PATIENCE: Final = 60.0


class JudgeHome:
    """A user's folders, with nothing in them, and the environment of a host in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
        for name, below in {"XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}.items():
            (folder / below).mkdir(mode=0o700)
            self.environ[name] = str(folder / below)
        (folder / "home").mkdir()
        (folder / "project").mkdir()
        self.project = folder / "project"
        self.judge = folder / "run" / "rebuno"
        self.socket = self.judge / hook_client.SOCKET

    def hook(self, event: object, *options: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        """What `rebuno-hook claude-code` makes of an event: a text as it is, anything else as JSON."""
        with self.hooking(event, *options, **environ) as running:
            out, said = running.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(running.args, running.returncode, out, said)

    @contextmanager
    def hooking(self, event: object, *options: str, **environ: str) -> Iterator["subprocess.Popen[str]"]:
        """The same while it runs. It is killed at the end."""
        text = event if isinstance(event, str) else json.dumps(event)
        # A file, so that the client finds the end of the event though nobody writes to it any more.
        given = self.folder / f"event-{time.monotonic_ns()}"
        given.write_text(text, encoding="utf-8")
        command = [*CLIENT, "claude-code", *options]
        with (
            given.open("rb") as stdin,
            subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=self.environ | environ,
                cwd=self.project,
            ) as running,
        ):
            try:
                yield running
            finally:
                running.kill()

    @contextmanager
    def double(self, *, identity: str = "", idle: float = 600.0) -> Iterator["subprocess.Popen[str]"]:
        """A judge whose answers the events choose, listening. It is killed at the end."""
        self.judge.mkdir(mode=0o700, exist_ok=True)
        named = identity or hook_client.identity()
        command = [sys.executable, "-m", "tests.hosts.judge_double", str(self.judge), named, str(idle)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
            try:
                assert running.stdout is not None
                assert running.stdout.read(5) == "ready"
                yield running
            finally:
                running.kill()

    def judge_pid(self) -> int:
        """The process that listens on the socket; 0 where none does."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            try:
                asking.connect(str(self.socket))
            except OSError:
                return 0
            found = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", found)[0])

    def end_judge(self) -> None:
        """Ends the judge that a client has started, if one has, and waits until it is gone."""
        if pid := self.judge_pid():
            os.kill(pid, signal.SIGKILL)
            until(lambda: not is_alive(pid))


def until(holds: Callable[[], Any]) -> None:
    """Waits until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs. One that has ended and that nobody has asked about does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def raw(home: JudgeHome, data: bytes, *, close: bool = False) -> bytes:
    """What the judge answers to these bytes, until it closes; with `close` nothing more comes from this side."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(PATIENCE)
        asking.connect(str(home.socket))
        try:
            asking.sendall(data)
            if close:
                asking.shutdown(socket.SHUT_WR)
            found = b""
            while piece := asking.recv(1 << 16):
                found += piece
        except (BrokenPipeError, ConnectionResetError):
            return b""
    return found


def told(answer: "subprocess.CompletedProcess[str]") -> Mapping[str, Any]:
    """What the double says of the request. The call was let through."""
    assert (answer.returncode, answer.stderr) == (0, "")
    found: Mapping[str, Any] = json.loads(answer.stdout)
    return found


def readable(file: int, seconds: float) -> bool:
    """Whether something comes from a file in that time."""
    return bool(select.select([file], [], [], seconds)[0])


# ---------------------------------------------------------------- events that the real judge answers


def shell(command: str, call: str, *, name: str = "PreToolUse", session: str = "s", **more: Any) -> dict[str, Any]:
    """An event of Claude Code about one command."""
    return {
        "session_id": session,
        "cwd": "/",
        "permission_mode": "default",
        "hook_event_name": name,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": f"{session}-{call}",
        **more,
    }


def write_settings(home: JudgeHome, **settings: Any) -> None:
    """The settings of Claude Code's hook: those that are there with these in their place."""
    file = home.folder / "config" / "rebuno" / "hooks" / "claude-code.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(file.read_text("utf-8")) if file.exists() else {"version": 1}
    file.touch(mode=0o600)
    file.write_text(json.dumps(before | settings), encoding="utf-8")


def decision(answer: "subprocess.CompletedProcess[str]") -> str:
    """`allow`, `deny`, `ask` or `defer`. The hook has ended well and said nothing besides."""
    assert (answer.returncode, answer.stderr) == (0, "")
    return str(json.loads(answer.stdout)["hookSpecificOutput"]["permissionDecision"])
