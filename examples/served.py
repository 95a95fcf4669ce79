"""Pays bills, told of them by a server."""

import rebuno


@rebuno.tool(idempotency="at_most_once")
def pay(account: str, amount: int) -> str:
    return f"paid {amount} to {account}"


async def agent(account: str, amount: int) -> object:
    return await pay(account, amount)


if __name__ == "__main__":
    rebuno.Agent("banker").run(agent, port=5000)
