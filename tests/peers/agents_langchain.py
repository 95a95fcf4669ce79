"""An agent of LangChain, a graph of LangGraph with `langchain-openai`, on the chat API, streamed."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import SecretStr

import rebuno
from tests.peers.agent import main


def agent(url: str, add: Callable[..., Any]) -> Callable[[str], Awaitable[str]]:
    """The handler, with a provider and its tool."""
    tool = StructuredTool.from_function(coroutine=add, name="add")

    async def handler(question: str) -> str:
        async with rebuno.http_client() as client:
            model = ChatOpenAI(
                model="gpt-5",
                base_url=f"{url}/v1",
                api_key=SecretStr("none"),
                http_async_client=client,
                streaming=True,
            ).bind_tools([tool])

            async def ask(state: MessagesState) -> MessagesState:
                return {"messages": [await model.ainvoke(state["messages"])]}

            graph = StateGraph(MessagesState)
            graph.add_node("model", ask)
            graph.add_node("tools", ToolNode([tool]))
            graph.set_entry_point("model")
            graph.add_conditional_edges("model", tools_condition)
            graph.add_edge("tools", "model")
            done = await graph.compile().ainvoke({"messages": [HumanMessage(question)]})
            return str(done["messages"][-1].content)

    return handler


if __name__ == "__main__":
    main(agent)
