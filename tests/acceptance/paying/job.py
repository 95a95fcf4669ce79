"""What payers do: each pays one amount from a limit that all share, and notes in a ledger what became of it."""

import json
import os
from pathlib import Path
from typing import Final

import rebuno

NAME: Final = "payer"
LEDGER: Final = "POTS_LEDGER"
LIMIT: Final = 500
BUNDLE: Final = f"""
bundle pots
default deny because "not a tool of this agent"

limit daily = {LIMIT} of args.amount per 24h for all agents together

rule pay {{
  allow tool "pay"
  limit daily
}}
"""


@rebuno.tool(idempotency="at_most_once")
async def pay(amount: float, declined: bool, n: int) -> str:
    """Pays, unless the bank declines it: then nothing is done."""
    _note(n, amount, "declined" if declined else "paid")
    if declined:
        raise rebuno.NothingDone("declined")
    return "paid"


def _note(n: int, amount: float, how: str) -> None:
    # One write a line, which no other process cuts in two.
    with Path(os.environ[LEDGER]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([n, amount, how]) + "\n")


async def work(amount: float, declined: bool, n: int) -> str:
    """One payment; what became of it."""
    try:
        return str(await pay(amount, declined, n))
    except rebuno.RateLimited:
        return "refused"
    except rebuno.ToolError:
        return "declined"
