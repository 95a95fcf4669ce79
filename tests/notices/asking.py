"""An agent whose calls wait for a person: `python -m tests.notices.asking STORE FILE N` runs N of them, and stays."""

import asyncio
import sys
from pathlib import Path

import rebuno
from rebuno.policy import compile_text

POLICY = """\
bundle letters
default deny because "not a tool of this agent"
rule send {
  require approval for tool "send"
  expires 1h
  message "May it be sent?"
  because "somebody looks at every letter"
}
"""


@rebuno.tool
async def send(to: str) -> str:
    """Would send it."""
    return f"sent to {to}"


async def letter(to: str) -> str:
    """Sends one letter."""
    return str(await send(to=to))


async def main(store: Path, file: Path, number: int) -> None:
    """Asks, and goes on telling until it is killed."""
    async with rebuno.open(store, policy=compile_text(POLICY), notify=file) as kernel:
        for each in range(number):
            await kernel.run(letter, {"to": f"person-{each}"}, id=f"letter-{each}", agent="clerk")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
