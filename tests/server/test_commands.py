"""`rebuno dev` and `rebuno server` as processes."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cli.support import rebuno
from tests.server.support import TOKEN

MAIN = [sys.executable, "-c", "import sys; from rebuno_cli.main import main; sys.exit(main())"]
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def _started(*args: str, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server that takes requests: its URL, and the process, which has ended with 0 after SIGTERM afterwards, unless
    it was killed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("REBUNO")}
    env |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}", **environment}
    process = subprocess.Popen(
        [*MAIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        url = re.search(r"http://\S+?(?=[,\s])", first)
        assert url is not None, first + process.communicate()[1]
        yield url[0], process
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()


REFUSED: list[tuple[str, list[str], str, int]] = [
    ("no store", ["server"], "--db", 2),
    ("no token", ["server", "--db", "kernel.db"], "REBUNO_BEARER_TOKEN", 2),
    ("a token that can be guessed", ["server", "--db", "kernel.db", "--bearer-token", "guess"], "16", 2),
    ("a store that forgets", ["server", "--db", ":memory:", "--bearer-token", TOKEN], "rebuno dev", 2),
    ("no such level", ["server", "--db", "kernel.db", "--bearer-token", TOKEN, "--log-level", "loud"], "`loud`", 2),
    ("no duration", ["server", "--db", "kernel.db", "--bearer-token", TOKEN, "--retention", "soon"], "--retention", 2),
    ("no attempts", ["dev", "--max-attempts", "0"], "--max-attempts", 2),
    ("no such layer", ["dev", "--port", "0", "--layer", "missing.rbp"], "missing.rbp", 2),
    ("no such manifest", ["dev", "--port", "0", "--config", "missing.yaml"], "missing.yaml", 2),
    ("no URL", ["dev", "--port", "0", "--allow-webhook", "a.example"], "a.example", 2),
    ("no such folder", ["server", "--port", "0", "--db", "no/such/kernel.db", "--bearer-token", TOKEN], "no/such", 3),
]


@pytest.mark.parametrize(("reason", "args", "said", "code"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_server_refuses_to_start_with_a_reason(reason: str, args: list[str], said: str, code: int) -> None:
    """It says what is wrong in a sentence, and its code is that of the mistake."""
    ran = rebuno(*args)
    assert ran.code == code, ran.err
    assert said in ran.err
    assert TOKEN not in ran.err


def test_a_taken_address_is_said() -> None:
    """A second server on one port ends at once, with 3."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = rebuno("dev", "--port", str(taken.getsockname()[1]))
    assert ran.code == 3
    assert "address already in use" in ran.err


def test_a_file_has_one_server(tmp_path: Path) -> None:
    """A second one ends at once, with 3, and says who has it; after a kill the next one starts at once, and commands
    go to the file all the while."""
    environment = {"REBUNO_DB_URL": str(tmp_path / "kernel.db"), "REBUNO_BEARER_TOKEN": TOKEN}
    with _started("server", "--port", "0", **environment) as (_, first):
        for command in ("server", "dev"):
            second = rebuno(command, "--port", "0", "--db", environment["REBUNO_DB_URL"], "--bearer-token", TOKEN)
            assert second.code == 3
            assert f"has a server already, process {first.pid} on " in second.err
        assert rebuno("exec", "ls", "--db", environment["REBUNO_DB_URL"]).code == 0
        first.kill()
        first.wait(20)
    for _ in range(2):
        with _started("dev", "--port", "0", **environment):
            pass


def test_dev_needs_nothing(tmp_path: Path) -> None:
    """No store, no token; what the environment says of a token holds; a manifest brings agents, a layer forbids."""
    (tmp_path / "agent.rbp").write_text("bundle agents\ndefault allow\n")
    (tmp_path / "layer.rbp").write_text('bundle outer\ndefault allow\nrule no {\n  deny tool "shell"\n}\n')
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(
        "agents: [{id: a, webhook_url: 'http://127.0.0.1:9/', secret: '${A_SECRET}', policy: agent.rbp}]\n"
    )
    args = ["dev", "--port", "0", "--config", str(manifest), "--layer", str(tmp_path / "layer.rbp")]
    with _started(*args, A_SECRET="an-agents-secret", REBUNO_BEARER_TOKEN="t") as (url, process):
        with httpx2.Client(base_url=url, timeout=20, verify=False) as http:
            [agent] = http.get("/v0/agents").json()
            assert (agent["id"], agent["policy_bundle"]) == ("a", "bundle agents\ndefault allow\n")
            assert http.get("/v0/agents", headers={"Authorization": "Bearer other"}).status_code == 401
            assert http.get("/v0/agents", headers={"Authorization": "Bearer t"}).status_code == 200
            cases = {"cases": [{"target": "shell", "expect": "deny", "expect_rule": "no"}]}
            assert http.post("/v0/policies/a/test", json=cases).json()["failed"] == 0
        process.send_signal(signal.SIGINT)
        process.wait(20)
        assert process.stderr is not None
        assert "an-agents-secret" not in process.stderr.read()


def test_a_server_keeps_what_it_was_told(tmp_path: Path) -> None:
    """The environment names store and token; after a restart everything is there; its log is JSON without secrets."""
    environment = {"REBUNO_DB_URL": str(tmp_path / "kernel.db"), "REBUNO_BEARER_TOKEN": TOKEN}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with _started("server", "--port", "0", **environment) as (url, first):
        assert httpx2.get(f"{url}/v0/agents", verify=False).status_code == 401
        body = {"id": "a", "webhook_url": "http://127.0.0.1:9/", "secret": "an-agents-secret"}
        assert httpx2.post(f"{url}/v0/agents", json=body, headers=headers, verify=False).status_code == 201
        begun = {"agent_id": "a"}
        made = httpx2.post(f"{url}/v0/executions", json=begun, headers=headers, verify=False).json()
    assert first.stderr is not None
    with _started("server", "--port", "0", "--log-level", "debug", **environment) as (url, second):
        shown = httpx2.get(f"{url}/v0/executions/{made['id']}", headers=headers, verify=False).json()
        assert shown["head_hash"]
        [agent] = httpx2.get(f"{url}/v0/agents", headers=headers, verify=False).json()
        assert agent["id"] == "a"
        second.send_signal(signal.SIGTERM)
        second.wait(20)
        assert second.stderr is not None
        for line in second.stderr.read().splitlines():
            told = json.loads(line)
            assert {"time", "level", "logger", "message"} <= set(told)
            assert TOKEN not in line
            assert "an-agents-secret" not in line
