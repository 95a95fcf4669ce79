"""Hooks over HTTP: only a host with the token of the settings gets an answer."""

import http.client
import json
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.hosts.judges import PATIENCE, JudgeHome, decision, shell, until, write_settings

BUNDLE: Final = """bundle small
default deny because "not ls"

rule reads {
  allow tool "shell" when args.command == "ls"
}
"""
TOKEN: Final = "a-token-of-the-settings"
BEGUN: Final = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/", "source": "startup"}


class Web:
    """The address of a judge that a session has started."""

    def __init__(self, home: JudgeHome) -> None:
        self.home = home
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        (home.folder / "small.rbp").write_text(BUNDLE, encoding="utf-8")
        write_settings(home, policy=[str(home.folder / "small.rbp")], port=self.port, token=TOKEN)

    def post(self, event: object, **headers: str) -> tuple[int, str]:
        """The status and the body for an event: bytes as they are, anything else as JSON. A header replaces the one
        of its name that is sent otherwise, with `-` for `_`; an empty one is left out."""
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        sent = {"authorization": f"Bearer {TOKEN}", "host": f"127.0.0.1:{self.port}", "content-length": str(len(body))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
        return self.raw(f"POST /v1/hooks/claude-code HTTP/1.1\r\n{lines}\r\n".encode() + body)

    def raw(self, data: bytes) -> tuple[int, str]:
        """The status and the body for these bytes; 0 where the connection ends without an answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as asking:
            with suppress(BrokenPipeError, ConnectionResetError):  # it has heard enough
                asking.sendall(data)
            answer = http.client.HTTPResponse(asking)
            try:
                answer.begin()
                return answer.status, answer.read().decode()
            except (http.client.HTTPException, ConnectionError):
                return 0, ""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """A session has begun, and with it a judge that serves the port."""
    home = JudgeHome(tmp_path)
    made = Web(home)
    assert home.hook(BEGUN).returncode == 0
    yield made
    home.end_judge()


def decided(body: str) -> str:
    """The decision in an answer."""
    return str(json.loads(body)["hookSpecificOutput"]["permissionDecision"])


def test_it_answers_what_the_hook_prints(web: Web) -> None:
    """A decision, and `{}` where the hook prints nothing."""
    status, body = web.post(shell("ls", "a"))
    assert (status, decided(body)) == (200, "allow")
    status, body = web.post(shell("pwd", "b"))
    assert (status, json.loads(body)) == (200, json.loads(web.home.hook(shell("pwd", "b")).stdout))
    assert web.post(shell("ls", "a", name="PostToolUse", tool_response="x")) == (200, "{}")


def test_it_is_the_session_that_the_other_hooks_know(web: Web) -> None:
    """A call has one answer, whichever way it is asked about."""
    assert decided(web.post(shell("ls", "a"))[1]) == "allow"
    web.home.hook(shell("ls", "a", name="PostToolUse", tool_response="x"))
    assert decided(web.post(shell("ls", "a"))[1]) == "deny"


def test_what_cannot_be_judged_is_no_success(web: Web) -> None:
    """The host takes no other status for an answer; the body says why."""
    status, body = web.post({"hook_event_name": "PreToolUse"})
    assert (status, "session_id" in body) == (500, True)
    (web.home.folder / "small.rbp").write_text("bundle broken {", encoding="utf-8")
    status, body = web.post(shell("ls", "a"))
    assert status == 500
    assert body.startswith("rebuno: the call must not run: the policy has ")


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer é"],
)
def test_nobody_without_the_token_is_answered(web: Web, authorization: str) -> None:
    """Every user of the machine can reach the port."""
    status, body = web.post(shell("ls", "a"), authorization=authorization)
    assert status in ((400, 401) if authorization == "Bearer é" else (401,))
    assert "allow" not in body


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.x"]
)
def test_nobody_who_came_under_another_name_is_answered(web: Web, host: str) -> None:
    """A page in a browser reaches the port under a name of its own."""
    status, body = web.post(shell("ls", "a"), host=host.format(port=web.port))
    assert status == 403
    assert "permissionDecision" not in body


def test_a_page_in_a_browser_is_not_answered(web: Web) -> None:
    """Not even with the token."""
    assert web.post(shell("ls", "a"), origin="http://127.0.0.1")[0] == 403


@pytest.mark.parametrize("event", [b"", b"{", b"[1,", b"\xff\xfe", b"[" * 100_000, b"NaN{"])
def test_an_event_that_is_no_json_gets_no_answer(web: Web, event: bytes) -> None:
    """The next one does."""
    assert web.post(event)[0] == 400
    assert web.post(shell("ls", "a"))[0] == 200


def test_a_huge_event_gets_no_answer(web: Web) -> None:
    """It is not even read, where its length is told; and it is not read to the end, where it is not."""
    assert web.post(b"", content_length=str(1 << 40))[0] == 413
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    status, _ = web.post(chunk * 300, content_length="", transfer_encoding="chunked")
    assert status in (0, 413)
    assert web.post(shell("ls", "a"))[0] == 200


def test_a_huge_head_gets_no_answer(web: Web) -> None:
    """It would fill the judge's memory."""
    status, _ = web.post({}, x_long="x" * 1_000_000)
    assert status in (0, 431)
    assert web.post(shell("ls", "a"))[0] == 200


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET /v1/hooks/claude-code", 405),
        ("POST /v1/hooks/", 404),
        ("POST /v1/hooks/codex", 404),
        ("POST /v1/hooks/claude-code/x", 404),
        ("POST /v1/hooks/claude-code?x=1", 404),
        ("POST /", 404),
    ],
)
def test_there_is_one_address(web: Web, line: str, status: int) -> None:
    """A host whose hooks have other settings has none here."""
    head = (
        f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 2\r\n\r\n"
    )
    assert web.raw(head.encode() + b"{}")[0] == status


