"""One conversation with a model, and what it cost, by whichever version of this project is found first.

Run as a program with the folder of a version in `PYTHONPATH`; one JSON line comes back. The model is a transport in
this process that answers at once: it says so itself, and nothing is sent anywhere.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import apsw
import httpx2
import orjson
import psycopg

import rebuno
from rebuno.policy import compile_text

_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
ROOT: Final = Path(__file__).resolve().parents[1]
POLICY: Final = 'bundle growth\ndefault deny\nrule models { allow llm "*" }\n'
JSON: Final = {"content-type": "application/json"}
# Calls before those that are measured: they load modules and fill caches.
WARM: Final = 5


def prose() -> str:
    """What people write: the pages of this project, without what they repeat."""
    pages = sorted(ROOT.glob("docs/**/*.md"))
    lines = dict.fromkeys(line for page in pages for line in page.read_text(encoding="utf-8").splitlines() if line)
    return "\n".join(lines)


def conversation(turns: int, size: int) -> Iterator[tuple[bytes, str]]:
    """The requests of a conversation, each with its answer: a turn is `size` characters, a quarter of them the answer,
    as where an agent reads what its tools have found."""
    text, at = prose(), 0

    def words(count: int) -> str:
        nonlocal at
        at += count
        if at > len(text):
            raise SystemExit(f"so long a conversation needs more than {len(text):,} characters")
        return text[at - count : at]

    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": words(120), "parameters": {}}}
        for n in range(5)
    ]
    said: list[dict[str, str]] = []
    for _ in range(turns):
        said.append({"role": "user", "content": words(size - size // 4)})
        body = {"model": "simulated", "temperature": 0.7, "tools": tools, "messages": said}
        answer = words(size // 4)
        yield json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(), answer
        said.append({"role": "assistant", "content": answer})


class Meter:
    """Processor time of this process, and of a PostgreSQL by its first process."""

    def __init__(self, server: int) -> None:
        self._server = server

    def seconds(self) -> float:
        """Since they began."""
        return time.process_time() + (self._database() if self._server else 0.0)

    def _database(self) -> float:
        spent = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self._server:
                spent += int(fields[11]) + int(fields[12])
            elif stat.parent.name == str(self._server):
                # With those of its children that have ended.
                spent += sum(map(int, fields[11:15]))
        return spent * _TICK


async def talk(store: str, calls: list[tuple[bytes, str]], meter: Meter) -> float:
    """Has a handler make the calls; how much processor time those after the first few took."""
    answers = dict(calls)
    begun = ended = 0.0

    def model(request: httpx2.Request) -> httpx2.Response:
        said = {"role": "assistant", "content": answers[request.content]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        return httpx2.Response(200, json={"model": "simulated", "choices": [{"message": said}], "usage": usage})

    async def handler() -> int:
        nonlocal begun, ended
        async with rebuno.http_client(transport=httpx2.MockTransport(model)) as client:
            for number, (body, _) in enumerate(calls):
                begun = meter.seconds() if number == WARM else begun
                answer = await client.post(
                    "http://model/v1", content=body, headers={"content-type": "application/json"}
                )
                answer.raise_for_status()
            ended = meter.seconds()
        return len(calls)

    async with rebuno.open(store, policy=compile_text(POLICY)) as kernel:
        execution = await kernel.run(handler)
        if execution.output != len(calls):
            raise SystemExit(f"the run ended as {execution.status}: {execution.failure_reason}")
    return ended - begun


@contextmanager
def bare(store: str) -> Iterator[Callable[[str], object]]:
    """Inserts a text into a table of its own, one commit each, as durably as a store does."""
    if store.startswith("postgresql:"):
        with psycopg.connect(store, autocommit=True) as connection:
            connection.execute("CREATE TABLE bare (n bigserial PRIMARY KEY, text text NOT NULL)")
            yield lambda text: connection.execute("INSERT INTO bare (text) VALUES (%s)", (text,))
        return
    file = apsw.Connection(f"{store}.bare")
    file.pragma("journal_mode", "wal")
    file.pragma("synchronous", "full")
    file.execute("CREATE TABLE bare (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
    yield lambda text: file.execute("INSERT INTO bare (text) VALUES (?)", (text,))
    file.close()


def floor(store: str, bodies: list[bytes], meter: Meter) -> float:
    """Processor time of what no kernel can do without: each body read, hashed and stored."""
    with bare(store) as insert:
        begun = 0.0
        for number, body in enumerate(bodies):
            begun = meter.seconds() if number == WARM else begun
            orjson.loads(body)
            sha256(body).hexdigest()
            insert(body.decode())
        return meter.seconds() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--server", type=int, default=0, help="the first process of the store's PostgreSQL")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--last", type=int, default=0, help="make only the last calls, so many, and measure the floor")
    options = parser.parse_args()
    meter = Meter(options.server)
    calls = list(conversation(options.turns, options.size))[-options.last :]
    report: dict[str, Any] = {"version": str(Path(rebuno.__file__).parents[1]), "request": len(calls[-1][0])}
    report["seconds"] = asyncio.run(talk(options.store, calls, meter)) / (len(calls) - WARM)
    if options.last:
        report["floor"] = floor(options.store, [body for body, _ in calls], meter) / (len(calls) - WARM)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
