"""Scenarios of an agent in JavaScript, which leaves out what is undefined: what the published TypeScript SDK sends."""

import secrets
import shutil
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

AGENT: Final = Path(__file__).with_name("node") / "agent.mjs"
PATIENCE: Final = 60.0
_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Nodes:
    """A server under trial, and the agent that is registered there."""

    operator: httpx2.Client
    agent_id: str

    def create(self, handler: str) -> str:
        """A new execution that one of the agent's handlers runs."""
        body = {"agent_id": self.agent_id, "input": {"handler": handler}}
        return str(self.operator.post("/v0/executions", json=body).raise_for_status().json()["id"])

    def get(self, path: str) -> Any:
        """The JSON of an answer."""
        return self.operator.get(f"/v0/{path}").raise_for_status().json()

    def until(self, execution_id: str, *wanted: str) -> dict[str, Any]:
        """The execution, once it has one of these statuses."""
        end = time.monotonic() + PATIENCE
        while (found := self.get(f"executions/{execution_id}"))["status"] not in wanted:
            if time.monotonic() > end:
                raise TimeoutError(f"{execution_id} stays {found['status']}")
            time.sleep(_PAUSE)
        return dict(found)

    def ended(self, execution_id: str) -> dict[str, Any]:
        """The execution after its end."""
        return self.until(execution_id, "completed", "failed", "cancelled")

    def deliveries(self, execution_id: str) -> int:
        """How often it was handed to its agent."""
        events = self.get(f"executions/{execution_id}/events?limit=1000")
        return sum(event["type"] == "execution.started" for event in events)


def what_is_undefined_is_null(nodes: Nodes) -> None:
    """A handler and a tool that return nothing complete with `{}`: null, delivered once."""
    id = nodes.create("nothing")
    done = nodes.ended(id)
    assert (done["status"], done["output"], done["failure_reason"]) == ("completed", None, "")
    (step,) = nodes.get(f"executions/{id}/steps")
    assert (step["status"], step["args"], step["result"], step["error"]) == ("succeeded", None, None, None)
    assert nodes.deliveries(id) == 1


def what_may_be_left_out_is_left_out(nodes: Nodes) -> None:
    """A step without arguments and promise, and failures without an error."""
    id = nodes.create("bare")
    done = nodes.ended(id)
    assert done["status"] == "failed"
    assert done["failure_reason"]
    (step,) = nodes.get(f"executions/{id}/steps")
    assert (step["status"], step["args"], step["idempotency"]) == ("failed", None, "safe_to_retry")
    assert nodes.deliveries(id) == 1


def failures_are_told(nodes: Nodes) -> None:
    """A tool's error is recorded, and ends the execution with its message."""
    id = nodes.create("failing")
    done = nodes.ended(id)
    assert (done["status"], done["failure_reason"]) == ("failed", "no such file")
    (step,) = nodes.get(f"executions/{id}/steps")
    assert (step["status"], step["error"]) == ("failed", {"message": "no such file"})


def approvals_resume(nodes: Nodes) -> None:
    """After a grant the handler runs again from the top: what was recorded replays, the granted body runs."""
    id = nodes.create("asking")
    waiting = nodes.until(id, "blocked")
    (asked,) = [one for one in nodes.get("approvals") if one["execution_id"] == waiting["id"]]
    answer = nodes.operator.post(f"/v0/approvals/{asked['id']}/grant", json={"decided_by": "ana"})
    assert answer.status_code == 204
    done = nodes.ended(id)
    assert done["status"] == "completed", done["failure_reason"]
    # A null in an object is written; a value that is undefined is not.
    assert (done["output"]["paid"], done["output"].get("again"), done["output"]["kept"]) == ("paid", None, True)
    assert sorted(step["target"] for step in nodes.get(f"executions/{id}/steps")) == ["add", "add", "pay"]


def denials_are_told(nodes: Nodes) -> None:
    """The reason and the rule reach the handler."""
    done = nodes.ended(nodes.create("refused"))
    assert done["output"] == {"decision": "denied", "reason": "mail stays in the house", "rule": "no-mail"}


def ids_in_capitals_are_found(nodes: Nodes) -> None:
    """In the paths of every route of agents."""
    done = nodes.ended(nodes.create("capitals"))
    assert (done["status"], done["output"]) == ("completed", {"sum": 3, "suspended": False})


SCENARIOS: Final[tuple[Callable[[Nodes], None], ...]] = (
    what_is_undefined_is_null,
    what_may_be_left_out_is_left_out,
    failures_are_told,
    approvals_resume,
    denials_are_told,
    ids_in_capitals_are_found,
)


def node() -> str | None:
    """The program that runs it, where there is one."""
    return shutil.which("node")


@contextmanager
def _agent(program: str, url: str, agent_id: str, secret: str) -> Iterator[int]:
    """The port of an agent that runs while the context is open."""
    known = {"REBUNO_URL": url, "REBUNO_AGENT_ID": agent_id, "REBUNO_AGENT_SECRET": secret}
    with subprocess.Popen([program, str(AGENT)], env=known, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


def play(program: str, url: str, token: str, bundle: str, only: str) -> list[dict[str, Any]]:
    """Plays the scenarios against a server: `name`, `says`, `seconds` and `error` (empty where it passed) of each."""
    agent_id, secret = "node", secrets.token_hex(16)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    results = []
    with (
        httpx2.Client(base_url=url, headers=headers, timeout=35) as operator,
        _agent(program, url, agent_id, secret) as port,
    ):
        known = {"id": agent_id, "webhook_url": f"http://127.0.0.1:{port}/webhook", "secret": secret}
        operator.post("/v0/agents", json=known).raise_for_status()
        operator.post(f"/v0/policies/{agent_id}", json={"bundle": bundle}).raise_for_status()
        for scenario in SCENARIOS:
            if only in scenario.__name__:
                began = time.monotonic()
                try:
                    scenario(Nodes(operator, agent_id))
                    error = ""
                except Exception:
                    error = traceback.format_exc()
                seconds = round(time.monotonic() - began, 2)
                says = (scenario.__doc__ or "").strip()
                results.append({"name": f"node: {scenario.__name__}", "says": says, "seconds": seconds, "error": error})
    return results
