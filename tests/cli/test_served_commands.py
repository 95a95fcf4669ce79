"""The commands on a server, and on its store beside it: both ways do and show the same."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.served import BUNDLE, server
from tests.cli.support import Ran, rebuno
from tests.server.support import TOKEN

WAYS = ["url", "db"]


class Place:
    """A server and its store."""

    def __init__(self, url: str, db: str) -> None:
        self.url = url
        self.db = db

    def run(self, way: str, *argv: str, env: dict[str, str] | None = None) -> Ran:
        """A command, on the server or on the store."""
        where = ("--url", self.url) if way == "url" else ("--db", self.db)
        return rebuno(*argv, *where, env={"REBUNO_API_KEY": TOKEN} | (env or {}))

    def started(self, way: str, *argv: str) -> "subprocess.Popen[str]":
        """A command as a program of its own, while it runs."""
        where = ("--url", self.url) if way == "url" else ("--db", self.db)
        command = [sys.executable, "-u", "-m", "rebuno_cli.main", *argv, *where]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("REBUNO", "COLUMNS"))}
        env = kept | {"REBUNO_API_KEY": TOKEN}
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)

    def json(self, way: str, *argv: str) -> Any:
        """What a command prints as JSON."""
        ran = self.run(way, *argv, "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    def begun(self, way: str, input: str, *more: str) -> str:
        """A new execution's id."""
        return str(self.json(way, "exec", "create", "clerk", input, *more)["id"])

    def waiting(self, execution_id: str) -> str:
        """The question that an execution waits for, once it does."""
        while not (found := self.json("url", "approval", "ls", "--execution", execution_id)["approvals"]):
            time.sleep(0.02)
        return str(found[0]["id"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One server for the whole file."""
    with server(tmp_path_factory.mktemp("served")) as (url, db):
        yield Place(url, db)


@pytest.mark.parametrize("way", WAYS)
def test_an_execution_from_its_beginning_to_its_end(place: Place, way: str) -> None:
    """It is begun, asks, is answered, is followed to its end, and tells its story."""
    made = place.begun(way, '{"to": "ana"}')
    question = place.waiting(made)
    shown = place.run(way, "approval", "get", question[:30]).out
    assert "May it leave?" in shown
    assert "desk_send" in shown
    granted = place.run(way, "approval", "grant", question, "--as", "ben", "--rationale", "fine")
    assert (granted.code, "granted by ben" in granted.out) == (0, True)
    followed = place.run(way, "exec", "watch", made, "--every", "0.05")
    assert followed.code == 0
    assert "execution.completed" in followed.out.splitlines()[-1]
    assert f"approval.requested approval {question}" in followed.out
    story = place.run(way, "exec", "trace", made).out
    assert 'output "sent to ana"' in story
    assert "granted by ben" in story
    assert "replayed in attempt 2" in story
    assert place.json(way, "exec", "get", made)["output"] == "sent to ana"


def test_both_ways_say_the_same(place: Place) -> None:
    """What a server tells is what its store holds, but for what it keeps to itself."""
    made = place.begun("url", "{}", "--id", "same")
    assert place.run("url", "exec", "watch", made, "--every", "0.05").code == 0

    def both(*argv: str) -> tuple[Any, Any]:
        return place.json("url", *argv), place.json("db", *argv)

    for argv in (("exec", "events", made), ("exec", "events", made, "--after", "3"), ("agent", "ls")):
        there, here = both(*argv)
        assert there == here
    there, here = both("exec", "get", made)
    assert there == here
    there, here = both("exec", "trace", made)
    assert there == here
    assert place.json("url", "exec", "get", "same")["id"] == place.json("url", "exec", "get", made[:35])["id"] == made


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_waits_names_the_command_that_answers_it(place: Place, way: str) -> None:
    """`exec get` and `exec watch` do, once for each question."""
    made = place.begun(way, '{"to": "eve"}')
    question = place.waiting(made)
    hint = f"`rebuno approval grant {question}`"
    assert hint in place.run(way, "exec", "get", made).out
    with place.started(way, "exec", "watch", made, "--every", "0.05") as watching:
        assert watching.stdout is not None
        try:
            said = next(line for line in watching.stdout if "a person is asked" in line)
            assert hint in said
            answered = place.run(way, "approval", "grant", question, "--as", "ben")
            assert answered.code == 0, answered.err
            assert not any(hint in line for line in watching.stdout)
        except BaseException:
            watching.kill()
            raise
    assert watching.returncode == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_execution_is_a_no(place: Place, way: str) -> None:
    """`watch` ends with it, and with `--json` prints an event a line."""
    made = place.begun(way, '{"fails": true}')
    ran = place.run(way, "exec", "watch", made, "--every", "0.05", "--json")
    assert ran.code == 1
    last = json.loads(ran.out.splitlines()[-1])
    assert last["type"] == "execution.failed"
    assert [json.loads(line)["event_seq"] for line in ran.out.splitlines()] == list(range(1, last["event_seq"] + 1))


@pytest.mark.parametrize("way", WAYS)
def test_cancelling_and_forking(place: Place, way: str) -> None:
    """The fork is delivered to its agent; what has ended is not ended again."""
    made = place.begun(way, '{"to": "eva"}')
    place.waiting(made)
    assert place.run(way, "exec", "cancel", made).code == 0
    assert place.run(way, "exec", "cancel", made).code == 4
    assert place.json("url", "exec", "get", made)["status"] == "cancelled"
    forked = place.json(way, "exec", "fork", made, "--at", "6", "--session", f"fork by {way}")
    assert (forked["forked_from"], forked["fork_seq"]) == (made, 6)
    assert place.waiting(forked["id"])
    assert place.run(way, "exec", "cancel", forked["id"]).code == 0


@pytest.mark.parametrize("way", WAYS)
def test_agents_and_keys(place: Place, way: str, tmp_path: Path) -> None:
    """They are made, shown without their secrets, changed and taken away."""
    name = f"agent by {way}"
    secret = {"REBUNO_AGENT_SECRET": "very secret words"}
    added = place.run(way, "agent", "add", name, "--webhook", "http://127.0.0.1:9/w", "--lease", "40", env=secret)
    assert (added.code, "very secret" in added.out) == (0, False)
    assert place.json(way, "agent", "get", name)["lease_timeout_seconds"] == 40
    (tmp_path / "b.rbp").write_text(BUNDLE)
    assert place.run(way, "policy", "set", name, str(tmp_path / "b.rbp")).code == 0
    assert "rule ask {" in place.run(way, "agent", "get", name).out
    place.json(way, "exec", "create", name)
    assert place.run(way, "agent", "rm", name).code == 4
    assert place.run(way, "agent", "rm", name, "--force").code == 0
    assert place.run(way, "agent", "get", name).code == 4
    key = place.json(way, "key", "create", "ci", "--scope", "executions:read")
    assert place.run("url", "agent", "ls", env={"REBUNO_API_KEY": key["token"]}).code == 1
    assert place.run("url", "exec", "ls", env={"REBUNO_API_KEY": key["token"]}).code == 0
    turned = place.json(way, "key", "rotate", key["id"])
    assert turned["token"] != key["token"]
    assert key["id"] in place.run(way, "key", "ls").out
    assert place.run(way, "key", "rm", key["id"]).code == 0
    assert place.run(way, "key", "rotate", key["id"]).code == 4
    [shown] = [one for one in place.json(way, "key", "ls")["keys"] if one["id"] == key["id"]]
    assert all(shown[time].endswith("Z") for time in ("created_at", "revoked_at"))
    assert place.json(way, "agent", "get", "clerk")["registered_at"].endswith("Z")
    assert shown["revoked_at"] is not None


CASES = """\
agent_id: clerk
cases:
  - {name: reading, target: desk_read, expect: allow, expect_rule: reads}
  - {name: another, target: shell, expect: SHELL}
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("expected", "code"), [("deny", 0), ("allow", 1)])
def test_a_bundle_is_tested_where_it_will_judge(
    place: Place, way: str, tmp_path: Path, expected: str, code: int
) -> None:
    """With its cases and the recorded steps of executions; one that comes out otherwise is a no."""
    (tmp_path / "b.rbp").write_text(BUNDLE)
    (tmp_path / "b.policytest.yaml").write_text(CASES.replace("SHELL", expected))
    made = place.begun(way, "{}")
    place.run(way, "exec", "watch", made, "--every", "0.05")
    ran = place.run(way, "policy", "test", str(tmp_path / "b.rbp"), "--agent", "clerk", "--execution", made)
    assert ran.code == code
    assert f"3 asked, {code} came out otherwise" in ran.out
    assert "no case comes to ask" in ran.out


MISTAKES: list[tuple[str, tuple[str, ...], int, str]] = [
    ("an unknown execution", ("exec", "get", "nobody's"), 4, "there is no execution"),
    ("a prefix of many", ("exec", "get", "01a"), 4, "there is no execution"),
    ("an unknown agent", ("exec", "create", "nobody"), 4, "nobody"),
    ("an input that is no JSON", ("exec", "create", "clerk", "{"), 2, "the input: not JSON"),
    ("an unknown approval", ("approval", "get", "0000"), 4, "there is no approval"),
    ("an unknown key", ("key", "rm", "0000"), 4, "there is no key"),
    ("an agent without a secret", ("agent", "add", "x", "--webhook", "http://127.0.0.1:9/"), 2, "REBUNO_AGENT_SECRET"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("argv", "code", "said"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_mistakes_end_with_their_codes(place: Place, way: str, argv: tuple[str, ...], code: int, said: str) -> None:
    """And say what is wrong."""
    ran = place.run(way, *argv)
    assert (ran.code, said in ran.err) == (code, True), ran.err


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_execution_is_tried_again(place: Place, way: str) -> None:
    """It is delivered again, and ends; a server takes no id of the caller's for it."""
    made = place.begun(way, '{"fails": true}')
    assert place.run("url", "exec", "watch", made, "--every", "0.05").code == 1
    again = place.json(way, "exec", "retry", made, "--deadline", "1h")
    assert (again["forked_from"], again["served"]) == (made, True)
    assert again["deadline_at"] is not None
    assert place.run("url", "exec", "watch", again["id"], "--every", "0.05").code == 1
    story = place.json(way, "exec", "trace", again["id"])
    assert [step["target"] for step in story["steps"]] == ["desk_read"]
    completed = place.begun(way, "{}")
    assert place.run("url", "exec", "watch", completed, "--every", "0.05").code == 0
    assert place.run(way, "exec", "retry", completed).code == 4
    if way == "url":
        refused = place.run(way, "exec", "retry", made, "--id", "mine")
        assert (refused.code, "leave out `--id`" in refused.err) == (2, True)


@pytest.mark.parametrize("way", WAYS)
def test_a_history_is_verified_taken_out_removed_and_taken_in(place: Place, way: str, tmp_path: Path) -> None:
    """Byte for byte the same file either way; what is in the store already is not taken in."""
    made = place.begun(way, "{}")
    assert place.run("url", "exec", "watch", made, "--every", "0.05").code == 0
    sound = place.json(way, "exec", "verify", made[:30])
    assert (sound["valid"], sound["fault"], sound["execution_id"]) == (True, None, made)
    assert place.run(way, "exec", "verify", made, "--head", sound["head_hash"]).code == 0
    assert place.run(way, "exec", "verify", made, "--head", "0" * 64).code == 1
    assert place.run(way, "exec", "verify", made, "--head", "x").code == 2
    file = tmp_path / "history.jsonl"
    said = place.json(way, "exec", "export", made, str(file))
    assert (said["head"], said["events"]) == (sound["head_hash"], sound["events"])
    other = place.run("db" if way == "url" else "url", "exec", "export", made, "-").out
    assert file.read_text() == other
    assert file.stat().st_mode & 0o777 == 0o600
    assert place.run(way, "exec", "import", str(file)).code == 4
    swept = place.json(way, "exec", "sweep")
    assert swept.keys() == {"overdue", "expired", "released", "removed", "failed"}
    assert swept["removed"] == 0
    fresh = str(tmp_path / "fresh.db")
    taken = rebuno("exec", "import", str(file), "--db", fresh, "--json")
    assert (taken.code, json.loads(taken.out)["head"]) == (0, sound["head_hash"])
    file.write_text(file.read_text().replace("desk_read", "desk_raed"))
    damaged = place.run(way, "exec", "import", str(file))
    assert (damaged.code, str(file) in damaged.err) == (3, True)


def test_a_history_is_taken_in_by_a_server(place: Place, tmp_path: Path) -> None:
    """From a store of its own, and found there."""
    with server(tmp_path) as (url, db):
        other = Place(url, db)
        made = other.begun("url", "{}")
        assert other.run("url", "exec", "watch", made, "--every", "0.05").code == 0
        text = other.run("url", "exec", "export", made, "-").out
    (tmp_path / "history.jsonl").write_text(text)
    assert place.run("url", "exec", "import", str(tmp_path / "history.jsonl")).code == 0
    assert place.json("db", "exec", "get", made)["status"] == "completed"
    assert place.run("db", "exec", "verify", made).code == 0
    assert place.json("url", "exec", "sweep", "--older-than", "3650d")["removed"] == 0


def test_where_and_who(place: Place) -> None:
    """A server is named once, and takes a good key only."""
    both = rebuno("exec", "ls", "--db", place.db, "--url", place.url)
    assert (both.code, "leave one out" in both.err) == (2, True)
    refused = place.run("url", "exec", "ls", env={"REBUNO_API_KEY": "wrong"})
    assert (refused.code, "set REBUNO_API_KEY" in refused.err) == (3, True)
    named = rebuno("exec", "ls", env={"REBUNO_URL": place.url, "REBUNO_API_KEY": TOKEN})
    assert named.code == 0
    assert place.run("url", "exec", "cancel", "x", "--reason", "no").code == 2
    broken = rebuno("store", "accept-restore", env={"REBUNO_URL": place.url})
    assert (broken.code, "works on a store and not on a server" in broken.err) == (2, True)


def test_a_broken_bundle_is_told_with_its_places(place: Place, tmp_path: Path) -> None:
    """Before it is sent, as by `policy check`."""
    (tmp_path / "b.rbp").write_text('bundle b\ndefault deny\nrule r { alow tool "x" }\n')
    ran = place.run("url", "policy", "set", "clerk", str(tmp_path / "b.rbp"))
    assert ran.code == 2
    assert "b.rbp:3" in ran.err


@pytest.mark.parametrize("way", WAYS)
def test_the_folder_of_an_execution(place: Place, way: str) -> None:
    """`--workdir` names it, and `exec get` tells it both ways."""
    made = place.begun(way, '{"to": "ana"}', "--workdir", "/work/app")
    for other in WAYS:
        assert place.json(other, "exec", "get", made)["workdir"] == "/work/app"
        assert "/work/app" in place.run(other, "exec", "get", made).out
    refused = place.run(way, "exec", "create", "clerk", "--workdir", "work")
    assert refused.code == 2
    assert "no absolute path" in refused.err
