"""Executions over HTTP: begun, run by an agent, looked at, ended."""

import logging
from typing import Any

import pytest

from rebuno.model import identity
from tests.server.support import SECRET, TOKEN, Running, agent, fits, play, until

EXECUTION = "/v0/executions"


def test_an_execution_is_run_by_its_agent() -> None:
    """From the webhook over a step to the output; what is shown is whole and has no field too many."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTION, {"agent_id": "agent", "input": {"q": 1}}, status=201)
            fits("Execution", begun)
            assert (begun["status"], begun["input"], begun["created_by"]) == ("running", {"q": 1}, "bootstrap")
            path = f"{EXECUTION}/{begun['id']}"
            assert await one.take() == begun["id"]
            assert (await one.said("GET", path))["id"] == begun["id"]
            decision = await one.submit(begun["id"])
            assert decision == {"decision": "proceed", "step_id": decision["step_id"]}
            step = f"{path}/steps/{decision['step_id']}"
            assert await one.said("POST", f"{step}/complete", {"result": [1]}) == {"decision": "recorded"}
            assert await one.said("POST", f"{step}/complete", {"result": [2]}) == {
                "decision": "replay",
                "step_id": decision["step_id"],
                "result": [1],
            }
            await one.said("POST", f"{path}/heartbeat", status=204)
            assert await one.said("POST", f"{path}/suspend") == {"suspended": False}
            await one.said("POST", f"{path}/complete", {"output": {"a": None}}, status=204)
            ended = await server.get(path)
            fits("Execution", ended)
            assert (ended["status"], ended["output"]) == ("completed", {"a": None})
            [row] = await server.get(f"{path}/steps")
            fits("Step", row)
            assert (row["result"], row["status"], row["kind"]) == ([1], "succeeded", "tool_call")
            assert await one.said("GET", step) == row
            events = await server.get(f"{path}/events")
            for event in events:
                fits("Event", event)
            assert [event["event_seq"] for event in events] == list(range(1, len(events) + 1))
            assert events[-1]["hash"] == ended["head_hash"]

    play(scenario)


def test_values_leave_as_they_came() -> None:
    """Integers of any size, NUL and every character survive input, args, result and output."""
    odd = '{"big":123456789012345678901234567890123456789,"nul":"\\u0000","é":"😀","real":1.0,"tiny":1e-07}'

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            body = f'{{"agent_id":"agent","input":{odd}}}'
            answer = await server.http.post(EXECUTION, content=body.encode())
            id = identity.parse(answer.content)["id"]
            path = f"{EXECUTION}/{id}"
            await one.take()
            asked = f'{{"kind":"tool_call","target":"t","args":{odd},"idempotency":"safe_to_retry"}}'.encode()
            step = (await one.said("POST", f"{path}/steps", asked))["step_id"]
            await one.said("POST", f"{path}/steps/{step}/complete", f'{{"result":{odd}}}'.encode())
            await one.said("POST", f"{path}/complete", f'{{"output":{odd}}}'.encode(), status=204)
            found = identity.parse((await server.http.get(path)).content)
            [row] = identity.parse((await server.http.get(f"{path}/steps")).content)
            wanted = identity.canonical(identity.parse(odd))
            for value in (found["input"], found["output"], row["args"], row["result"]):
                assert identity.canonical(value) == wanted

    play(scenario)


def test_a_failure_is_an_object() -> None:
    """What an agent reports as an error is kept as it is where it is an object, and as a message where it is not."""
    told: list[tuple[Any, Any]] = [
        ({"message": "m"}, {"message": "m"}),
        ({"reason": "r", "more": 1}, {"reason": "r", "more": 1}),
        ("text", {"message": "text"}),
        (["a", 1], {"message": '["a",1]'}),
        (None, {"message": "null"}),
    ]

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTION, {"agent_id": "agent"}, status=201)
            path = f"{EXECUTION}/{begun['id']}"
            await one.take()
            for number, (given, kept) in enumerate(told):
                step = (await one.submit(begun["id"], args={"n": number}))["step_id"]
                await one.said("POST", f"{path}/steps/{step}/fail", {"error": given, "captures": None})
                assert (await server.get(f"{path}/steps/{step}"))["error"] == kept
            await one.said("POST", f"{path}/fail", {"error": "agent_error: x"}, status=204)
            ended = await server.get(path)
            assert (ended["status"], ended["failure_reason"]) == ("failed", "agent_error: x")

    play(scenario)


def test_a_list_is_read_page_by_page() -> None:
    """Newest first, each once; the cursor of one page leads to the next."""

    async def scenario(server: Running) -> None:
        async with agent(server):
            made = [(await server.post(EXECUTION, {"agent_id": "agent"}, status=201))["id"] for _ in range(5)]
            seen: list[str] = []
            page = await server.get(EXECUTION, params={"limit": 2})
            while True:
                fits("Page", page)
                seen += [row["id"] for row in page["executions"]]
                if "next_cursor" not in page:
                    break
                page = await server.get(EXECUTION, params={"limit": 2, "cursor": page["next_cursor"]})
            assert seen == made[::-1]
            assert (await server.get(EXECUTION, params={"agent_id": "other"}))["executions"] == []
            running = await server.get(EXECUTION, params={"status": "running", "limit": 1000})
            assert len(running["executions"]) == 5

    play(scenario)


def test_events_are_read_from_where_one_stopped() -> None:
    """`after_seq` is the last one seen; a limit that is too large is the largest, and 0 or less is none."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTION, {"agent_id": "agent"}, status=201)
            await one.take()
            path = f"{EXECUTION}/{begun['id']}/events"

            async def acked() -> bool:
                return bool((await server.get(path))[-1]["type"] == "dispatch.acked")

            await until(acked)
            whole = await server.get(path, params={"limit": 10**6})
            assert await server.get(path, params={"after_seq": 1}) == whole[1:]
            assert await server.get(path, params={"limit": 1}) == whole[:1]
            for limit in (0, -5):
                assert await server.get(path, params={"limit": limit}) == whole

    play(scenario)


