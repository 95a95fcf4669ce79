"""A help desk on the Claude Agent SDK. It asks a person before much money leaves, and may be killed while it waits."""

import asyncio
import os
import sys
from asyncio import to_thread
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from rebuno.adapters import Guard
from rebuno.adapters.claude_agent import rebuno_hooks


def done(line: str) -> dict[str, Any]:
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{line}\n")
    return {"content": [{"type": "text", "text": f"done: {line}"}]}


@tool("look_up", "Looks an order up.", {"order": int})
async def look_up(args: dict[str, Any]) -> dict[str, Any]:
    return done(f"look_up {args['order']}")


@tool("refund", "Pays an amount back.", {"order": int, "amount": int})
async def refund(args: dict[str, Any]) -> dict[str, Any]:
    return done(f"refund {args['order']} {args['amount']}")


@tool("delete_customer", "Deletes a customer.", {"customer": int})
async def delete_customer(args: dict[str, Any]) -> dict[str, Any]:
    return done(f"delete_customer {args['customer']}")


async def run(guard: Guard, prompt: str, session: str | None) -> ResultMessage:
    """One run: a new one, or one that goes on where an earlier process stopped."""
    options = ClaudeAgentOptions(
        hooks=rebuno_hooks(guard),
        mcp_servers={"desk": create_sdk_mcp_server("desk", tools=[look_up, refund, delete_customer])},
        cwd=os.getcwd(),
        resume=session,
        setting_sources=[],
    )
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            return message
    raise RuntimeError("the agent ended without a result")


async def main(ticket: str, request: str) -> None:
    paused = Path(f"{ticket}.session")
    with Guard("desk.db", policy="helpdesk.rbp") as guard:
        session = await to_thread(paused.read_text) if await to_thread(paused.exists) else None
        result = None
        if session is None:
            result = await run(guard, request, None)
            session = result.session_id
            await to_thread(paused.write_text, session)
        # A new process goes on from the session that the one that was killed has left.
        while result is None or result.deferred_tool_use:
            for question in await guard.apending(session, "claude-code"):
                print(f"{question.message} rebuno approval grant {question.id} --db desk.db", flush=True)
                while not await guard.aanswered(question.id, seconds=60):
                    pass
            result = await run(guard, "", session)
        print(result.result)


asyncio.run(main(sys.argv[1], sys.argv[2]))
