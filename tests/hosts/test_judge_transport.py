"""The client asks the judge and says what it answers; whatever goes wrong between them, the call does not run."""

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rebuno_cli import hook_client, hook_main
from tests.hosts.judges import CLIENT, JudgeHome, is_alive, raw, told, until


@pytest.fixture
def home(tmp_path: Path) -> JudgeHome:
    """A home without a judge."""
    return JudgeHome(tmp_path)


def request(event: bytes = b"{}", *, identity: str = "") -> bytes:
    """A request as the client writes it."""
    head = b"\0".join([(identity or hook_client.identity()).encode(), b"30", b"/", b"1", b"claude-code", b"HOME=/"])
    return b"%s%08x%08x%s%s" % (hook_client.MAGIC, len(head), len(event), head, event)


# ---------------------------------------------------------------- what is carried


def test_the_client_says_what_the_judge_answers(home: JudgeHome) -> None:
    """Both streams and the exit code arrive as they are."""
    with home.double():
        refused = home.hook({"out": "", "said": "not ä\nthis\n", "code": 2})
        allowed = home.hook({"out": '{"a": "é\\u0000"}\n'})
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", "not ä\nthis\n")
    assert (allowed.returncode, allowed.stdout, allowed.stderr) == (0, '{"a": "é\\u0000"}\n', "")


def test_the_judge_hears_of_the_host(home: JudgeHome) -> None:
    """Its name with the options, the folder it works in, and its variables without the ones that hold a secret."""
    secrets = {"CLAUDE_CODE_OAUTH_TOKEN": "x", "GEMINI_API_KEY": "x", "PGPASSWORD": "x", "ANTHROPIC_API_KEY": "x"}
    with home.double():
        heard = told(home.hook({}, "--wait", "5", CLAUDE_PROJECT_DIR="/a b=c\nd", OTHER="x", **secrets))
    assert heard["argv"] == ["claude-code", "--wait", "5"]
    assert heard["cwd"] == str(home.project)
    assert heard["environ"] == home.environ | {"CLAUDE_PROJECT_DIR": "/a b=c\nd"}


def test_a_large_event_and_a_large_answer_arrive(home: JudgeHome) -> None:
    """Much more than a socket holds at once, both ways."""
    text = "x" * 3_000_000
    with home.double():
        answer = home.hook({"out": text})
    assert (answer.returncode, answer.stdout == text) == (0, True)


def test_fifty_calls_at_once_get_their_own_answers(home: JudgeHome) -> None:
    """No answer goes to another call, and all are from one judge."""
    with home.double() as judge, ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda n: home.hook({"out": json.dumps({"n": n}), "sleep": 0.2}), range(50)))
        assert judge.poll() is None
    assert [(answer.returncode, json.loads(answer.stdout)["n"]) for answer in answers] == [(0, n) for n in range(50)]


def test_a_slow_call_does_not_hold_up_another(home: JudgeHome) -> None:
    """The second is answered while the first still waits."""
    with home.double(), home.hooking({"sleep": 600, "path": str(home.folder / "slow")}) as slow:
        until((home.folder / "slow.begun").exists)
        assert home.hook({"out": "quick"}).stdout == "quick"
        assert slow.poll() is None


# ---------------------------------------------------------------- what goes wrong


def test_a_judge_that_fails_stops_the_call(home: JudgeHome) -> None:
    """One sentence says why, whatever the judge's error says."""
    with home.double():
        answer = home.hook({"raises": "an\nodd thing"})
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "rebuno: the call must not run: the event could not be judged: RuntimeError: an odd thing\n"


def test_a_judge_that_is_late_stops_the_call(home: JudgeHome) -> None:
    """It says so itself, before the host gives the hook up."""
    with home.double():
        answer = home.hook({"sleep": 600}, "--timeout", "3.5s")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "rebuno: the call must not run: there was no answer within 1.6 seconds\n"


def test_a_judge_that_hangs_stops_the_call(home: JudgeHome) -> None:
    """A stopped process answers nobody; the client gives up before the host would let the call run."""
    with home.double() as judge:
        os.kill(judge.pid, signal.SIGSTOP)
        answer = home.hook({}, "--timeout=2")
        os.kill(judge.pid, signal.SIGCONT)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("rebuno: the call must not run: the judge did not answer in time")


def test_an_answer_that_nobody_waits_for_is_not_worked_out(home: JudgeHome) -> None:
    """Where the host kills the hook, the judge stops: nothing may be let through for a call that is gone."""
    with home.double(), home.hooking({"sleep": 600, "path": str(home.folder / "call")}) as running:
        until((home.folder / "call.begun").exists)
        running.kill()
        until((home.folder / "call.ended").exists)


@pytest.mark.parametrize("code", [1, 3, -9, 256])
def test_a_judge_cannot_say_another_exit_code(home: JudgeHome, code: int) -> None:
    """With 1 most hosts let the call run."""
    with home.double():
        answer = home.hook({"out": "let it run", "code": code})
    assert (answer.returncode, answer.stdout) == (2, "")


