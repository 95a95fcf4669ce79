"""An execution whose agent cannot be reached says so in every view: for whom it waits, since when, and why."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from rebuno.types import Execution, LastDelivery
from rebuno_cli.render.records import delivery
from tests.cli.served import server
from tests.cli.test_shown import Place
from tests.server.support import BEARER

SINCE = 1_777_888_800.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server; nobody listens where its agent `away` should be."""
    with server(tmp_path_factory.mktemp("absent")) as (url, db), socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
        closed.close()
        place = Place(url, db)
        there = {"id": "away", "webhook_url": f"http://127.0.0.1:{port}/secret-path", "secret": "an-agents-secret"}
        httpx2.post(f"{url}/v0/agents", headers=BEARER, json=there).raise_for_status()
        yield place


def waiting(place: Place, way: str, execution_id: str) -> dict[str, Any]:
    """The execution as the command shows it once its agent was found to be away."""
    for _ in range(3000):
        row: dict[str, Any] = json.loads(place.run(way, "exec", "get", execution_id, "--json").out)
        if row["delivery"] is not None:
            return row
    raise AssertionError("it never said that it waits")


@pytest.mark.parametrize("way", ["url", "db"])
def test_an_execution_says_that_it_waits_for_its_agent(place: Place, way: str) -> None:
    """In JSON and in words, with nothing of the URL; its status stays what it is."""
    made = str(json.loads(place.run("url", "exec", "create", "away", "--json").out)["id"])
    row = waiting(place, way, made)
    assert (row["status"], row["failure_reason"]) == ("running", None)
    waits = row["delivery"]
    assert (waits["agent_id"], waits["attempts"]) == ("away", 0)
    assert waits["error"] == "the webhook got no answer: ConnectError"
    assert waits["unreached"] >= 1
    assert waits["unreachable_since"] >= row["created_at"]
    text = place.run(way, "exec", "get", made).out
    assert "its agent away, not reached since " in text
    assert "ConnectError" in text
    events = place.run(way, "exec", "events", made).out
    assert "reason unreachable  error the webhook got no answer: ConnectError" in events
    assert "secret-path" not in text + events + json.dumps(row)


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        (None, ""),
        (
            LastDelivery(agent_id="a", error="status 500", attempts=3),
            "its agent a, attempt 3 came to nothing: status 500",
        ),
        (
            LastDelivery(agent_id="a", error="no answer", unreached=1, unreachable_since=SINCE, next_at=SINCE + 1),
            "its agent a, not reached since 2026-05-04 10:00:00Z, in 1 try: no answer; next try at 2026-05-04"
            " 10:00:01Z",
        ),
        (
            LastDelivery(agent_id="\x1b[2J", error="x\u202ey" * 200, unreached=2, unreachable_since=SINCE),
            "its agent \\u001b[2J, not reached since 2026-05-04 10:00:00Z, in 2 tries: ",
        ),
    ],
)
def test_why_it_waits_is_said_in_words(waits: LastDelivery | None, said: str) -> None:
    """Escaped and shortened."""
    text = delivery(Execution(id="1", delivery=waits))
    assert text.startswith(said)
    assert "\u202e" not in text
    assert len(text) < 1000
