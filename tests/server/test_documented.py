"""Events, numbers and words as clients of the published kernel look for them."""

import re
from typing import Any

from rebuno.journal import chain
from rebuno.model import identity
from tests.server.support import Agent, Running, agent, play, until

EXECUTIONS = "/v0/executions"
BUNDLE = """bundle b
default allow
rule no {
  deny tool "forbidden"
  because "nobody may"
}
rule ask {
  require approval for tool "careful"
  approvers "ana"
  expires 1h
}
rule often {
  allow tool "often"
  limit 1 per 1h
}
"""


async def _begun(server: Running, one: Agent) -> str:
    begun = await server.post(EXECUTIONS, {"agent_id": "agent"}, status=201)
    await one.take()
    return str(begun["id"])


async def _log(server: Running, id: str) -> dict[str, Any]:
    """The newest payload of each type."""
    return {event["type"]: event["payload"] for event in await server.get(f"{EXECUTIONS}/{id}/events?limit=1000")}


def _holds(payload: dict[str, Any], **fields: Any) -> None:
    assert {name: payload.get(name, "(left out)") for name in fields} == fields


def test_events_carry_the_documented_fields() -> None:
    """Of executions, steps, questions and deliveries, each beside what is recorded."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE) as one:
            id = await _begun(server, one)
            path = f"{EXECUTIONS}/{id}/steps"
            failed = (await one.submit(id, args={"n": 1}))["step_id"]
            await one.said("POST", f"{path}/{failed}/fail", {"error": {"message": "no", "code": 7}})
            denied = (await one.submit(id, "forbidden"))["step_id"]
            model = await one.submit(id, "gpt", kind="llm_call")
            body = '{"usage": {"prompt_tokens": 3, "completion_tokens": 4}}'
            await one.said("POST", f"{path}/{model['step_id']}/complete", {"result": {"status": 200, "body": body}})
            asked = await one.submit(id, "careful")
            await server.post(f"/v0/approvals/{asked['approval_id']}/grant", {"decided_by": "ana"}, status=204)
            await one.take()
            await one.submit(id, "careful")
            await one.said("POST", f"{EXECUTIONS}/{id}/complete", {"output": {"a": [1, "é"]}}, status=204)
            log = await _log(server, id)
            _holds(log["execution.completed"], execution_id=id, status="completed", output={"a": [1, "é"]})
            _holds(log["execution.started"], execution_id=id, status="running")
            _holds(log["execution.blocked"], execution_id=id, status="blocked")
            _holds(log["execution.resumed"], execution_id=id, status="running")
            _holds(log["step.failed"], step_id=failed, error={"message": "no", "code": 7})
            _holds(log["step.denied"], step_id=denied, error={"reason": "nobody may", "rule_id": "no"})
            assert "usage" in log["step.succeeded"]
            ids = {"approval_id": asked["approval_id"], "step_id": asked["step_id"], "execution_id": id}
            _holds(log["approval.requested"], **ids, status="pending")
            _holds(log["approval.granted"], **ids, status="granted", decided_by="ana", rationale="")
            _holds(log["dispatch.queued"], execution_id=id, status="queued", attempt=0)
            _holds(log["dispatch.acked"], execution_id=id, status="acked", attempt=1)

    play(scenario)


def test_a_failure_a_cancellation_and_a_persons_no_carry_theirs() -> None:
    """The reason stands in the payload, and who said no and why."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE) as one:
            id = await _begun(server, one)
            asked = await one.submit(id, "careful")
            no = {"decided_by": "ana", "rationale": "too much"}
            await server.post(f"/v0/approvals/{asked['approval_id']}/deny", no, status=204)
            await one.take()
            await one.said("POST", f"{EXECUTIONS}/{id}/fail", {"error": "tool_error: no"}, status=204)
            log = await _log(server, id)
            _holds(log["execution.failed"], execution_id=id, status="failed", reason="tool_error: no")
            _holds(log["approval.denied"], status="denied", decided_by="ana", rationale="too much")
            _holds(log["step.denied"], error={"reason": "too much", "rule_id": "ask"})
            other = await _begun(server, one)
            await server.post(f"{EXECUTIONS}/{other}/cancel", status=204)
            log = await _log(server, other)
            _holds(log["execution.cancelled"], execution_id=other, status="cancelled", reason="client_cancelled")
            assert (await server.get(f"{EXECUTIONS}/{other}"))["failure_reason"] == "client_cancelled"

    play(scenario)


def test_hashes_are_over_what_is_recorded() -> None:
    """The documented fields are the answer's own: the chain is that of the log."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE) as one:
            id = await _begun(server, one)
            await one.submit(id, "forbidden")
            await one.said("POST", f"{EXECUTIONS}/{id}/complete", {"output": 1}, status=204)
            told = await server.get(f"{EXECUTIONS}/{id}/events")
            log = await server.server.serving.events(id)
            assert chain.verify(log).hash == log[-1].hash
            for event in log:
                assert told[event.event_seq - 1]["hash"] == event.hash.hex()
                recorded = identity.parse(identity.canonical(event.payload))
                assert {**told[event.event_seq - 1]["payload"], **recorded} == told[event.event_seq - 1]["payload"]

    play(scenario)


def test_a_question_without_an_end_has_no_timeout() -> None:
    """The field is left out, and stands there where the rule says how long."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE) as one:
            id = await _begun(server, one)
            asked = await one.submit(id, "careful")
            found = await server.get(f"/v0/approvals/{asked['approval_id']}")
            assert re.fullmatch(r"\d{4}-.*Z", found["timeout_at"])
            assert "decided_at" not in found
            endless = BUNDLE.replace("  expires 1h\n", "")
            await server.post("/v0/policies/agent", {"bundle": endless}, status=204)
            other = await _begun(server, one)
            asked = await one.submit(other, "careful")
            assert "timeout_at" not in await server.get(f"/v0/approvals/{asked['approval_id']}")

    play(scenario)


