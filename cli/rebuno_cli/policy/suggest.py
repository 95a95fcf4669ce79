"""`rebuno policy suggest`: writes a bundle from what was recorded."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebuno.errors import ValidationError
from rebuno_cli import files, options
from rebuno_cli.policy import backtest_input

if TYPE_CHECKING:
    from rebuno.policy import RecordedStep, Suggestion


@click.command("suggest")
@backtest_input.executions
@backtest_input.since
@click.option("--agent", default="", metavar="NAME", help="Only executions of this agent.")
@click.option("--name", default="", metavar="NAME", help="The bundle's name; without it the agent's.")
@click.option("--tools", default="", metavar="FILE", help="Definitions of the tools, as MCP's `tools/list` gives them.")
@click.option(
    "--often",
    type=options.Number(min=2, max=1000),
    default=2,
    metavar="N",
    help="In how many executions a literal must have been seen.",
)
@click.option("--cases", default="", metavar="FILE", help="Write every step that was seen there, as a case.")
@click.option("--out", "-o", default="", metavar="FILE", help="Write the bundle there; without it it is printed.")
@options.db
@options.as_json
def suggest(
    execution: tuple[str, ...],
    since: str,
    agent: str,
    name: str,
    tools: str,
    often: int,
    cases: str,
    out: str,
    db: str | None,
    as_json: bool,
) -> int:
    """Write the narrowest readable bundle that lets the recorded steps run, and asks about those that were seen once,
    look dangerous, or are tied to neither the request nor a trusted result.

    Without --execution and --since all executions count, also those that were only observed. How many steps the bundle
    lets run is told on standard error. Exit code 0, or 1 when no step was recorded.
    """
    from rebuno.model import identity
    from rebuno.policy import read_hints, suggest_bundle
    from rebuno_cli.render import output
    from rebuno_cli.render.show import show

    if name and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name) is None:
        raise ValidationError(f"`--name`: {name!r} is no name of a bundle; use letters, digits, `_` and `-`")
    hints = read_hints(identity.parse(Path(tools).read_bytes())) if tools else None
    seen: list[list[RecordedStep]] = []
    backtest_input.each(execution, since, db, seen.append)
    # The store gives the newest first.
    chosen = [steps for steps in reversed(seen) if steps and (not agent or steps[0].facts.agent == agent)]
    agents = {steps[0].facts.agent for steps in chosen}
    whose = agent or (agents.pop() if len(agents) == 1 else "")
    found = suggest_bundle(chosen, name=name or whose or "suggested", agent=whose, often=often, hints=hints)
    if not found.steps:
        output.write_text("no step that ran was recorded, so there is nothing to suggest from", to=sys.stderr)
        return 1
    if cases:
        files.replace(Path(cases), found.cases)
    if out:
        files.replace(Path(out), found.bundle)
    if not as_json:
        output.write_text(_told(found), to=sys.stderr)
    told = found.to_json() | {"out": out or None, "cases_out": cases or None}
    show(as_json, lambda: told, lambda: [] if out else found.bundle.removesuffix("\n"))
    return 0


def _told(found: "Suggestion") -> str:
    executions = f"{found.executions} execution{'' if found.executions == 1 else 's'}"
    told = f"of {found.steps} steps in {executions} the bundle lets {found.allowed} run and asks about {found.asks}"
    return told + (f"; {found.left_out} never ran and are left out" if found.left_out else "")
