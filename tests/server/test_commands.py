"""`rebuno dev` and `rebuno server` as processes."""

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from unittest.mock import patch

import httpx2
import pytest

from rebuno.server.config import Config
from rebuno_cli.render import logs
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
    ("no deadline", ["server", "--db", "k.db", "--bearer-token", TOKEN, "--default-deadline", "0s"], "zero", 2),
    ("a short lease", ["server", "--db", "k.db", "--bearer-token", TOKEN, "--lease", "9"], "--lease", 2),
    ("no format", ["server", "--db", "k.db", "--bearer-token", TOKEN, "--log-format", "xml"], "--log-format", 2),
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


# An option, its variable, a value, and what becomes of it.
SETTINGS: list[tuple[str, str, str, str, object]] = [
    ("--host", "REBUNO_HOST", "::1", "host", "::1"),
    ("--port", "REBUNO_PORT", "9", "port", 9),
    ("--max-attempts", "REBUNO_DISPATCH_MAX_ATTEMPTS", "7", "settings.max_attempts", 7),
    ("--unreachable-for", "REBUNO_UNREACHABLE_FOR", "90m", "settings.unreachable_for", 5400.0),
    ("--lease", "REBUNO_LEASE", "45", "settings.lease", 45.0),
    ("--default-deadline", "REBUNO_DEFAULT_DEADLINE", "12h", "settings.deadline", 43_200.0),
    ("--approval-timeout", "REBUNO_APPROVAL_TIMEOUT", "2d", "settings.approvals", 172_800.0),
    ("--deliveries", "REBUNO_DELIVERIES", "3", "settings.deliveries", 3),
    ("--cleanup-interval", "REBUNO_CLEANUP_INTERVAL", "1m", "settings.sweep", 60.0),
    ("--retention", "REBUNO_RETENTION", "30d", "settings.retention", 2_592_000.0),
    ("--connections", "REBUNO_CONNECTIONS", "4", "connections", 4),
    ("--grace", "REBUNO_GRACE", "1.5", "grace", 1.5),
    ("--max-values", "REBUNO_MAX_VALUES", "200", "bounds.values", 200),
    ("--max-keys", "REBUNO_MAX_KEYS", "5", "settings.max_keys", 5),
    ("--max-digits", "REBUNO_MAX_DIGITS", "30", "bounds.digits", 30),
]


@pytest.mark.parametrize("way", ["option", "variable", "neither"])
@pytest.mark.parametrize(("option", "variable", "given", "name", "wanted"), SETTINGS, ids=[row[0] for row in SETTINGS])
def test_every_default_is_an_option_and_a_variable(
    option: str, variable: str, given: str, name: str, wanted: object, way: str
) -> None:
    """Both say the same, and without them it is the default of the server."""
    args = ("server", "--db", "kernel.db", "--bearer-token", TOKEN)
    with patch("rebuno_cli.serve.options.serve", return_value=0) as served:
        more, env = ((option, given) if way == "option" else ()), ({variable: given} if way == "variable" else {})
        ran = rebuno(*args, *more, env=env)
    assert ran.code == 0, ran.err
    found = attrgetter(name)(served.call_args.args[0])
    assert found == (attrgetter(name)(Config("kernel.db")) if way == "neither" else wanted)
    assert found != wanted or way != "neither"


@pytest.mark.parametrize(("given", "handler"), [("json", logs.JsonLines), ("text", logs.Shown), (None, logs.JsonLines)])
def test_the_log_is_for_machines_or_for_people(given: str | None, handler: type) -> None:
    """By a variable too, as its level."""
    args = ("server", "--db", "kernel.db", "--bearer-token", TOKEN)
    env = {"REBUNO_LOG_LEVEL": "error"} | ({"REBUNO_LOG_FORMAT": given} if given else {})
    with patch("rebuno_cli.serve.options.serve", return_value=0) as served:
        assert rebuno(*args, env=env).code == 0
    assert isinstance(served.call_args.args[2], handler)
    assert served.call_args.args[3] == logging.ERROR


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
