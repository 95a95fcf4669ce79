"""A help desk on Strands Agents. It asks a person before much money leaves, and may be killed while it waits."""

import json
import sys
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.session.file_session_manager import FileSessionManager

from rebuno.adapters import Guard
from rebuno.adapters.strands import RebunoIntervention


def note(line: str) -> None:
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{line}\n")


@tool
def look_up(order: int) -> dict[str, Any]:
    """Looks an order up."""
    note(f"look_up {order}")
    return {"status": "success", "content": [{"json": {"order": order, "paid": 40, "customer": 7}}]}


@tool
def refund(order: int, amount: int) -> str:
    """Pays an amount back."""
    note(f"refund {order} {amount}")
    return "refunded"


@tool
def delete_customer(customer: int) -> str:
    """Deletes a customer."""
    note(f"delete_customer {customer}")
    return "deleted"


def main(ticket: str, request: str) -> None:
    paused = Path(f"{ticket}.json")
    with Guard("desk.db", policy="helpdesk.rbp") as guard:
        agent = Agent(
            model=OpenAIModel(model_id="gpt-5-mini"),
            name="desk",
            tools=[look_up, refund, delete_customer],
            interventions=[RebunoIntervention(guard, safe={"look_up"})],
            session_manager=FileSessionManager(ticket, "sessions"),
            callback_handler=None,
        )
        questions = json.loads(paused.read_text()) if paused.exists() else {}
        while True:
            for question in questions.values():
                print(question["waiting"], flush=True)
                while not guard.answered(question["approval_id"], seconds=60):
                    pass
            answers: Any = [
                {"interruptResponse": {"interruptId": pause, "response": "answered"}} for pause in questions
            ]
            result = agent(answers or request)
            if result.stop_reason != "interrupt":
                print(str(result).strip())
                return
            # From here on a new process goes on where this one waits.
            questions = {pause.id: pause.reason for pause in result.interrupts or ()}
            paused.write_text(json.dumps(questions))


main(sys.argv[1], sys.argv[2])
