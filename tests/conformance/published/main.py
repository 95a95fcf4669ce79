"""Plays every scenario against a server that runs, and prints what became of each as JSON."""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Final

import rebuno
from tests.conformance.published import checkpoints, effects, lives, people
from tests.conformance.published.handlers import HANDLERS
from tests.conformance.published.world import World, free_ports, listens, world

Scenario = Callable[[World], Awaitable[None]]

# Side by side, since most of them wait.
TOGETHER: Final[tuple[Scenario, ...]] = (
    effects.tools_run_and_are_recorded,
    effects.steps_replay,
    effects.models_answer,
    effects.models_stream,
    effects.chats_stream,
    effects.models_are_refused,
    effects.models_wait_for_a_person,
    effects.models_are_limited,
    effects.a_denial_is_told_to_the_model,
    effects.limits_refuse,
    effects.limits_park,
    people.approvals_are_granted,
    people.approvals_are_denied,
    people.sessions_run_in_turn,
    people.forks_replay_their_beginning,
    people.forks_take_a_bundle,
    people.keys_make_executions_once,
    people.mistakes_have_types,
    people.keys_are_scoped,
    people.inputs_are_bound,
    people.agents_say_what_they_take,
    checkpoints.forks_begin_with_checkpoints,
    checkpoints.forks_between_checkpoints_begin_before_them,
    checkpoints.failed_steps_are_captured,
    checkpoints.sessions_keep_their_resources,
    lives.subagents_work_side_by_side,
    lives.subagents_fail_and_are_asked,
    lives.a_parents_end_is_its_subagents,
)
# One after another: they share an agent that they kill and move.
APART: Final[tuple[Scenario, ...]] = (
    lives.cancelled_handlers_stop,
    lives.killed_agents_are_resumed,
    lives.replaced_attempts_are_fenced,
    checkpoints.resources_outlive_killed_agents,
)


async def play(scenario: Scenario, around: World) -> dict[str, object]:
    """One scenario: whether it passed, in how many seconds, and else why not."""
    began = time.monotonic()
    (wrong,) = await asyncio.gather(scenario(around), return_exceptions=True)
    error = "".join(traceback.format_exception(wrong)) if wrong is not None else ""
    seconds = round(time.monotonic() - began, 2)
    doc = (scenario.__doc__ or "").strip()
    return {"name": scenario.__name__, "says": doc, "passed": not error, "seconds": seconds, "error": error}


async def together(around: World, scenarios: list[Scenario]) -> list[dict[str, object]]:
    return await asyncio.gather(*(play(scenario, around) for scenario in scenarios))


async def apart(around: World, scenarios: list[Scenario]) -> list[dict[str, object]]:
    return [await play(scenario, around) for scenario in scenarios]


async def run(url: str, token: str, bundle: str, only: str) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        async with world(url, token, Path(folder)) as around:
            ports = dict(zip(HANDLERS, free_ports(len(HANDLERS)), strict=True))
            around.start(ports)
            for name, port in ports.items():
                await around.register(name, port)
                await around.allow(name, bundle)
            for port in ports.values():
                await listens(port)
            chosen = [one for one in TOGETHER if only in one.__name__]
            rest = [one for one in APART if only in one.__name__]
            done, last = await asyncio.gather(together(around, chosen), apart(around, rest))
            return done + last


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip())
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--bundle", required=True, help="the path of the agents' bundle")
    parser.add_argument("--only", default="", help="a part of the names of scenarios")
    options = parser.parse_args()
    assert rebuno.__file__ is not None
    assert Path(rebuno.__file__).is_relative_to(sys.prefix), "this is not the published package"
    bundle = Path(options.bundle).read_text(encoding="utf-8")
    results = asyncio.run(run(options.url, options.token, bundle, options.only))
    print(json.dumps({"rebuno": version("rebuno"), "results": results}))


if __name__ == "__main__":
    main()
