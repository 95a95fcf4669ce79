"""How long others wait while one agent's long texts are read and decided about, in milliseconds.

    .venv/bin/python benchmarks/heavy.py [--json] [NAME …]

One task asks for the time at every millisecond while a handler submits the texts that take longest to read, each once,
and while another process sends a server in this one the bodies that do. The worst wait is the longest time for which
the event loop did nothing else: by the clock, which other processes of a busy machine lengthen, and in processor time
that this process spent meanwhile, which they do not. With NAMEs only what contains one of them is measured. The program
ends with 1 where a worst wait takes more than 100 ms of processor time.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

# Run as a program it finds the packages beside it.
sys.path.insert(0, str(Path(__file__).parents[1]))

import rebuno
from benchmarks.heavy_served import BODIES, WAYS, client, serving
from rebuno.policy.compile import compile_text

# The longest wait that is taken, in milliseconds of processor time.
MOST: Final = 100.0
# An argument against what the input says, in each of these ways.
SOUGHT: Final = {
    "date": "date of args.text",
    "mail": "any email of args.text",
    "domain": "every domain of args.text",
    "host": "any host of args.text",
    "link": "any link of args.text",
    "path": "path of args.text",
    "name": "name of args.text",
    "number": "number of args.text",
    "word": "args.text",
}
POLICY: Final = """default deny
known said = input
rule sql { allow tool "query" when every table of args.text == "t" and every function of args.text == "f" }
rule shell { allow tool "shell" when every program of args.text == "ls" }
rule contains { allow tool "contains" when args.text contains "needle" or args.text == input }
""" + "".join(f'rule {name} {{ allow tool "{name}" when {test} in said }}\n' for name, test in SOUGHT.items())
_SAID: Final = "by May 5 2025 pay $1,250 to a@b.example, see http://c.example/d and /srv/e"
# A tool and the text that it is given, and the input of its execution where that matters.
TEXTS: Final[dict[str, tuple[str, str, str]]] = {
    "tables": ("query", "select a from " + "t," * 29_900 + "t", ""),
    "most tokens": ("query", "select a from " + "t," * 2_040 + "t", ""),
    "conditions": ("query", "select a from t where a=1" + " and b=1" * 1_000, ""),
    "64 KiB of words": ("query", "select 1" + " or a" * 13_000, ""),
    "one long text": ("query", "select '" + "a" * 65_000 + "'", ""),
    "shell": ("shell", "ls;" * 21_000, ""),
    "shell words": ("shell", "ls " + "a " * 32_000, ""),
    "substitutions": ("shell", "$(a) " * 12_000, ""),
    "contains": ("contains", "need" * 2_000_000, "need" * 2_000_000),
    "days": ("date", "2025-05-05 " * 6_000, _SAID),
    "no day": ("date", "may 5 " * 174_000, _SAID),
    "digits for a day": ("date", "1" * 1_048_000, _SAID),
    "among days": ("date", "2025-05-05", "until May 5 2025, " * 58_000),
    "among months": ("date", "2025-05-05", "may" * 349_000),
    "among references": ("date", "2025-05-05", "&#116;" * 174_000),
    "mails": ("mail", "a@b.example " * 87_000, _SAID),
    "among mails": ("domain", "a@b.example", "a@" * 524_000),
    "among URLs": ("host", "http://c.example", "http://c.example/d " * 55_000),
    "among letters": ("host", "http://c.example", "é" * 1_048_000),
    "URL": ("link", "http://" + "é" * 1_048_000, _SAID),
    "syllables": ("link", "한" * 1_048_000, _SAID),
    "paths": ("path", "../" * 349_000, _SAID),
    "among paths": ("path", "/a/b", "/a/b/../c " * 20_000),
    "among names": ("name", "b", "may 5 " * 20_000),
    "among numbers": ("number", "1250", "$1,250.00 " * 104_000),
    "among blanks": ("number", "1250", " " * 1_048_000),
    "among words": ("word", "needle", "nee dle " * 131_000),
}


@dataclass(slots=True)
class Wait:
    """The worst wait while a piece of work went on, by the clock and in processor time of this process."""

    clock: float = 0.0
    processor: float = 0.0
    took: float = 0.0


@asynccontextmanager
async def watched() -> AsyncIterator[Wait]:
    """Measures what the others wait while the context is open."""
    found, over = Wait(), asyncio.Event()
    began = time.perf_counter()

    async def look() -> None:
        last = (time.perf_counter(), time.process_time())
        while not over.is_set():
            await asyncio.sleep(0.001)
            now = (time.perf_counter(), time.process_time())
            found.clock = max(found.clock, now[0] - last[0])
            found.processor = max(found.processor, now[1] - last[1])
            last = now

    looking = asyncio.create_task(look())
    try:
        yield found
    finally:
        found.took = time.perf_counter() - began
        over.set()
        await looking


def told(name: str, wait: Wait, **more: str) -> bool:
    """Prints a line; whether the wait is longer than is taken."""
    processor = round(wait.processor * 1_000, 1)
    found = {"worst_wait_ms": round(wait.clock * 1_000, 1), "of_processor_ms": processor}
    print(json.dumps({"text": name, **found, "took_ms": round(wait.took * 1_000), **more}), flush=True)
    return processor > MOST


class Died(BaseException):
    """What a handler ends with that is to be resumed."""


async def embedded(names: Collection[str]) -> list[bool]:
    """Each text submitted once, by a new execution and by one that is resumed under another bundle."""
    over = []
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "heavy.db")
        dies = True

        async def handler(tool: str, text: str) -> None:
            called = rebuno.wrap_tool(tool, lambda args: None, args_schema={"properties": {"text": {}}})
            with suppress(rebuno.PolicyError, rebuno.Blocked):
                await called(text=text)
            if dies:
                raise Died

        for way, policy in (("new", "default allow"), ("resumed", POLICY)):
            dies = way == "new"
            async with rebuno.open(store, policy=compile_text(policy)) as kernel:
                for name in names:
                    tool, text, input = TEXTS[name]
                    run = partial(kernel.run, partial(handler, tool, text), agent="heavy", input=input)
                    id = f"resumed-{name}".replace(" ", "-")
                    if way == "resumed":
                        dies = False
                        async with watched() as wait:
                            await run(id=id.replace("resumed", "new"))
                        over.append(told(name, wait, way="new"))
                    async with watched() as wait:
                        with suppress(Died):
                            await run(id=id)
                    if way == "resumed":
                        over.append(told(name, wait, way="resumed"))
    return over


async def served(names: Collection[str]) -> list[bool]:
    """Each body sent in each way."""
    over = []
    async with serving() as url, client(url) as ask:
        for way in WAYS:
            for name in names:
                async with watched() as wait:
                    said = await ask(way, name)
                over.append(told(name, wait, way=way, said=said))
    return over


async def main(names: Sequence[str]) -> int:
    """Prints the worst wait of each text and body, and how long all of it took."""

    def asked(known: Iterable[str]) -> list[str]:
        return [one for one in known if not names or any(name in one for name in names)]

    over = [*await embedded(asked(TEXTS)), *await served(asked(BODIES))]
    return int(any(over))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="as it is without: one JSON object a line")
    parser.add_argument("name", nargs="*", help="only what has this in its name")
    sys.exit(asyncio.run(main(parser.parse_args().name)))
