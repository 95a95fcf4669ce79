"""A process that pays: `serve PORT` is the agent of a server, `run STORE PAYMENTS` a kernel of its own that makes
payments, a JSON list of inputs, all at once; it prints what became of each."""

import asyncio
import json
import sys
from typing import Any

import rebuno
from rebuno.policy import compile_text
from tests.acceptance.paying.job import BUNDLE, NAME, work


async def paid(store: str, payments: list[dict[str, Any]]) -> list[str]:
    """What became of each payment, all made at once in a kernel of this process."""
    async with rebuno.open(store, policy=compile_text(BUNDLE)) as kernel:

        async def pays(payment: dict[str, Any]) -> str:
            done = await kernel.run(work, payment, id=f"own-{payment['n']}", agent="own")
            return str(done.output)

        return await asyncio.gather(*map(pays, payments))


def main() -> None:
    """Serves, or pays."""
    if sys.argv[1] == "serve":
        rebuno.Agent(NAME).run(work, host="127.0.0.1", port=int(sys.argv[2]))
    else:
        sys.stdout.write(json.dumps(asyncio.run(paid(sys.argv[2], json.loads(sys.argv[3])))))


if __name__ == "__main__":
    main()
