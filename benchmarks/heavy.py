"""How long others wait while one agent's long texts are decided about, in milliseconds.

    .venv/bin/python benchmarks/heavy.py

One task asks for the time at every millisecond while a handler submits the texts that take longest to read, each once.
The worst wait is the longest time for which the event loop did nothing else: by the clock, which other processes of a
busy machine lengthen, and in processor time that this process spent meanwhile, which they do not.
"""

import asyncio
import json
import sys
import time
from contextlib import suppress
from pathlib import Path

# Run as a program it finds the packages beside it.
sys.path.insert(0, str(Path(__file__).parents[1]))

import rebuno
from rebuno.policy import compile_text

POLICY = """default deny
rule sql { allow tool "query" when every table of args.text == "t" and every function of args.text == "f" }
rule shell { allow tool "shell" when every program of args.text == "ls" }
"""
TEXTS = {
    "tables": ("query", "select a from " + "t," * 29_900 + "t"),
    "most tokens": ("query", "select a from " + "t," * 2_040 + "t"),
    "conditions": ("query", "select a from t where a=1" + " and b=1" * 1_000),
    "64 KiB of words": ("query", "select 1" + " or a" * 13_000),
    "one long text": ("query", "select '" + "a" * 65_000 + "'"),
    "shell": ("shell", "ls;" * 21_000),
    "shell words": ("shell", "ls " + "a " * 32_000),
    "substitutions": ("shell", "$(a) " * 12_000),
}


async def waits(stop: asyncio.Event) -> tuple[float, float]:
    """The worst wait until `stop` is set, by the clock and in processor time of this process."""
    worst, last = (0.0, 0.0), (time.perf_counter(), time.process_time())
    while not stop.is_set():
        await asyncio.sleep(0.001)
        now = (time.perf_counter(), time.process_time())
        worst, last = (max(worst[0], now[0] - last[0]), max(worst[1], now[1] - last[1])), now
    return worst[0] * 1_000, worst[1] * 1_000


async def main() -> None:
    """Prints the worst wait of each text, and how long its decision took."""
    async with rebuno.open(":memory:", policy=compile_text(POLICY)) as kernel:
        for name, (tool, text) in TEXTS.items():
            stop = asyncio.Event()
            watching = asyncio.create_task(waits(stop))

            async def handler(tool: str = tool, text: str = text) -> None:
                called = rebuno.wrap_tool(tool, lambda args: None, args_schema={"properties": {"text": {}}})
                with suppress(rebuno.PolicyError):
                    await called(text=text)

            began = time.perf_counter()
            await kernel.run(handler, id=f"heavy-{name}".replace(" ", "-"), agent="heavy")
            took = (time.perf_counter() - began) * 1_000
            stop.set()
            clock, processor = await watching
            found = {"worst_wait_ms": round(clock, 1), "of_processor_ms": round(processor, 1), "took_ms": round(took)}
            print(json.dumps({"text": name, **found}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
