"""Agents, policies, approvals and keys over HTTP."""

import asyncio
import json
from typing import Any

import pytest

from rebuno.kernel import Serving
from rebuno.server import metrics, operators
from tests.server.support import SECRET, Running, agent, fits, inbox, only, play, until

BUNDLE = 'bundle b\ndefault deny\nrule look {\n  allow tool "look"\n}\nrule write {\n  allow tool "write"\n}\n'
ASKING = """bundle b
default deny
rule pay {
  require approval for tool "pay"
  approvers "ann", "ben"
  quorum 2
  expires 2h
  because "money"
}
"""


def test_an_agent_is_registered_changed_and_forgotten() -> None:
    """What it says of itself stands beside what was registered."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE) as one:
            schema = {"type": "object"}
            body = {"description": "pays", "input_schema": schema, "output_schema": None}
            await one.said("PUT", "/v0/agents/agent/metadata", body, status=204)
            changed = {"id": "agent", "webhook_url": one.inbox.url, "secret": SECRET, "lease_timeout_seconds": 60}
            await server.post("/v0/agents", changed, status=201)
            shown = await server.get("/v0/agents/agent")
            fits("Agent", shown)
            assert (shown["lease_timeout_seconds"], shown["policy_bundle"]) == (60, BUNDLE)
            assert (shown["description"], shown["input_schema"]) == ("pays", schema)
            assert "output_schema" not in shown
            assert await server.get("/v0/agents") == [shown]
            await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            held = await server.http.delete("/v0/agents/agent")
            assert (held.status_code, held.json()["code"]) == (409, "conflict")
            assert (await server.http.delete("/v0/agents/agent?force=true")).status_code == 204
            assert await server.get("/v0/agents") == []
            [ended] = (await server.get("/v0/executions"))["executions"]
            assert ended["status"] == "cancelled"

    play(scenario)


AGENTS: list[tuple[str, dict[str, Any]]] = [
    ("a URL that is not allowed", {"webhook_url": "http://10.0.0.1/"}),
    ("no URL", {"webhook_url": "agent"}),
    ("a blank id", {"id": " "}),
    ("no secret", {"secret": ""}),
    ("a lease that is too short", {"lease_timeout_seconds": 9}),
    ("a lease that is text", {"lease_timeout_seconds": "60"}),
    ("an unknown field", {"policy": "p"}),
]


def test_an_agent_that_cannot_be_is_refused() -> None:
    """Nothing is kept of it."""

    async def scenario(server: Running) -> None:
        fine = {"id": "agent", "webhook_url": "https://a.example/hook", "secret": SECRET}
        for reason, change in AGENTS:
            answer = await server.http.post("/v0/agents", json={**fine, **change})
            assert (answer.status_code, answer.json()["code"]) == (400, "validation_error"), reason
        assert await server.get("/v0/agents") == []
        await server.post("/v0/agents", fine, status=201)

    play(scenario, allowed=only("https://a.example"))


def test_a_policy_is_set_whole_or_not_at_all() -> None:
    """One that does not compile is refused with everything that is wrong, and the old one stands."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE):
            broken = 'bundle b\ndefault deny\nrule a {\n  allow tol "x"\n}\nrule b {\n  alow tool "x"\n}\n'
            answer = await server.post("/v0/policies/agent", {"bundle": broken}, status=400)
            assert answer["code"] == "validation_error"
            assert [(one["severity"], one["line"]) for one in answer["details"]] == [("error", 4), ("error", 7)]
            assert (await server.get("/v0/agents/agent"))["policy_bundle"] == BUNDLE
            await server.post("/v0/policies/nobody", {"bundle": BUNDLE}, status=404)

    play(scenario)