def test_where_nobody_reads_the_answer_the_call_does_not_run(home: JudgeHome) -> None:
    """The exit code says so."""
    ours, theirs = os.pipe()
    os.close(ours)
    with home.double(), subprocess.Popen([*CLIENT, "claude-code"], stdin=subprocess.PIPE, stdout=theirs,
                                         stderr=subprocess.PIPE, env=home.environ) as running:  # fmt: skip
        os.close(theirs)
        running.communicate(b'{"out": "allow"}')
    assert running.returncode == 2


@pytest.mark.parametrize("options", [[], ["--help"], ["claude-code", "--timeout", "soon"]])
def test_a_wrong_command_line_stops_the_call(home: JudgeHome, options: list[str]) -> None:
    """With one sentence, and no judge is started."""
    answer = subprocess.run([*CLIENT, *options], input=b"{}", capture_output=True, env=home.environ, check=False)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr.startswith(b"rebuno: the call must not run: ")
    assert answer.stderr.count(b"\n") == 1
    assert not home.socket.exists()


def test_the_version_is_no_verdict(home: JudgeHome) -> None:
    """It is told with the exit code that stops a call, and is no failure that `rebuno hook doctor` tells of."""
    answer = subprocess.run([*CLIENT, "--version"], input=b"", capture_output=True, env=home.environ, check=False)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr == f"rebuno-hook: version {hook_client.VERSION}\n".encode()
    assert not list(home.folder.rglob("hook-failures.jsonl"))


# ---------------------------------------------------------------- who else talks to the judge


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        bytes(range(256)) * 40,
        hook_client.MAGIC + b"zzzzzzzz00000000",
        hook_client.MAGIC + b"ffffffffffffffff",
        hook_client.MAGIC + b"-0000001-0000001",
        hook_client.MAGIC + b"0000000100000000x",
        hook_client.MAGIC + b"0000000c00000000a\x00b\x00c\x00d\x00e\x00f\x00",
        hook_client.MAGIC + b"0000000a00000000a\x001\x00/\x009\x00b\x00",
    ],
)
def test_garbage_gets_no_answer_and_does_no_harm(home: JudgeHome, data: bytes) -> None:
    """The next call is answered by the same judge."""
    with home.double() as judge:
        assert raw(home, data, close=True) == b""
        assert told(home.hook({}))["pid"] == judge.pid


def test_half_a_message_gets_no_answer_and_holds_up_nobody(home: JudgeHome) -> None:
    """Neither while its client still is there nor after it has gone."""
    whole = request()
    with home.double() as judge, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as half:
        half.connect(str(home.socket))
        half.sendall(whole[:-1])
        assert told(home.hook({}))["pid"] == judge.pid
        half.shutdown(socket.SHUT_WR)
        assert half.recv(100) == b""
        assert raw(home, whole).startswith(hook_client.ANSWER + b"0")


@pytest.mark.parametrize("said", [b"", b"A1" + b"0" * 16, b"B0" + b"0" * 16, b"A0zzzzzzzz00000000", b"A0" + b"f" * 16,
                                  b"A00000000500000000abc", b"A"])  # fmt: skip
def test_what_is_no_answer_lets_nothing_through(home: JudgeHome, said: bytes) -> None:
    """The client takes it as no judge's word. Here no other judge can be had either, as the place of its lock is
    taken."""
    home.judge.mkdir(mode=0o700)
    (home.judge / "start.lock").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as posing:
        posing.bind(str(home.socket))
        posing.listen()
        with home.hooking("{}", "--db", "/nowhere/at/all.db") as running:
            peer, _ = posing.accept()
            with peer:
                peer.recv(1 << 16)
                peer.sendall(said)
            out, sentence = running.communicate()
    assert (running.returncode, out) == (2, "")
    assert sentence.count("\n") == 1


# ---------------------------------------------------------------- how little it does


def test_the_client_imports_next_to_nothing(home: JudgeHome) -> None:
    """Each module that Python has not read anyway costs a part of a start."""
    program = (
        "import sys; before = set(sys.modules); import rebuno_cli.hook_main; print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["_socket", "rebuno_cli", "rebuno_cli.hook_client", "rebuno_cli.hook_main"]


def test_both_ends_agree() -> None:
    """The client cannot import what it has in common with the judge, nor the version."""
    import rebuno
    from rebuno.hosts.judge import frames, place
    from rebuno.hosts.settings import TIMEOUT

    assert (hook_client.MAGIC, hook_client.LARGEST) == (frames.MAGIC, frames.LARGEST)
    assert (rebuno.__version__, place.SOCKET) == (hook_client.VERSION, hook_client.SOCKET)
    assert hook_main.TIMEOUT == TIMEOUT


def test_a_double_ends_with_its_test(home: JudgeHome) -> None:
    """No judge of a test stays."""
    with home.double() as judge:
        assert is_alive(judge.pid)
    assert not is_alive(judge.pid)
