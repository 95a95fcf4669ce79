"""Writes a secret through every way into a store: embedded, and over HTTP as clients and agents do."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import rebuno
from rebuno.policy import compile_text
from rebuno.sealing import KeyRing
from rebuno.tracing import span_writer
from tests.server.support import agent, running

PERSON: Final = "ana"
POLICY: Final = 'bundle erase\ndefault allow\nrule ask { require approval for tool "asked" message "may it?" }\n'

SEALED: Final = (
    'bundle sealed\ndefault allow\nsecret tool "vault" at args.password, result.token\nsecret input.pin\n'
    'rule ask { require approval for tool "asked" message f"may {args.to}?" because "x" }\n'
    'rule no { deny tool "denied" because f"not {args.to}" }\n'
)

Secret = Callable[[str], str]


@rebuno.tool("look")
async def look(q: str, answer: str) -> dict[str, str]:
    """Finds something."""
    return {"found": answer}


@rebuno.tool("break")
async def fails(said: str) -> None:
    """Raises what it was told."""
    raise RuntimeError(said)


@rebuno.tool("asked")
async def asked(to: str) -> str:
    """A person is asked before it runs."""
    return to


@rebuno.tool("denied")
async def denied(to: str) -> str:
    """The policy denies it."""
    return to


async def embedded(where: str, ring: KeyRing, secret: Secret, provider: Any) -> list[str]:
    """Runs in this process; the ids of the executions."""

    async def handler(topic: str) -> dict[str, str]:
        await look(secret("arguments"), secret("results"))
        with suppress(rebuno.ToolError):
            await fails(secret("errors"))
        await rebuno.step("plain", lambda text: text + secret("results of steps"), {"text": secret("steps")})
        await asked(secret("questions"))
        return {"output": secret("outputs")}

    async def raises(topic: str) -> None:
        raise ValueError(secret("failures"))

    async def waits(topic: str) -> None:
        await asked(secret("cancelled questions"))

    ids: list[str] = []
    opening = rebuno.open(where, policy=compile_text(POLICY), encrypt=True, key_ring=ring, tracer_provider=provider)
    async with opening as kernel:
        given = {"topic": secret("inputs")}
        first = await kernel.run(handler, given, id="first")
        await kernel.operator.say(first.id, secret("turns"), by=PERSON)
        for question in first.approvals:
            await kernel.operator.grant(question.id, decided_by=PERSON, rationale=secret("rationales"))
        ids.append((await kernel.run(handler, given, id="first")).id)
        ids.append((await kernel.run(raises, {"topic": secret("inputs")}, id="second")).id)
        third = await kernel.run(waits, {"topic": secret("inputs")}, id="third")
        for question in third.approvals:
            await kernel.operator.deny(question.id, decided_by=PERSON, rationale=secret("denials"))
        with suppress(rebuno.ConflictError):
            await kernel.operator.cancel(third.id, reason=secret("reasons"))
        ids.append(third.id)
        fork = await kernel.operator.fork(ids[0], at_seq=6)
        await kernel.operator.cancel(fork.id, reason=secret("reasons of forks"))
        ids.append(fork.id)
    return ids


async def sealed(where: str, ring: KeyRing, secret: Secret, provider: Any) -> list[str]:
    """Runs in this process where only what the bundle calls `secret` is sealed, and told everywhere afterwards; the ids
    of the executions."""

    @rebuno.tool("vault")
    async def vault(password: str) -> dict[str, str]:
        """Gives a token."""
        return {"token": secret("sealed results")}

    async def told(pin: str) -> str:
        found = await vault(secret("sealed arguments"))
        return f"{pin}, {secret('sealed arguments')} and {found['token']}"

    async def handler(topic: str, pin: str) -> dict[str, str]:
        text = await told(pin)
        await look(text, text)
        with suppress(rebuno.ToolError):
            await fails(text)
        with suppress(rebuno.PolicyError):
            await denied(text)
        await rebuno.step("plain", lambda text: text, {"text": text})
        await asked(text)
        return {"output": text}

    async def raises(topic: str, pin: str) -> None:
        raise ValueError(await told(pin))

    ids: list[str] = []
    async with rebuno.open(where, policy=compile_text(SEALED), key_ring=ring, tracer_provider=provider) as kernel:
        given = {"topic": "a topic", "pin": secret("sealed inputs")}
        everything = " ".join(secret(f"sealed {way}") for way in ("arguments", "results", "inputs"))
        first = await kernel.run(handler, given, id="sealed")
        await kernel.operator.say(first.id, everything, by=PERSON)
        for question in first.approvals:
            await kernel.operator.grant(question.id, decided_by=PERSON, rationale=everything)
        done = await kernel.run(handler, given, id="sealed")
        failed = await kernel.run(raises, given, id="sealed and failed")
        retried = await kernel.run(raises, id=(await kernel.operator.retry(failed.id)).id)
        assert [one.status for one in (done, failed, retried)] == ["completed", "failed", "failed"]
        fork = await kernel.operator.fork(done.id, at_seq=8)
        await kernel.operator.cancel(fork.id, reason=everything)
        ids += [done.id, failed.id, retried.id, fork.id]
    return ids


async def served(where: str, ring: KeyRing, secret: Secret, provider: Any) -> tuple[list[str], str]:
    """Runs over HTTP; the ids of the executions, and what the server tells of its metrics."""
    tracing = {"tracer": provider.get_tracer("tests"), "spans": span_writer(provider)}
    async with running(where, key_ring=ring, encrypt=True, **tracing) as server, agent(server) as one:
        given = {"agent_id": "agent", "input": {"ask": secret("served inputs")}, "on_behalf_of": PERSON}
        begun = await server.post("/v0/executions", given, status=201)
        id = await one.take()
        listening = asyncio.create_task(_first_piece(server, id))
        call = {"model": "m", "messages": [{"role": "user", "content": secret("model calls")}]}
        step = await one.submit(id, "https://model/v1", call, kind="llm_call")
        await _publish(one, id, step["step_id"], secret("stream pieces"), listening)
        done = {"choices": [{"message": {"content": secret("model answers")}}], "usage": {"prompt_tokens": 1}}
        await one.said("POST", f"/v0/executions/{id}/steps/{step['step_id']}/complete", {"result": done})
        await server.post(f"/v0/executions/{id}/turns", {"text": secret("served turns")}, status=204)
        broken = await one.submit(id, "tool", {"q": secret("served arguments")})
        failing = f"/v0/executions/{id}/steps/{broken['step_id']}/fail"
        await one.said("POST", failing, {"error": {"type": "E", "message": secret("served errors")}})
        ended = {"output": {"said": secret("served outputs")}, "state": {"kept": secret("states")}}
        await one.said("POST", f"/v0/executions/{id}/complete", ended, status=204)
        other = await server.post("/v0/executions", given | {"input": secret("other inputs")}, status=201)
        await one.take()
        await one.said("POST", f"/v0/executions/{other['id']}/fail", {"error": secret("served failures")}, status=204)
        for path in ("events", "steps", ""):
            await server.get(f"/v0/executions/{id}/{path}".rstrip("/"))
        metrics = (await server.http.get("/metrics")).text
        return [begun["id"], other["id"]], metrics


async def _publish(one: Any, id: str, step_id: str, data: str, listening: "asyncio.Task[str]") -> None:
    """Publishes until the listener has had a piece: one may be published before anybody listens."""
    for seq in range(200):
        await one.said("POST", f"/v0/executions/{id}/steps/{step_id}/stream", {"seq": seq, "data": data}, status=204)
        await asyncio.wait({listening}, timeout=0.05)
        if listening.done():
            assert data in listening.result(), "the listener got another piece"
            return
    raise AssertionError("no piece arrived")


async def _first_piece(server: Any, id: str) -> str:
    async with server.http.stream("GET", f"/v0/executions/{id}/stream") as answer:
        assert answer.status_code == 200, answer.status_code
        async for line in answer.aiter_lines():
            if line.startswith("data:"):
                return str(line)
    return ""


class Kept(logging.Handler):
    """Keeps all that is logged, tracebacks and fields included."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        formatted = logging.Formatter().format(record)
        self.said.append(f"{formatted} {record.__dict__!r}")
