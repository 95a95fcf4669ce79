"""A LangChain agent whose tool kills its process in its first life. `FOLDER URL` are the arguments."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import SecretStr

from rebuno.adapters.langchain import RebunoMiddleware
from tests.adapters.support import guard

FOLDER = Path(sys.argv[1])


def pay(amount: int) -> str:
    """Pays."""
    with (FOLDER / "ledger.txt").open("a") as ledger:
        ledger.write(f"pay {amount}\n")
    os.kill(os.getpid(), signal.SIGKILL)
    return "paid"


def look_up(order: int) -> str:
    """Looks an order up; where it is cut off, it may run again."""
    ledger = FOLDER / "reads.txt"
    first = not ledger.exists()
    with ledger.open("a") as lines:
        lines.write(f"look_up {order}\n")
    if first:
        os.kill(os.getpid(), signal.SIGKILL)
    return "found"


def main() -> None:
    """One life: it goes on from the checkpoints, where there are any."""
    config: Any = {"configurable": {"thread_id": "s1"}}
    with guard(FOLDER) as opened, SqliteSaver.from_conn_string(str(FOLDER / "graph.db")) as checkpoints:
        client = ChatOpenAI(model="simulated", base_url=f"{sys.argv[2]}/v1", api_key=SecretStr("none"), max_retries=0)
        middleware = [RebunoMiddleware(opened, agent="desk", safe={"look_up"})]
        agent: Any = create_agent(client, [pay, look_up], middleware=middleware, checkpointer=checkpoints)
        begun = bool(agent.get_state(config).values)
        result = agent.invoke(None if begun else {"messages": [("user", "pay 3")]}, config)
        sys.stdout.write(result["messages"][-1].text)


main()
