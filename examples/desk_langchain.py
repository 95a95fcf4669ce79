"""A help desk on LangChain. It asks a person before much money leaves, and may be killed while it waits."""

import sys

from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from rebuno.adapters import Guard
from rebuno.adapters.langchain import RebunoMiddleware


def note(line: str) -> None:
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{line}\n")


def look_up(order: int) -> dict[str, int]:
    """Looks an order up."""
    note(f"look_up {order}")
    return {"order": order, "paid": 40, "customer": 7}


def refund(order: int, amount: int) -> str:
    """Pays an amount back."""
    note(f"refund {order} {amount}")
    return "refunded"


def delete_customer(customer: int) -> str:
    """Deletes a customer."""
    note(f"delete_customer {customer}")
    return "deleted"


def main(ticket: str, request: str) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": ticket}}
    with Guard("desk.db", policy="helpdesk.rbp") as guard, SqliteSaver.from_conn_string("graph.db") as checkpoints:
        agent = create_agent(
            "openai:gpt-5-mini",
            [look_up, refund, delete_customer],
            name="desk",
            middleware=[RebunoMiddleware(guard, safe={"look_up"})],
            checkpointer=checkpoints,
        )
        if not agent.get_state(config).values:
            agent.invoke({"messages": [{"role": "user", "content": request}]}, config)
        # A new process goes on from the checkpoint of the one that was killed.
        while pauses := agent.get_state(config).interrupts:
            for pause in pauses:
                print(pause.value["waiting"], flush=True)
                while not guard.answered(pause.value["approval_id"], seconds=60):
                    pass
            agent.invoke(Command(resume={pause.id: True for pause in pauses}), config)
        print(agent.get_state(config).values["messages"][-1].text)


main(sys.argv[1], sys.argv[2])
