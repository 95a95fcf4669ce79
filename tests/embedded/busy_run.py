"""A process whose run writes without a pause: `python -m tests.embedded.busy_run WHERE`.

It asks a person about one step, while the body of another goes on doing steps until a line is read; then it says how
the run ended.
"""

import asyncio
import sys
from itertools import count

import rebuno
from rebuno.policy import compile_text

POLICY = compile_text(
    'bundle busy\ndefault allow\nrule act { require approval for tool "act" because "ask it" }\n'
    'rule two { require approval for tool "two" approvers "ana", "ben" quorum 2 because "ask them" }\n'
)
# So many branches write at once.
BRANCHES = 4


def say(text: str) -> None:
    """A line to the process that started this one."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def handler() -> list[str]:
    """Two steps that need people, beside one that does not rest."""
    act, two = rebuno.tool("act")(lambda: "acted"), rebuno.tool("two")(lambda: "acted")
    enough = asyncio.ensure_future(asyncio.to_thread(sys.stdin.readline))

    async def writes() -> None:
        numbers = count()
        while not enough.done():
            await rebuno.step("inner", lambda n: n, {"n": next(numbers)}, idempotency="at_most_once")

    async def outer(branch: int) -> None:
        await writes()

    busy = [asyncio.create_task(rebuno.step("outer", outer, {"branch": branch})) for branch in range(BRANCHES)]
    acting = [asyncio.create_task(act()), asyncio.create_task(two())]
    await asyncio.wait({enough, *busy})
    return [str(await task) for task in acting]


async def main(where: str) -> None:
    """One run."""
    async with rebuno.open(where, policy=POLICY) as kernel:
        ended = await kernel.run(handler, id="run", agent="agent")
        say(f"{ended.status} {ended.output} {ended.attempt}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
