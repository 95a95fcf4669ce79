"""The agents: what each does with its input. They know the published package and nothing else."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, Final

import openai
from pydantic import BaseModel

import rebuno
from tests.conformance.published import tools
from tests.conformance.published.drafts import drafting
from tests.conformance.published.ledger import note


async def tooling(n: int) -> dict[str, Any]:
    """Tools of every sort: sync and async, wrapped, failing, twice the same at once."""
    try:
        said = await tools.broken()
    except rebuno.ToolError as error:
        said = str(error)
    return {
        "sum": await tools.add(n, 2),
        "kept": await tools.keep("é\u2028<&>"),
        "broken": said,
        "found": await tools.lookup(word="cat"),
        "twice": await asyncio.gather(tools.add(1, 1), tools.add(1, 1)),
    }


def _roll() -> str:
    note("roll")
    return secrets.token_hex(4)


def _forbidden() -> str:
    note("forbidden")
    return "done"


async def stepping() -> dict[str, Any]:
    """Local steps before and after a person is asked, and one that is refused."""
    first = await rebuno.step("roll", _roll)
    second = await rebuno.step("roll", _roll)
    paid = await tools.pay(1)
    try:
        refused = await rebuno.step("forbidden", _forbidden)
    except rebuno.PolicyError as error:
        refused = f"{error.rule_id}: {rebuno.failure_reason(error)}"
    return {"rolled": [first, second, await rebuno.step("roll", _roll)], "paid": paid, "refused": refused}


def _model(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", http_client=rebuno.http_client(), max_retries=0)


async def _ask(llm: openai.AsyncOpenAI, model: str, *messages: Any) -> str:
    answer = await llm.chat.completions.create(model=model, messages=list(messages))
    return answer.choices[0].message.content or ""


async def asking(url: str, models: list[str]) -> list[str]:
    """Asks models, a person between the first and the second; a refusal goes where the provider's client lets it."""
    async with _model(url) as llm:
        said = []
        for number, model in enumerate(models):
            if number == 1:
                await tools.pay(number)
            said.append(await _ask(llm, model, {"role": "user", "content": "how are you"}))
        return said


async def streaming(url: str) -> dict[str, Any]:
    """Waits for a person, then streams an answer; after a second question it replays."""
    await tools.pay(1)
    said, tokens = [], 0
    async with _model(url) as llm:
        async for event in await llm.responses.create(model="gpt-5", input="sing", stream=True):
            if event.type == "response.output_text.delta":
                said.append(event.delta)
            elif event.type == "response.completed" and event.response.usage is not None:
                tokens = event.response.usage.total_tokens
    await tools.pay(2)
    return {"words": said, "tokens": tokens}


async def chatting(url: str) -> list[str]:
    """Streams a chat."""
    async with _model(url) as llm:
        stream = await llm.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "sing"}], stream=True
        )
        return [choice.delta.content async for chunk in stream for choice in chunk.choices if choice.delta.content]


async def told(url: str, person: bool) -> str:
    """Gives a refusal's text to a model, as every framework does with what a tool returns."""
    text: str = await tools.pay(7) if person else await tools.mail("eva")
    async with _model(url) as llm:
        await _ask(llm, "gpt-5", {"role": "user", "content": "pay"}, {"role": "user", "content": text})
    return text


async def paying(amount: int) -> str:
    """Asks a person, once."""
    return str(await tools.pay(amount))


async def searching(catch: bool) -> list[str]:
    """One search more than allowed."""
    found = [await tools.search("cats"), await tools.search("dogs")]
    try:
        found.append(await tools.search("birds"))
    except rebuno.RateLimited as refused:
        if not catch:
            raise
        found.append(refused.reason)
    return found


async def fetching(pages: int) -> list[int]:
    """More pages than there is room for at once."""
    return [await tools.fetch(page) for page in range(pages)]


async def counting(path: str) -> rebuno.Result:
    """Goes on from what the one before in its session left."""
    before = await rebuno.previous()
    await tools.linger(path)
    count = (before or {"count": 0})["count"] + 1
    return rebuno.Result(output={"number": count}, state={"count": count})


async def travelling(place: str) -> list[Any]:
    """A safe effect, a question, and an effect that happens at most once."""
    return [await tools.add(1, 2), await tools.pay(3), await tools.keep(place)]


async def leading(tasks: list[Any]) -> list[Any]:
    """Hands tasks to other agents, all at once; what fails is told."""
    done = await asyncio.gather(*(tools.delegate(to, task) for to, task in tasks), return_exceptions=True)
    if any(isinstance(one, rebuno.Blocked) for one in done):
        raise rebuno.Blocked
    return [str(one) if isinstance(one, rebuno.ToolError) else one for one in done]


async def doubling(n: int) -> int:
    """A subagent with a tool."""
    return int(await tools.add(n, n))


def failing(why: str) -> None:
    """A subagent that fails; a handler may be an ordinary function."""
    raise KeyError(why)


async def lingering(path: str, once: bool) -> dict[str, Any]:
    """Is in the middle of a body for as long as somebody wants."""
    sum_ = await tools.add(2, 3)
    try:
        said = await (tools.hold(path) if once else tools.linger(path))
    except rebuno.ToolError as error:
        said = str(error)
    except (asyncio.CancelledError, rebuno.LeaseSuperseded) as stopped:
        note(f"stopped by {type(stopped).__name__}")
        raise
    note("after")
    return {"sum": sum_, "said": said, "kept": await tools.keep("to the end")}


class Order(BaseModel):
    """The input of an agent that validates it."""

    item: str
    count: int = 1


async def ordering(order: Order) -> dict[str, Any]:
    """Takes a model, and gives it back as data."""
    return order.model_dump()


async def echoing(anything: Any) -> Any:
    """Takes whatever there is."""
    return anything


HANDLERS: Final[dict[str, Callable[..., Any]]] = {
    handler.__name__: handler
    for handler in (
        tooling,
        stepping,
        asking,
        streaming,
        chatting,
        told,
        paying,
        searching,
        fetching,
        counting,
        travelling,
        leading,
        doubling,
        failing,
        lingering,
        ordering,
        echoing,
        drafting,
    )
} | {
    # One that is killed, and serves no other scenario.
    "mortal": drafting,
}
