"""The agents whose runs were recorded here. What they do must stay: the recordings are of these very steps."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx2

import rebuno
from rebuno.policy import Policy, compile_text

BUNDLE = """\
bundle histories
default deny because "not listed"

known read = result of tool "histories.fetch" at text

rule reads {
  allow tool "histories.fetch"
}

rule says {
  allow tool "histories.say"
  when args.text in read or args.text starts with "plain"
  because "plain words, or words that were read"
}

rule pays {
  require approval for tool "histories.pay"
  because "money"
  message "Really pay?"
}

rule models {
  allow llm "*"
}
"""


@rebuno.tool("histories.fetch")
async def fetch(n: int, lang: str = "en") -> dict[str, Any]:
    return {"text": f"text {n} in {lang}", "n": n, "odd": 'é "\\\u0007\u2028 <&>', "real": 1.0, "big": 10**30}


@rebuno.tool("histories.say", idempotency="at_most_once")
async def say(text: str) -> str:
    return f"said {text}"


@rebuno.tool("histories.pay", idempotency="at_most_once")
async def pay(amount: int) -> str:
    return f"paid {amount}"


@rebuno.tool("histories.shell")
async def shell(command: str) -> None:
    """Denied."""


def breaks(why: str) -> None:
    raise OSError(why)


async def tools(input: dict[str, Any]) -> list[object]:
    """Tools of both idempotencies: one that a rule on what was read allows, one denied, one asked twice."""
    first = await fetch(input["n"])
    again = await fetch(input["n"])
    return [first, again, await say(first["text"]), await say("other words"), await shell("rm -rf /")]


async def locals_(input: dict[str, Any]) -> list[object]:
    """Local steps, plain and asynchronous, whose values lead the way."""
    kinds = [int, float, str, list]
    seen: list[object] = []
    for number in range(await rebuno.step("how many", lambda: 5)):
        seen.append(await rebuno.step("value", lambda n: [kinds[n % 4].__name__, n * 1.5], {"n": number}))
    return [*seen, await rebuno.step("none", lambda: None)]


async def parallel(input: dict[str, Any]) -> list[object]:
    """Branches side by side, in groups and in rows."""

    async def row(lang: str) -> list[object]:
        return [await fetch(n, lang) for n in range(3)]

    async with asyncio.TaskGroup() as group:
        first = group.create_task(fetch(7))
        second = group.create_task(say("plain talk"))
    return [await asyncio.gather(*(row(lang) for lang in ("en", "de", "fr"))), first.result(), second.result()]


async def nested(input: dict[str, Any]) -> list[object]:
    """Steps inside bodies, two deep, the same ones in two bodies."""

    async def inner(n: int) -> list[object]:
        return [await fetch(n), await rebuno.step("innermost", lambda: fetch(n))]

    return [await rebuno.step("outer", inner, {"n": n}) for n in (1, 1, 2)]


async def failures(input: dict[str, Any]) -> object:
    """Bodies that raise, a result that is no JSON, a cancelled step; and an end by an exception."""
    told = []
    steps: tuple[Callable[[], Awaitable[Any]], ...] = (
        lambda: rebuno.step("breaks", breaks, {"why": "no <disk>"}),
        lambda: rebuno.step("unfit", lambda: {1, 2}),
        lambda: rebuno.step("breaks", breaks, {"why": "again"}),
    )
    for step in steps:
        try:
            await step()
        except rebuno.ToolError as error:
            told.append(str(error))
    try:
        await asyncio.wait_for(rebuno.step("slow", asyncio.sleep, {"delay": 60}), 0.02)
    except TimeoutError:
        told.append("too slow")
    raise LookupError(", ".join(told))


async def approvals(input: dict[str, Any]) -> list[object]:
    """A question that is granted and one that is denied."""
    await fetch(1)
    return [await pay(10), await pay(20)]


async def waiting(input: dict[str, Any]) -> object:
    """A question that nobody has answered, beside steps that went on."""
    await fetch(1)
    return await asyncio.gather(pay(10), fetch(2), fetch(3))


async def cut_off(input: dict[str, Any]) -> object:
    """A body that was still running when its process was gone."""
    await fetch(1)
    return await rebuno.step("endless", asyncio.Event().wait, idempotency="at_most_once")


ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "small",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "plain answer"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
}
STREAM = b'data: {"choices":[{"delta":{"content":"plain "}}]}\n\ndata: {"choices":[{"delta":{"content":"words"}}]}\n\n'


def provider(request: httpx2.Request) -> httpx2.Response:
    """A provider that always says the same, as JSON or as a stream."""
    if b"stream" in request.content:
        return httpx2.Response(200, content=STREAM, headers={"content-type": "text/event-stream"})
    return httpx2.Response(200, json=ANSWER)


async def model(input: dict[str, Any]) -> list[object]:
    """A model call whose answer a tool is given, and a stream."""
    url = "https://models.example/v1/chat/completions"
    said: list[object] = []
    async with rebuno.http_client(transport=httpx2.MockTransport(provider)) as client:
        answer = await client.post(url, json={"model": "small", "messages": [{"role": "user", "content": "say"}]})
        said.append(await say(answer.json()["choices"][0]["message"]["content"]))
        async with client.stream("POST", url, json={"model": "small", "messages": [], "stream": True}) as streamed:
            said += [line async for line in streamed.aiter_lines() if line]
    return said


async def ended(kernel: rebuno.Kernel, run: Callable[[], Awaitable[rebuno.Execution]]) -> None:
    """Runs to the end."""
    await run()


async def answered(kernel: rebuno.Kernel, run: Callable[[], Awaitable[rebuno.Execution]]) -> None:
    """Runs to the end; a person grants the first question and denies the next."""
    await kernel.operator.grant((await run()).approvals[0].id, decided_by="ana", rationale="fine")
    await kernel.operator.deny((await run()).approvals[0].id, decided_by="bo", rationale="too much")
    await run()


async def stopped(kernel: rebuno.Kernel, run: Callable[[], Awaitable[rebuno.Execution]]) -> None:
    """Runs until a step waits, and is taken away."""
    running = asyncio.ensure_future(run())
    await asyncio.sleep(0.3)
    running.cancel()
    await asyncio.wait({running})


@dataclass(frozen=True, slots=True)
class Program:
    """An agent, how it was recorded, and the status in which the recording leaves it."""

    handler: Callable[..., Any]
    how: Callable[[rebuno.Kernel, Callable[[], Awaitable[rebuno.Execution]]], Awaitable[None]] = ended
    status: str = "completed"


PROGRAMS = {
    "tools": Program(tools),
    "locals": Program(locals_),
    "parallel": Program(parallel),
    "nested": Program(nested),
    "failures": Program(failures, status="failed"),
    "approvals": Program(approvals, answered),
    "waiting": Program(waiting, status="blocked"),
    "cut-off": Program(cut_off, stopped, "running"),
    "model": Program(model),
}
INPUT = {"n": 1, "text": "é <b>", "list": [1, 1.0, None, True]}


def policy() -> Policy:
    """What all of them ran under."""
    return compile_text(BUNDLE)
