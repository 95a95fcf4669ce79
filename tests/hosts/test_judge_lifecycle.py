"""One judge a user: when it begins, when it ends, and what is not taken for one."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rebuno.hosts.judge.server import is_own
from rebuno_cli import hook_client
from tests.hosts.judges import PATIENCE, ROOT, JudgeHome, raw, told, until


@pytest.fixture
def home(tmp_path: Path) -> JudgeHome:
    """A home without a judge."""
    return JudgeHome(tmp_path)


def second(home: JudgeHome, *, idle: str = "600") -> "subprocess.Popen[str]":
    """Another judge of the same folder."""
    command = [sys.executable, "-m", "tests.hosts.judge_double", str(home.judge), "another", idle]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def test_a_judge_that_nobody_asks_ends(home: JudgeHome) -> None:
    """It takes its socket away, and ends well."""
    with home.double(idle=0.2) as judge:
        assert judge.wait(PATIENCE) == 0
        assert not home.socket.exists()


def test_a_call_keeps_the_judge(home: JudgeHome) -> None:
    """It is not idle while it works something out, however long that takes."""
    with home.double(idle=0.2):
        assert home.hook({"sleep": 1.5, "out": "done"}).stdout == "done"


def test_a_judge_of_another_installation_makes_room(home: JudgeHome) -> None:
    """It answers none of our calls, and ends; a call of its own that waits is sent on."""
    ours = b"another\x0030\x00/\x001\x00claude-code"
    event = b'{"sleep": 600, "path": "%s"}' % os.fsencode(home.folder / "call")
    with home.double(identity="another") as judge, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting:
        waiting.connect(str(home.socket))
        waiting.sendall(b"%s%08x%08x%s%s" % (hook_client.MAGIC, len(ours), len(event), ours, event))
        until((home.folder / "call.begun").exists)
        theirs = ours.replace(b"another", hook_client.identity().encode())
        assert raw(home, b"%s%08x%08x%s{}" % (hook_client.MAGIC, len(theirs), 2, theirs)) == b"G"
        waiting.settimeout(PATIENCE)
        assert waiting.recv(100) == b"G"
        assert judge.wait(PATIENCE) == 0


def test_a_second_judge_waits_until_the_first_has_gone(home: JudgeHome) -> None:
    """There are never two at once; the next one takes the place as it is."""
    with home.double() as first, second(home) as next_one:
        assert told(home.hook({}))["pid"] == first.pid
        first.send_signal(signal.SIGTERM)
        assert next_one.stdout is not None
        assert next_one.stdout.read(5) == "ready"
        assert first.wait(PATIENCE) == 0
        assert home.judge_pid() == next_one.pid
        next_one.kill()


def test_a_socket_that_was_left_behind_is_replaced(home: JudgeHome) -> None:
    """A judge that was killed has left one. The next judge listens in its place."""
    with home.double() as judge:
        judge.kill()
        judge.wait()
        assert home.socket.exists()
        with home.double() as next_one:
            assert told(home.hook({}))["pid"] == next_one.pid


def test_a_judge_whose_socket_is_gone_ends(home: JudgeHome) -> None:
    """Nobody could find it any more: the folder is one for the time of a login, perhaps."""
    with home.double(idle=1.0) as judge:
        home.socket.unlink()
        assert judge.wait(PATIENCE) == 0


def test_a_judge_leaves_the_socket_of_another_one(home: JudgeHome) -> None:
    """What has its name by then is not its own."""
    with home.double() as judge:
        home.socket.unlink()
        home.socket.write_text("ours", encoding="utf-8")
        judge.send_signal(signal.SIGTERM)
        assert judge.wait(PATIENCE) == 0
    assert home.socket.read_text(encoding="utf-8") == "ours"


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_others_may_enter_has_no_judge(home: JudgeHome, mode: int) -> None:
    """Somebody else's socket could stand in it."""
    home.judge.mkdir()
    home.judge.chmod(mode)
    with second(home) as judge:
        _, said = judge.communicate(timeout=PATIENCE)
    assert judge.returncode == 1
    assert "is not yours alone; it needs the mode 0700" in said


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("judge.sock", "file"),
        *((name, what) for name in ("judge.sock", "judge.lock") for what in ("folder", "link", "pipe")),
    ],
)
def test_what_has_the_name_of_a_file_of_the_judge_stays(home: JudgeHome, name: str, what: str) -> None:
    """It is not removed, not followed and not written to. A plain file is what a lock is."""
    home.judge.mkdir(mode=0o700)
    place = home.judge / name
    elsewhere = home.folder / "elsewhere"
    match what:
        case "file":
            place.write_text("mine", encoding="utf-8")
        case "folder":
            place.mkdir()
        case "link":
            place.symlink_to(elsewhere)
        case _:
            os.mkfifo(place)
    before = place.lstat()
    with second(home) as judge:
        _, said = judge.communicate(timeout=PATIENCE)
    assert judge.returncode == 1
    assert f"{place} " in said
    assert (place.lstat().st_ino, place.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert not elsewhere.exists()


def test_a_process_of_another_user_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should one ever get to the socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_own(ours)
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert not is_own(ours)


def test_a_long_path_has_a_judge_too(tmp_path: Path) -> None:
    """The name of a socket may have a hundred characters; folders have longer ones."""
    deep = tmp_path / ("d" * 200)
    deep.mkdir()
    home = JudgeHome(deep)
    with home.double() as judge:
        assert told(home.hook({}))["pid"] == judge.pid