def test_a_policy_is_tested_with_cases() -> None:
    """Each case with the answer, how many failed, and the rules that none came to."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE):
            cases = [
                {"name": "looks", "target": "look", "args": {"tiny": 1e-07}, "expect": "allow"},
                {"target": "pay", "expect": "allow", "expect_rule": "pay"},
            ]
            tested = await server.post("/v0/policies/agent/test", {"cases": cases})
            fits("TestedOut", tested)
            first, second = tested["results"]
            assert (first["name"], first["decision"], first["rule_id"], first["pass"]) == (
                "looks",
                "allow",
                "look",
                True,
            )
            assert (first["args"], "failure" in first) == ({"tiny": 1e-07}, False)
            assert (second["decision"], second["pass"]) == ("deny", False)
            assert "expected allow" in second["failure"]
            assert (tested["failed"], tested["unexercised_rules"]) == (1, ["write"])
            wrong = await server.post("/v0/policies/agent/test", {"cases": [{"tool": "x"}]}, status=400)
            assert wrong["details"]

    play(scenario)


def test_another_policy_is_tested_on_recorded_steps() -> None:
    """What was recorded is what is expected; a bundle that differs fails where it does."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=BUNDLE) as one:
            begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            await one.submit(begun["id"], "look")
            await one.submit(begun["id"], "steal")
            narrower = 'bundle b\ndefault deny\nrule other {\n  allow tool "other"\n}\n'
            for asked in ({"execution_id": begun["id"]}, {"executions": {"limit": 5, "since": begun["created_at"]}}):
                today = await server.post("/v0/policies/agent/test", asked)
                assert (len(today["results"]), today["failed"], today["unexercised_rules"]) == (2, 0, ["write"])
                other = await server.post("/v0/policies/agent/test", {**asked, "bundle": narrower})
                assert [(one["target"], one["pass"]) for one in other["results"]] == [("look", False), ("steal", True)]
            none = await server.post("/v0/policies/agent/test", {"executions": {"since": "2999-01-01T00:00:00Z"}})
            assert none["results"] == []
            await server.post("/v0/policies/agent/test", {"executions": {"since": "yesterday"}}, status=400)
            await server.post("/v0/policies/other/test", {"execution_id": begun["id"], "bundle": BUNDLE}, status=403)

    play(scenario)


def test_an_approval_needs_everybody_whom_the_rule_names() -> None:
    """A vote short of the quorum leaves it pending; a stranger, and the same person again, are refused."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=ASKING) as one:
            begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            asked = await one.submit(begun["id"], "pay", {"eur": 1})
            await one.said("POST", f"/v0/executions/{begun['id']}/suspend")
            path = f"/v0/approvals/{asked['approval_id']}"
            shown = await server.get(path)
            fits("Approval", shown)
            assert (shown["status"], shown["quorum"], shown["approvers"]) == ("pending", 2, ["ann", "ben"])
            assert shown["timeout_at"].endswith("Z")
            await server.post(f"{path}/grant", {"decided_by": "eve"}, status=403)
            await server.post(f"{path}/grant", {}, status=403)
            await server.post(f"{path}/grant", {"decided_by": "ann", "scope": "ever"}, status=400)
            await server.post(f"{path}/grant", {"decided_by": "ann"}, status=204)
            await server.post(f"{path}/grant", {"decided_by": "ann"}, status=409)
            [pending] = await server.get("/v0/approvals", params={"execution_id": begun["id"]})
            assert [vote["decided_by"] for vote in pending["votes"]] == ["ann"]
            await server.post(f"{path}/deny", {"decided_by": "ben", "rationale": "too much"}, status=204)
            assert await server.get("/v0/approvals") == []
            [denied] = await server.get("/v0/approvals", params={"status": "denied"})
            fits("Approval", denied)
            assert (denied["rationale"], denied["decided_by"]) == ("too much", "ben")
            await one.take()
            again = await one.submit(begun["id"], "pay", {"eur": 1})
            assert (again["decision"], again["reason"]) == ("denied", "too much")

    play(scenario)


def test_one_key_is_one_voter() -> None:
    """R09: it cannot be maria and then omar; one that speaks for people can, and stands beside them."""

    async def scenario(server: Running) -> None:
        bundle = ASKING.replace('  approvers "ann", "ben"\n', "")
        async with agent(server, bundle=bundle) as one:
            keys = {}
            for name, scopes in (("desk", ["approvals:write"]), ("bridge", ["approvals:write", "approvals:speak"])):
                key = await server.post("/v0/api-keys", {"name": name, "scopes": scopes}, status=201)
                keys[name] = {"Authorization": f"Bearer {key['token']}"}
            begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            path = f"/v0/approvals/{(await one.submit(begun['id'], 'pay'))['approval_id']}"

            async def vote(key: str, who: str | None, what: str = "grant") -> int:
                body = {} if who is None else {"decided_by": who}
                return (await server.plain.post(f"{path}/{what}", headers=keys[key], json=body)).status_code

            assert [await vote("desk", who) for who in ("maria", "omar", "Desk", " desk")] == [403] * 4
            assert await vote("desk", "maria", "deny") == 403
            assert [await vote("desk", who) for who in ("desk", None, "desk")] == [204, 409, 409]
            pending = await server.get(path)
            assert (pending["status"], len(pending["votes"])) == ("pending", 1)
            assert [await vote("bridge", who) for who in ("desk", "maria")] == [409, 204]
            granted = await server.get(path)
            assert (granted["status"], granted["decided_by"], granted["asserted_by"]) == ("granted", "maria", "bridge")

    play(scenario)


def test_a_keys_name_is_who_answers() -> None:
    """Without `decided_by` it is the key's own, and it is what vouches for any other."""

    async def scenario(server: Running) -> None:
        bundle = 'bundle b\ndefault deny\nrule pay {\n  require approval for tool "pay"\n  because "money"\n}\n'
        async with agent(server, bundle=bundle) as one:
            key = await server.post("/v0/api-keys", {"name": "desk", "scopes": ["approvals:write"]}, status=201)
            fits("NewApiKey", key)
            begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            asked = await one.submit(begun["id"], "pay")
            headers = {"Authorization": f"Bearer {key['token']}"}
            path = f"/v0/approvals/{asked['approval_id']}"
            assert (await server.plain.get(path, headers=headers)).status_code == 403
            assert (await server.plain.post(f"{path}/grant", headers=headers)).status_code == 204
            granted = await server.get(path)
            assert (granted["decided_by"], granted["asserted_by"]) == ("desk", "desk")
            [listed] = await server.get("/v0/api-keys")
            assert (listed["name"], listed["scopes"], "token" in listed) == ("desk", ["approvals:write"], False)
            for name in ("bootstrap", "anyone", ""):
                await server.post("/v0/api-keys", {"name": name, "scopes": ["approvals:write"]}, status=400)
            for scopes in ([], ["all"], ["approvals:write", "x"], "approvals:write"):
                await server.post("/v0/api-keys", {"name": "k", "scopes": scopes}, status=400)

    play(scenario)


