"""An agent of Pydantic AI, on the chat API."""

from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import rebuno
from tests.peers.agent import main


def agent(url: str, add: Callable[..., Any]) -> Callable[[str], Awaitable[str]]:
    """The handler, with a provider and its tool."""

    async def handler(question: str) -> str:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", http_client=rebuno.http_client()) as client:
            model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(openai_client=client))
            return (await Agent(model, tools=[add]).run(question)).output

    return handler


if __name__ == "__main__":
    main(agent)