def test_a_cancelled_execution_stops_its_agent() -> None:
    """The lease is gone with it, and a second cancellation comes too late."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTION, {"agent_id": "agent"}, status=201)
            path = f"{EXECUTION}/{begun['id']}"
            await one.take()
            await server.post(f"{path}/cancel", status=204)
            assert (await server.post(f"{path}/cancel", status=409))["code"] in ("conflict", "execution_terminal")
            assert (await one.said("POST", f"{path}/heartbeat", status=409))["code"] == "lease_superseded"
            assert await one.submit(begun["id"]) == {"decision": "execution_terminal"}

    play(scenario)


def test_an_approval_is_asked_for_and_granted() -> None:
    """The step waits, an operator grants it, the agent is told again, and the step goes ahead."""
    bundle = 'bundle b\ndefault deny\nrule ask {\n  require approval for tool "pay"\n  because "money"\n}\n'

    async def scenario(server: Running) -> None:
        async with agent(server, bundle=bundle) as one:
            begun = await server.post(EXECUTION, {"agent_id": "agent"}, status=201)
            path = f"{EXECUTION}/{begun['id']}"
            await one.take()
            denied = await one.submit(begun["id"], "steal")
            assert (denied["decision"], denied["rule_id"]) == ("denied", "default")
            assert denied["reason"]
            asked = await one.submit(begun["id"], "pay", {"eur": 5})
            assert asked["decision"] == "blocked"
            assert await one.said("POST", f"{path}/suspend") == {"suspended": True}
            shown = await server.get(path)
            assert shown["status"] == "blocked"
            assert shown["blocked_on"] == [
                {"type": "approval", "id": asked["approval_id"], "step_id": asked["step_id"]}
            ]
            [question] = await server.get("/v0/approvals")
            assert (question["id"], question["target"], question["args"]) == (asked["approval_id"], "pay", {"eur": 5})
            await server.post(f"/v0/approvals/{question['id']}/grant", {"rationale": "fine"}, status=204)
            late = await server.post(f"/v0/approvals/{question['id']}/deny", {}, status=409)
            assert late["code"] == "conflict"
            granted = await server.get(f"/v0/approvals/{question['id']}")
            assert (granted["decided_by"], granted["asserted_by"]) == ("bootstrap", "bootstrap")
            await one.take()
            assert (await one.submit(begun["id"], "steal"))["decision"] == "denied"
            assert (await one.submit(begun["id"], "pay", {"eur": 5}))["decision"] == "proceed"

    play(scenario)


def test_a_session_hands_its_state_on() -> None:
    """The second execution of a session waits for the first and finds its state; without one it is the output."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            first = await server.post(EXECUTION, {"agent_id": "agent", "session": "s"}, status=201)
            second = await server.post(EXECUTION, {"agent_id": "agent", "session": "s"}, status=201)
            assert (first["status"], second["status"]) == ("running", "pending")
            assert await one.take() == first["id"]
            assert await one.said("GET", f"{EXECUTION}/{first['id']}/previous") == {"state": None}
            body = {"output": "o", "state": {"n": 1}}
            await one.said("POST", f"{EXECUTION}/{first['id']}/complete", body, status=204)
            assert await one.take() == second["id"]
            assert await server.get(f"{EXECUTION}/{second['id']}/previous") == {"state": {"n": 1}}
            await one.said("POST", f"{EXECUTION}/{second['id']}/complete", {"output": "o"}, status=204)
            third = await server.post(EXECUTION, {"agent_id": "agent", "session": "s"}, status=201)
            assert await server.get(f"{EXECUTION}/{third['id']}/previous") == {"state": "o"}

    play(scenario)


