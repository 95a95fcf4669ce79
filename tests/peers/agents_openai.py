"""An agent of the OpenAI Agents SDK, on the responses API, streamed."""

from collections.abc import Awaitable, Callable
from typing import Any

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

import rebuno
from tests.peers.agent import main


def agent(url: str, add: Callable[..., Any]) -> Callable[[str], Awaitable[str]]:
    """The handler, with a provider and its tool."""
    set_tracing_disabled(True)
    tool = function_tool(add)

    async def handler(question: str) -> str:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", http_client=rebuno.http_client()) as client:
            model = OpenAIResponsesModel(model="gpt-5", openai_client=client)
            run = Runner.run_streamed(Agent(name="adder", model=model, tools=[tool]), question)
            async for _ in run.stream_events():
                pass
            return str(run.final_output)

    return handler


if __name__ == "__main__":
    main(agent)