@pytest.mark.parametrize("data", [b"\r\n\r\n", b"\x16\x03\x01\x02\x00", b"POST / HTTP/9.9\r\n\r\n", b"hello\r\n\r\n"])
def test_what_is_no_http_gets_no_answer(web: Web, data: bytes) -> None:
    """The next request does, while this one still waits."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE) as asking:
        asking.sendall(data)
        assert web.post(shell("ls", "a"))[0] == 200


def test_a_token_that_was_changed_is_worth_nothing(web: Web) -> None:
    """From the change of the settings on, before any other hook has come."""
    write_settings(web.home, token="another-token")
    assert web.post(shell("ls", "a"))[0] != 200
    web.home.hook(BEGUN)
    assert web.post(shell("ls", "a"))[0] == 401
    status, body = web.post(shell("ls", "a"), authorization="Bearer another-token")
    assert (status, decided(body)) == (200, "allow")


def test_settings_that_are_broken_are_told_of(web: Web) -> None:
    """As the hook would."""
    write_settings(web.home, timeout="soon")
    status, body = web.post(shell("ls", "a"))
    assert (status, "`timeout`" in body) == (500, True)


def test_a_judge_that_serves_a_port_is_not_idle(tmp_path: Path) -> None:
    """A host that asks an address can start no judge."""
    home = JudgeHome(tmp_path)
    made = Web(home)
    assert home.hook(BEGUN, REBUNO_JUDGE_IDLE="0.1").returncode == 0
    with socket.socket(socket.AF_UNIX) as watching:
        watching.settimeout(1.0)
        watching.connect(str(home.socket))
        with pytest.raises(TimeoutError):
            watching.recv(1)
    assert decided(made.post(shell("ls", "a"))[1]) == "allow"
    home.end_judge()


def test_where_the_port_is_anothers_the_other_hooks_are_judged(tmp_path: Path) -> None:
    """The judge says so in its log."""
    home = JudgeHome(tmp_path)
    made = Web(home)
    with socket.create_server(("127.0.0.1", made.port)):
        assert decision(home.hook(shell("ls", "a"))) == "allow"
        until(lambda: f"port {made.port} of the HTTP hooks" in (home.judge / "judge.log").read_text("utf-8"))
    home.end_judge()


def test_only_this_machine_reaches_the_port(web: Web) -> None:
    """It listens on the address of loopback and on no other."""
    table = Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]
    listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
    assert [one for one in listening if one.endswith(f":{web.port:04X}")] == [f"0100007F:{web.port:04X}"]


def test_the_settings_with_the_token_are_the_users_alone(web: Web) -> None:
    """The test writes them as `rebuno hook install` does."""
    file = web.home.folder / "config" / "rebuno" / "hooks" / "claude-code.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
