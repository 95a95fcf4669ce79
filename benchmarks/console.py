"""What a page of the console costs the server: processor time, on a store of 10,000 runs and a run of 10,000 steps.

    python benchmarks/console.py --json

Writes `{"pages": {name: p95_ms}, "largest_kb"}`: for each page the time of the processor in milliseconds that 95 of 100
requests stay below, of all threads of the process (the store's too, on SQLite), and the weight of the heaviest page
with all that it loads, uncompressed, in kilobytes. The requests are handed to the application without a socket, so that
what sends them is counted as well.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx2
from starlette.applications import Starlette

from rebuno.console import ConsoleSettings, mounted, static
from rebuno.journal.opening import open_store
from rebuno.journal.records import ApprovalRow, ApprovalWrite, Batch, ExecutionRow, ExecutionWrite, NewEvent, StepRow
from rebuno.journal.records import StepWrite as Write
from rebuno.journal.served import ServedStore
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.server.app import assemble

RUNS: Final = 10_000
STEPS: Final = 10_000
QUESTIONS: Final = 200
REQUESTS: Final = 20
TOKEN: Final = "a-token-for-the-benchmark"
BUNDLE: Final = 'bundle shop\ndefault deny because "nothing else"\n\n' + "\n".join(
    f'rule r{number} {{\n  allow tool "tool_{number}"\n}}\n' for number in range(40)
)
_AGENTS: Final = ("shop", "desk", "mail")


def _step(run: str, number: int, status: StepStatus, **changes: Any) -> StepRow:
    kind = Kind.LLM if number % 5 == 0 else Kind.TOOL
    args = json.dumps({"order": f"A-{number}", "text": "words " * 20}, separators=(",", ":"))
    made = StepRow(
        f"{run}{number:030d}"[-64:].rjust(64, "0"),
        run,
        "",
        kind,
        f"tool_{number % 40}",
        args,
        f"{number:064d}",
        0,
        Idempotency.SAFE,
        status,
        "allow",
        f"r{number % 40}",
        "shop",
        "digest",
        "",
        attempt=1,
        result='{"answer":"' + "result " * 20 + '"}' if status is StepStatus.SUCCEEDED else None,
    )
    return replace(made, **changes)


def _id(number: int) -> str:
    return f"{number:08d}-0000-7000-8000-000000000000"


async def _run(store: ServedStore, number: int, steps: int) -> None:
    """A run of so many steps; the newest ones ask."""
    id, asks = _id(number), number >= RUNS - QUESTIONS
    status = ExecutionStatus.RUNNING
    row = ExecutionRow(id, _AGENTS[number % 3], f"key-{number}", status, '{"q":"' + "word " * 30 + '"}', "digest")
    await store.create(row, [NewEvent("execution.created", {}), NewEvent("execution.started", _START)])
    batch: Batch | None = None
    for start in range(0, steps, 500):
        numbers = range(start, min(start + 500, steps))
        events: list[NewEvent] = []
        writes: list[Write] = []
        for one in numbers:
            at = len(events)
            step = _step(id, one, StepStatus.SUCCEEDED, input_tokens=900, output_tokens=90)
            payload = {"step_id": step.step_id}
            events += [NewEvent("step.executing", {**payload, "attempt": 1}), NewEvent("step.succeeded", payload)]
            writes.append(Write(step, at, at, at + 1))
        batch = Batch(id, tuple(events), tuple(writes))
        store.write(batch)
    if asks:
        step = _step(id, steps, StepStatus.AWAITING, verdict="require_approval", rule_id="pay", result=None)
        asked = ApprovalRow(f"{number:08d}-a", id, step.step_id, "policy", "pending", "May it?", "pay", "digest")
        events = [NewEvent("step.awaiting_approval", {"step_id": step.step_id}), NewEvent("approval.requested", {})]
        batch = Batch(id, tuple(events), (Write(step, 0),), (ApprovalWrite(asked, requested=1),))
        store.write(batch)
    if number % 2 and not asks:
        ended = ExecutionWrite(ExecutionStatus.COMPLETED, output="42", attempt=1)
        batch = Batch(id, (NewEvent("execution.completed", {"replayed": 0}),), execution=ended)
        store.write(batch)
    if batch is not None:
        await batch.committed


_START: Final = {"attempt": 1, "host": "host", "pid": 1, "digest": "digest"}


async def _fill(store: ServedStore, runs: int, steps: int) -> None:
    await store.save_bundle("digest", [("shop.rbp", BUNDLE)])
    for start in range(0, runs, 200):
        await asyncio.gather(*(_run(store, number, 3) for number in range(start, min(start + 200, runs))))
    await _run(store, runs, steps)


@asynccontextmanager
async def _browser(db: str, runs: int, steps: int) -> AsyncIterator[httpx2.AsyncClient]:
    store = await open_store(db)
    try:
        await _fill(store, runs, steps)
        server = assemble(store, bearer_token=TOKEN)
        application = Starlette(routes=mounted(server, ConsoleSettings()))
        base = "http://127.0.0.1:1"
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url=base) as client:
            await client.post("/console/sign-in", data={"key": TOKEN}, headers={"origin": base})
            yield client
    finally:
        await store.close()


def _places(runs: int, steps: int) -> dict[str, str]:
    long, last = f"/console/runs/{_id(runs)}", steps // 100 * 100 - 100
    return {
        "questions": "/console/questions",
        "runs": "/console/runs",
        "runs of an agent": "/console/runs?agent=desk&status=completed",
        "runs by a rule": "/console/runs?rule=pay",
        "runs that no step fits": "/console/runs?rule=none",
        "runs of a person": "/console/runs?person=nobody",
        "run of 10,000 steps": long,
        "its last page": f"{long}?from={last}",
        "its events": f"{long}/events?after={steps}",
        "step": f"{long}?step=3",
        "policy": "/console/policy?agent=shop",
        "agents": "/console/agents",
        "audit": "/console/audit?days=90&in=3&out=15",
    }


async def measure(runs: int, steps: int, requests: int) -> dict[str, Any]:
    """The numbers."""
    pages: dict[str, float] = {}
    largest = 0
    loaded = sum(len(static.content(name)) for name in static.FILES)
    with TemporaryDirectory() as folder:
        async with _browser(str(Path(folder) / "console.db"), runs, steps) as client:
            for name, place in _places(runs, steps).items():
                times: list[float] = []
                for _ in range(requests + 1):
                    before = time.process_time()
                    answer = await client.get(place)
                    times.append((time.process_time() - before) * 1000)
                    if answer.status_code != 200:
                        raise RuntimeError(f"{place}: {answer.status_code}")
                # The first request of a page fills caches.
                pages[name] = round(statistics.quantiles(times[1:], n=20, method="inclusive")[-1], 1)
                largest = max(largest, len(answer.content) + loaded)
    return {"pages": pages, "largest_kb": round(largest / 1000, 1)}


def main() -> None:
    """Measures, and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object, and nothing else")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    given = parser.parse_args()
    result = asyncio.run(measure(given.runs, given.steps, given.requests))
    if given.json:
        sys.stdout.write(json.dumps(result) + "\n")
        return
    for name, milliseconds in result["pages"].items():
        sys.stdout.write(f"{name:<24} {milliseconds:>8.1f} ms\n")
    sys.stdout.write(f"{'the heaviest page':<24} {result['largest_kb']:>8.1f} kB\n")


if __name__ == "__main__":
    main()
