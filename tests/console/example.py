"""A store as a team has it: the agent of a help desk looks things up, is denied, is asked about, and goes on."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import rebuno
from rebuno.model.step import Kind
from rebuno.sdk.context import current

POLICY: Final = """bundle desk
default deny because "not a task of the help desk"

rule models {
  allow llm "*"
}

rule look_up {
  allow tool "get_*", "search_*"
}

rule small_refund {
  allow tool "refund"
  when args.amount <= 50
}

rule refund {
  require approval for tool "refund"
  when args.amount <= 500
  expires 2h
  message "May this order be refunded?"
  because "more than 50 is given back"
}
"""
AGENT: Final = "help-desk"


async def _call(target: str, args: Any, result: Any, seconds: float, kind: Kind = Kind.TOOL) -> Any:
    execution = current()
    assert execution is not None

    async def body() -> Any:
        await asyncio.sleep(seconds)
        return result

    once = "at_most_once" if target == "refund" else "safe_to_retry"
    return await execution.invoke(kind, target, args, body, idempotency=once)


async def _think(text: str, given: int, made: int, seconds: float) -> Any:
    body = json.dumps({"usage": {"prompt_tokens": given, "completion_tokens": made}, "choices": []})
    messages = {"model": "gpt-5", "messages": [{"role": "user", "content": text}]}
    return await _call(
        "gpt-5",
        messages,
        {"status": 200, "headers": {"content-type": "application/json"}, "body": body},
        seconds,
        Kind.LLM,
    )


async def desk(given: Any) -> str:
    """One case of the help desk."""
    order, amount = given["order"], given["amount"]
    await _think(f"refund for {order}?", 1840, 95, 0.35)
    await asyncio.gather(
        _call("get_order", {"order": order}, {"order": order, "paid": amount}, 0.12),
        _call("get_customer", {"customer": "C-77"}, {"name": "Ada"}, 0.2),
        _call("search_mail", {"query": order}, [], 0.3),
    )
    try:
        await _call("delete_ticket", {"ticket": 12}, None, 0.0)
    except rebuno.PolicyError:
        await _think("the ticket stays", 2010, 40, 0.2)
    await _call("refund", {"order": order, "amount": amount, "note": "arrived broken"}, {"refunded": amount}, 0.25)
    await _think("tell the customer", 2300, 160, 0.3)
    return "refunded"


async def fill(path: Path, store: str = "") -> str:
    """Fills the store at `path`, or the other `store`; the id of a run that was asked about and went on. Two questions
    are open."""
    bundle = path.parent / "desk.rbp"
    bundle.write_text(POLICY, encoding="utf-8")
    async with rebuno.open(store or path, policy=bundle) as kernel:

        async def run(id: str, order: str, amount: int) -> rebuno.types.Execution:
            return await kernel.run(desk, {"order": order, "amount": amount}, id=id, agent=AGENT)

        first = await run("case-1", "A-1041", 90)
        [question] = await kernel.operator.approvals(status="pending")
        await kernel.operator.grant(question.id, decided_by="ann", rationale="the photo shows it")
        await run("case-1", "A-1041", 90)
        await run("case-2", "A-1042", 20)
        await run("case-3", "A-1043", 240)
        await run("case-4", "A-1044", 120)
        return first.id
