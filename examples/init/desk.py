"""A help desk agent: it looks an order up, and pays back what it cost."""

import asyncio

import rebuno

ORDERS = {"A17": 12, "B42": 80}


@rebuno.tool
def look_up(order: str) -> int:
    """What an order cost."""
    return ORDERS[order]


@rebuno.tool(idempotency="at_most_once")
def refund(order: str, amount: int) -> str:
    """Pays a sum back."""
    print(f"paid {amount} back for order {order}")
    return "done"


async def desk(order: str) -> str:
    """The agent. A model would choose the tools; this one always does the same."""
    amount = await look_up(order)
    said = await refund(order, amount)
    return f"order {order}: {said}"


async def main() -> None:
    """Run it twice: the large sum waits for a person, and the same line goes on once it is granted."""
    async with rebuno.open("desk.db", policy="desk.rbp") as kernel:
        for order in ORDERS:
            run = await kernel.run(desk, {"order": order}, id=order)
            print(f"{order}: {run.status} {run.output or ''}")
            for asked in run.approvals:
                print(f"{asked.message} Answer: rebuno approval grant {asked.id} --db desk.db, then run this again")


if __name__ == "__main__":
    asyncio.run(main())
