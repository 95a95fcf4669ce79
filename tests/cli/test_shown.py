"""What `exec get`, `trace`, `events` and `watch` show: all that HTTP gives, what steps returned, and model calls."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2
import pytest
from rich.console import Console

import rebuno
from rebuno.journal.records import ExecutionRow
from rebuno.kernel import views
from rebuno.model import identity
from rebuno.model.execution import ExecutionStatus
from rebuno.policy import compile_text
from rebuno_cli.render import records
from tests.cli.served import server
from tests.cli.support import Ran
from tests.cli.support import rebuno as command
from tests.server.support import BEARER, TOKEN

EMPTY: dict[str, int] = {}
HOSTILE = "\x1b[2J\u202e\nINJECTED"


# ---------------------------------------------------------------- results


@rebuno.tool("look")
def look(n: int) -> dict[str, Any]:
    return {"found": n, "text": HOSTILE, "long": "x" * 5000}


async def agent() -> str:
    """Two tools and two model calls, and a tool with a bug."""
    await look(1)
    from rebuno.sdk import context

    running = context.required("a model call")
    for question, answer in (("What is it?", "It is tea."), ("How much?", "Three pounds, " + "x" * 500)):
        said = {"choices": [{"message": {"content": answer}}], "usage": {"prompt_tokens": 12, "completion_tokens": 34}}

        async def body(said: Any = said) -> dict[str, Any]:
            return {"status": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(said)}

        messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": question}]
        await running.invoke("llm_call", "gpt", {"messages": messages}, body, idempotency="safe_to_retry")
    await rebuno.step("pick", lambda: EMPTY["amount"])
    return "unreached"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with one execution of it, `run`."""
    path = tmp_path_factory.mktemp("shown") / "store.db"

    async def made() -> None:
        async with rebuno.open(path, policy=compile_text("bundle open\ndefault allow\n")) as kernel:
            await kernel.run(agent, id="run", agent="agent")

    asyncio.run(made())
    return str(path)


def shown(db: str, *argv: str, wide: bool = True) -> str:
    """What a command prints."""
    ran = command("exec", *argv, "--db", db, env={"COLUMNS": "300" if wide else "80"})
    assert ran.code in (0, 1), ran.err
    return ran.out


@pytest.mark.parametrize("how", ["trace", "get", "events", "watch"])
def test_what_steps_returned_is_shown(db: str, how: str) -> None:
    """Shortened and escaped; model calls are told apart by what was asked and answered, with their tokens."""
    text = shown(db, how, "run")
    assert '"found": 1' in text
    assert "x" * 600 not in text
    for raw in ("\x1b[2J", "\u202e", "\nINJECTED"):
        assert raw not in text
    for said in ("user: What is it?", "It is tea.", "user: How much?", "Three pounds"):
        assert said in text
    assert "34" in text
    assert "'amount'" in text
    lines = [line for line in text.splitlines() if "gpt" in line]
    assert len({*lines}) == len(lines), "model calls look alike"


@pytest.mark.parametrize("how", ["trace", "get"])
def test_an_agents_bug_is_shown_with_where_it_stands(db: str, how: str) -> None:
    """Its type, file and line, and the line of code."""
    text = shown(db, how, "run")
    assert f"KeyError at {Path(__file__).name}:" in text
    assert 'lambda: EMPTY["amount"]' in text
    assert f"{__file__}:" in text
    found = json.loads(shown(db, how, "run", "--json"))
    assert (found["failure"]["type"], found["failure"]["file"]) == ("KeyError", __file__)


def test_the_trace_as_json_has_results_whole(db: str) -> None:
    """Programs get what was recorded."""
    first, *_, last = json.loads(shown(db, "trace", "run", "--json"))["steps"]
    assert first["result"] == {"found": 1, "text": HOSTILE, "long": "x" * 5000}
    assert (first["error"], first["failure"]) == (None, None)
    assert last["error"] == {"type": "KeyError", "message": "'amount'"}
    assert last["failure"]["traceback"][-1]["source"].startswith("await rebuno.step")


def test_of_many_steps_the_newest_are_shown(tmp_path: Path) -> None:
    """With how many there were before."""
    path = tmp_path / "store.db"

    async def many() -> None:
        for n in range(50):
            await rebuno.step("count", lambda n: n, {"n": n})

    async def made() -> None:
        async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
            await kernel.run(many, id="run")

    asyncio.run(made())
    text = shown(str(path), "get", "run")
    assert '{"n": 49}' in text
    assert '{"n": 29}' not in text
    assert "30 steps before these" in text


# ---------------------------------------------------------------- fields


