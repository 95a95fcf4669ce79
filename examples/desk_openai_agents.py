"""A help desk on the OpenAI Agents SDK. It asks a person before much money leaves, and may be killed while it waits."""

import asyncio
import sys
from asyncio import to_thread
from pathlib import Path
from typing import Any

from agents import Agent, Runner, RunState, function_tool, set_tracing_disabled

from rebuno.adapters import Guard
from rebuno.adapters.openai_agents import guarded


def note(line: str) -> None:
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{line}\n")


@function_tool
def look_up(order: int) -> dict[str, int]:
    """Looks an order up."""
    note(f"look_up {order}")
    return {"order": order, "paid": 40, "customer": 7}


@function_tool
def refund(order: int, amount: int) -> str:
    """Pays an amount back."""
    note(f"refund {order} {amount}")
    return "refunded"


@function_tool
def delete_customer(customer: int) -> str:
    """Deletes a customer."""
    note(f"delete_customer {customer}")
    return "deleted"


async def main(ticket: str, request: str) -> None:
    paused = Path(f"{ticket}.json")
    with Guard("desk.db", policy="helpdesk.rbp") as guard:
        tools = guarded([look_up, refund, delete_customer], guard, session=ticket, agent="desk", safe={"look_up"})
        agent = Agent(name="desk", model="gpt-5-mini", tools=tools)
        if not await to_thread(paused.exists):
            await guard.asay(ticket, "desk", request)
            run = await Runner.run(agent, request)
            await to_thread(paused.write_text, run.to_state().to_string())
        while True:
            # A new process goes on from the state that the one that was killed has left.
            state: RunState[Any] = await RunState.from_string(agent, await to_thread(paused.read_text))
            for question in await guard.apending(ticket, "desk"):
                print(f"{question.message} rebuno approval grant {question.id} --db desk.db", flush=True)
                while not await guard.aanswered(question.id, seconds=60):
                    pass
            for item in state.get_interruptions():
                state.approve(item)
            run = await Runner.run(agent, state)
            if not run.interruptions:
                print(run.final_output)
                return
            await to_thread(paused.write_text, run.to_state().to_string())


set_tracing_disabled(True)
asyncio.run(main(sys.argv[1], sys.argv[2]))
