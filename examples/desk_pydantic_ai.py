"""A help desk on Pydantic AI. It asks a person before much money leaves, and may be killed while it waits."""

import json
import sys
from pathlib import Path

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessagesTypeAdapter

from rebuno.adapters import Guard
from rebuno.adapters.pydantic_ai import RebunoCapability


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
    paused = Path(f"{ticket}.json")
    with Guard("desk.db", policy="helpdesk.rbp") as guard:
        agent = Agent(
            "openai:gpt-5-mini",
            name="desk",
            tools=[look_up, refund, delete_customer],
            output_type=[str, DeferredToolRequests],
            capabilities=[RebunoCapability(guard, session=ticket, safe={"look_up"})],
        )
        state = json.loads(paused.read_text()) if paused.exists() else None
        while True:
            if state is None:
                run = agent.run_sync(request)
            else:
                for question in state["questions"].values():
                    print(question["waiting"], flush=True)
                    while not guard.answered(question["approval_id"], seconds=60):
                        pass
                run = agent.run_sync(
                    message_history=ModelMessagesTypeAdapter.validate_python(state["history"]),
                    deferred_tool_results=DeferredToolResults(approvals=dict.fromkeys(state["questions"], True)),
                )
            if not isinstance(run.output, DeferredToolRequests):
                print(run.output)
                return
            # From here on a new process goes on where this one waits.
            state = {"history": json.loads(run.all_messages_json()), "questions": run.output.metadata}
            paused.write_text(json.dumps(state))


main(sys.argv[1], sys.argv[2])
