"""A process of its own that begins a run and is killed with SIGKILL: `python -m rebuno_cli.verifying.killed PLAN`.

PLAN is a JSON file: `store`, `policy` (the files of the bundle), `run` (its name), `notes`, `at` and `calls`, of which
the last is killed: in its body (`at` is `body`), or when the handler has its outcome (`outcome`).
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import rebuno
from rebuno_cli.verifying.bench import Call, Notes, submit
from rebuno_cli.verifying.probes import Probe


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def _play(plan: dict[str, Any]) -> None:
    calls = [Call(Probe(**one.pop("probe")), **one) for one in plan["calls"]]
    notes = Notes(Path(plan["notes"]))

    async def handler() -> None:
        for call in calls:
            last = call is calls[-1]
            await submit(call, notes, _die if last and plan["at"] == "body" else None)
        _die()

    probe = calls[0].probe
    async with rebuno.open(plan["store"], policy=plan["policy"]) as kernel:
        await kernel.run(handler, probe.input, id=plan["run"], agent=probe.agent, workdir=probe.workdir)


if __name__ == "__main__":
    asyncio.run(_play(json.loads(Path(sys.argv[1]).read_text("utf-8"))))