def test_a_fork_begins_in_the_middle() -> None:
    """It takes over the events up to one of them, and says from where."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTION, {"agent_id": "agent"}, status=201)
            path = f"{EXECUTION}/{begun['id']}"
            await one.take()
            await one.said("POST", f"{path}/complete", {"output": 1}, status=204)
            points = await server.get(f"{path}/fork-points")
            assert points == {"latest_seq": points["latest_seq"], "resources": {}, "checkpoints": []}
            fork = await server.post(f"{path}/fork", {"at_seq": 2}, status=201)
            assert (fork["forked_from"], fork["fork_seq"]) == (begun["id"], 2)
            await server.post(f"{path}/fork", {"at_seq": points["latest_seq"] + 1}, status=400)

    play(scenario)


def test_a_dispatch_that_was_refused_is_delivered_again() -> None:
    """Anything but 200 is no acknowledgement; the next attempt fences the one before."""

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            one.inbox.status = 500
            begun = await server.post(EXECUTION, {"agent_id": "agent"}, status=201)
            path = f"{EXECUTION}/{begun['id']}"
            await one.take()
            old = one.dispatch
            one.inbox.status = 200
            await one.take()
            assert one.dispatch != old
            await one.said("POST", f"{path}/heartbeat", status=204)
            one.dispatch = old
            assert (await one.said("POST", f"{path}/heartbeat", status=409))["code"] == "lease_superseded"

            async def counted() -> bool:
                text = (await server.http.get("/metrics")).text
                return 'rebuno_dispatch_attempts_total{status="500"} 1.0' in text

            await until(counted)

    play(scenario)


def test_the_log_says_whose_execution_it_was(caplog: pytest.LogCaptureFixture) -> None:
    """Each record of a decision or of an end brings the ids, and nothing of what was decided about."""
    caplog.set_level(logging.DEBUG, logger="rebuno")

    async def scenario(server: Running) -> None:
        async with agent(server) as one:
            begun = await server.post(EXECUTION, {"agent_id": "agent", "input": "hush"}, status=201)
            await one.take()
            step = (await one.submit(begun["id"], args={"word": "hush"}))["step_id"]
            await one.said("POST", f"{EXECUTION}/{begun['id']}/complete", {"output": "hush"}, status=204)
            told = {record.getMessage(): record.__dict__ for record in caplog.records}
            for message in ("execution begun", "proceed look", "execution completed"):
                assert told[message]["execution_id"] == begun["id"]
            assert told["proceed look"]["step_id"] == step
            for secret in ("hush", SECRET, TOKEN, one.dispatch["Rebuno-Dispatch-Id"]):
                assert secret not in str([record.__dict__ for record in caplog.records])

    play(scenario)