PUBLISHED = [
    "rebuno_queue_depth",
    "rebuno_dispatch_outcomes_total",
    "rebuno_dispatches_reclaimed_total",
    "rebuno_approval_outcomes_total",
    "rebuno_steps_submitted_total",
    "rebuno_executions_created_total",
    "rebuno_executions_completed_total",
    "rebuno_rate_limit_decisions_total",
    "rebuno_replay_total",
    "rebuno_http_requests_total",
    "rebuno_http_request_duration_seconds",
    "rebuno_llm_usage_missing_total",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "rebuno_policy_latency_seconds",
    "rebuno_dispatch_latency_seconds",
]

AT_FIRST = [
    *(f'rebuno_replay_total{{hit="{hit}"}} 0.0' for hit in ("true", "false")),
    *(f'rebuno_dispatch_outcomes_total{{outcome="{outcome}"}} 0.0' for outcome in ("success", "rejected", "exhausted")),
    *(f'rebuno_approval_outcomes_total{{outcome="{outcome}"}} 0.0' for outcome in ("granted", "denied", "expired")),
    *(f'rebuno_steps_submitted_total{{kind="{kind}"}} 0.0' for kind in ("tool_call", "llm_call")),
    *(f'rebuno_executions_completed_total{{status="{end}"}} 0.0' for end in ("completed", "failed", "cancelled")),
    'rebuno_rate_limit_decisions_total{outcome="limited"} 0.0',
    'rebuno_rate_limit_decisions_total{outcome="error_denied"} 0.0',
    "rebuno_executions_created_total 0.0",
    "rebuno_queue_depth 0.0",
]

AFTERWARDS = [
    "rebuno_executions_created_total 3.0",
    'rebuno_executions_completed_total{status="completed"} 1.0',
    'rebuno_executions_completed_total{status="failed"} 1.0',
    'rebuno_executions_completed_total{status="cancelled"} 1.0',
    'rebuno_steps_submitted_total{kind="tool_call"} 5.0',
    'rebuno_steps_submitted_total{kind="llm_call"} 1.0',
    'rebuno_replay_total{hit="true"} 1.0',
    'rebuno_replay_total{hit="false"} 5.0',
    'rebuno_rate_limit_decisions_total{outcome="limited"} 1.0',
    'rebuno_approval_outcomes_total{outcome="denied"} 1.0',
    "rebuno_llm_usage_missing_total 1.0",
    'rebuno_dispatch_outcomes_total{outcome="success"} 4.0',
    'rebuno_http_requests_total{method="POST",route="/v0/executions",status="201"} 3.0',
    'rebuno_http_requests_total{method="",route="",status="404"} 2.0',
]


async def _numbers(server: Running) -> set[str]:
    return set((await server.plain.get("/metrics")).text.splitlines())


def test_the_published_series_are_there() -> None:
    """From the start those with a closed set of labels, and each counts what it says."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE) as one:
            first = await _numbers(server)
            assert [line for line in AT_FIRST if line not in first] == []
            id = await _begun(server, one)
            path = f"{EXECUTIONS}/{id}/steps"
            step = (await one.submit(id, submission=1))["step_id"]
            await one.said("POST", f"{path}/{step}/complete", {"result": 1})
            await one.submit(id, submission=1)
            await one.submit(id, "often")
            await one.submit(id, "often", args={"n": 2})
            model = await one.submit(id, "gpt", kind="llm_call")
            await one.said("POST", f"{path}/{model['step_id']}/complete", {"result": {}})
            await one.said("POST", f"{EXECUTIONS}/{id}/complete", {}, status=204)
            asking = await _begun(server, one)
            asked = await one.submit(asking, "careful")
            await server.post(f"/v0/approvals/{asked['approval_id']}/deny", {"decided_by": "ana"}, status=204)
            await one.take()
            await one.said("POST", f"{EXECUTIONS}/{asking}/fail", {}, status=204)
            other = await _begun(server, one)
            await server.post(f"{EXECUTIONS}/{other}/cancel", status=204)
            for unknown in ("/v0/nothing", "/favicon.ico"):
                assert (await server.plain.get(unknown)).status_code == 404

            async def counted() -> bool:
                return set(AFTERWARDS) <= await _numbers(server)

            await until(counted)
            names = {re.split(r"[{ ]", line)[0] for line in await _numbers(server)}
            found = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}
            assert [name for name in PUBLISHED if name not in found] == []

    play(scenario)


def test_a_caller_cannot_make_series() -> None:
    """Unknown paths, methods and ids share what is there."""

    async def scenario(server: Running) -> None:
        async def asked(word: str) -> set[str]:
            for method in ("GET", "HEAD", "PATCH", "BREW"):
                await server.plain.request(method, f"/v0/{word}")
                await server.http.request(method, f"{EXECUTIONS}/{word}")
            return {line.split(" ")[0] for line in await _numbers(server)}

        await asked("first")
        first = await asked("second")
        for number in range(20):
            assert await asked(str(number)) == first

    play(scenario)