class Place:
    """A server and its store."""

    def __init__(self, url: str, db: str) -> None:
        self.url, self.db = url, db

    def run(self, way: str, *argv: str) -> Ran:
        """A command, on the server or on the store."""
        where = ("--url", self.url) if way == "url" else ("--db", self.db)
        ran = command(*argv, *where, env={"REBUNO_API_KEY": TOKEN, "COLUMNS": "300"})
        assert ran.code == 0, ran.err
        return ran

    def http(self, id: str) -> dict[str, Any]:
        """The answer of the server."""
        found = httpx2.get(f"{self.url}/v0/executions/{id}", headers=BEARER)
        assert found.status_code == 200
        return dict(found.json())

    def ended(self, id: str) -> dict[str, Any]:
        """The answer, once it has ended or waits for a person."""
        command("exec", "watch", id, "--url", self.url, "--every", "0.05", env={"REBUNO_API_KEY": TOKEN})
        return self.http(id)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One server for the whole file."""
    with server(tmp_path_factory.mktemp("served")) as (url, db):
        yield Place(url, db)


def created(place: Place, *argv: str) -> str:
    """A new execution."""
    return str(json.loads(place.run("url", "exec", "create", "clerk", *argv, "--json").out)["id"])


@pytest.fixture(scope="module")
def executions(place: Place) -> dict[str, dict[str, Any]]:
    """Executions that have a value in every field that there is, as HTTP gives them."""
    first = created(place, "{}", "--session", "march", "--on-behalf-of", "ana", "--id", "order-1")
    found = {"first": place.ended(first)}
    second = created(place, "{}", "--session", "march", "--on-behalf-of", "ana")
    found["second"] = place.ended(second)
    failed = created(place, '{"fails": true}')
    found["failed"] = place.ended(failed)
    waits = created(place, '{"to": "eve"}')
    while not (row := place.http(waits))["blocked_on"]:
        pass
    place.run("url", "exec", "say", waits, "Ask Ana first")
    found["waits"] = place.http(waits)
    forked = json.loads(place.run("url", "exec", "fork", second, "--deadline", "12h", "--json").out)["id"]
    found["forked"] = place.ended(forked)
    return found


# What says nothing: it is the same for every execution.
CONSTANT = {"subject_groups", "restoration"}


@pytest.mark.parametrize("way", ["url", "db"])
def test_get_shows_every_field_that_http_gives(place: Place, executions: dict[str, dict[str, Any]], way: str) -> None:
    """In JSON under the same name, with the same value; in the text wherever there is something to be shown."""
    seen: set[str] = set()
    for row in executions.values():
        said = json.loads(place.run(way, "exec", "get", row["id"], "--json").out)
        text = place.run(way, "exec", "get", row["id"]).out
        for name, value in row.items():
            assert name in said, f"{name} is missing"
            ours = said[name] if name != "failure" or said[name] is None else {k: said[name][k] for k in value}
            assert (ours or None) == (value or None), name
            if value and name not in CONSTANT:
                seen.add(name)
                for leaf in leaves(name, value):
                    assert leaf in text, f"{name} {leaf} is not shown"
    # Only a subagent has `spawned_by`, and nothing the two others yet.
    assert set(row) - seen == CONSTANT | {"spawned_by"}


def leaves(name: str, value: Any) -> list[str]:
    """What of a value must be readable."""
    match value:
        case bool():
            return [str(value).lower()]
        case dict():
            return [leaf for key, one in value.items() for leaf in leaves(key, one)]
        case list():
            return [leaf for one in value for leaf in leaves(name, one)]
        case _ if name.endswith("_at"):
            return [value[:10]]
        case _ if name == "step_id":
            return []
        case _ if name == "file":
            return [Path(value).name]
        case _:
            return [str(value) if name != "output" else identity.canonical(value)]


def test_a_subagent_and_its_forks_say_whose_they_are() -> None:
    """The execution and the step that began it; no step waits for a fork."""
    child = ExecutionRow(
        "id", "a", None, ExecutionStatus.RUNNING, "1", "d", spawned_execution_id="the-parent", spawned_step_id="a-step"
    )
    for row, step in ((child, "a-step"), (replace(child, spawned_step_id=""), "")):
        child_model = views.execution(row)
        assert child_model.model_dump()["spawned_by"] == {"execution_id": "the-parent", "step_id": step}
        out = Console(file=StringIO(), width=200)
        for line in records.execution(child_model, []):
            out.print(line)
        text = out.file.getvalue()  # type: ignore[attr-defined]
        assert "the-parent" in text
        assert ("a-step" in text) is bool(step)


def test_fork_and_retry_take_the_policy_and_a_deadline(db: str) -> None:
    """`--keep-policy` pins; without it nothing of the source's policy holds."""
    for made in ("fork", "retry"):
        kept = json.loads(shown(db, made, "run", "--keep-policy", "--deadline", "2h", "--json"))
        assert (kept["pinned"], kept["deadline_at"] is not None) == (True, True)
        free = json.loads(shown(db, made, "run", "--json"))
        assert (free["pinned"], free["deadline_at"]) == (False, None)
        assert command("exec", made, "run", "--deadline", "soon", "--db", db).code == 2
        assert "--keep-policy" in command("exec", made, "--help").out