def test_the_numbers_are_told() -> None:
    """Executions, decisions by rule, replays, deliveries, what waits, and model calls that do not say their use."""

    async def scenario(server: Running) -> None:
        async with agent(server, bundle="bundle b\ndefault deny\nrule all {\n  allow any step\n}\n") as one:
            begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            call = await one.submit(begun["id"], "model", kind="llm_call")
            path = f"/v0/executions/{begun['id']}/steps/{call['step_id']}/complete"
            await one.said("POST", path, {"result": {"status": 200, "headers": {}, "body": "{}"}})
            text = (await server.http.get("/metrics")).text
            for line in (
                'rebuno_executions{status="running"} 1.0',
                'rebuno_executions{status="failed"} 0.0',
                'rebuno_decisions_total{decision="proceed",rule_id="all"} 1.0',
                "rebuno_replay_hits_total 0.0",
                "rebuno_policy_latency_seconds_count 1.0",
                "rebuno_dispatch_queue_depth 0.0",
                "rebuno_missing_usage_total 1.0",
                "rebuno_approval_wait_seconds_count 0.0",
            ):
                assert line in text.splitlines(), line

    play(scenario)


def test_where_nobody_can_be_told_the_server_is_well() -> None:
    """An agent that does not answer is no fault of the server's."""

    async def scenario(server: Running) -> None:
        async with inbox() as box:
            url = box.url
        await server.post("/v0/agents", {"id": "agent", "webhook_url": url, "secret": SECRET}, status=201)
        await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
        for path, status in (("/v0/health", "ok"), ("/v0/ready", "ready")):
            assert json.loads((await server.plain.get(path)).content) == {"status": status}

    play(scenario)


def test_a_store_that_is_away_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe learns soon that the server is not ready, and the numbers of this replica are told all the same."""
    monkeypatch.setattr(operators, "READY_SECONDS", 0.1)
    monkeypatch.setattr(metrics, "COUNT_SECONDS", 0.1)

    async def away(serving: Serving) -> Any:
        await asyncio.sleep(60)

    async def scenario(server: Running) -> None:
        assert "rebuno_store_up 1.0" in (await server.plain.get("/metrics")).text.splitlines()
        with monkeypatch.context() as now:
            now.setattr(Serving, "ready", away)
            now.setattr(Serving, "counts", away)
            now.setattr(metrics, "_FRESH", 0.0)
            async with asyncio.timeout(10):
                ready = await server.plain.get("/v0/ready")
                assert (ready.status_code, ready.json()) == (503, {"status": "unavailable"})
                assert (await server.plain.get("/v0/health")).status_code == 200
                await until(lambda: _says(server, "rebuno_store_up 0.0"))
        assert (await server.plain.get("/v0/ready")).status_code == 200
        await until(lambda: _says(server, "rebuno_store_up 1.0"))

    play(scenario)


async def _says(server: Running, line: str) -> bool:
    text = (await server.plain.get("/metrics")).text
    assert "rebuno_replay_hits_total 0.0" in text
    return line in text.splitlines()
