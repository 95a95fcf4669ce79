"""`rebuno policy explain`: shows the decision of a bundle on a step, and why. It runs nothing."""

import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rebuno.errors import ValidationError
from rebuno_cli import files, options

if TYPE_CHECKING:
    from rebuno.policy import CaseSubmission, Trace
    from rebuno_cli.render.show import Item


@click.command("explain")
@click.argument("bundle", metavar="BUNDLE", help="The bundle to ask.")
@click.option("--target", metavar="NAME", help="The tool, model or local step; without it, steps are read.")
@options.layers
@click.option("--kind", default="tool", show_default=True, metavar="KIND", help="tool, llm or local.")
@click.option("--args", default="", metavar="JSON", help="The arguments; @FILE reads a file, - standard input.")
@click.option("--input", default="", metavar="JSON", help="The input of the execution; @FILE and - likewise.")
@click.option("--history", default="", metavar="JSON", help="Earlier steps, a list; @FILE and - likewise.")
@click.option("--agent", default="", metavar="NAME", help="The agent's id.")
@click.option("--workdir", default="", metavar="PATH", help="The folder of the session.")
@click.option("--at", default="", metavar="TIME", help="When it is asked, as in 2026-01-31T08:30:00Z.")
@click.option(
    "--expect", default="", metavar="VERDICT", help="allow, deny or require_approval; exit with 1 where another comes."
)
@click.option("--all", "every", is_flag=True, help="Show rules about other steps too.")
@options.as_json
def explain(
    bundle: str,
    target: str | None,
    layer: tuple[str, ...],
    kind: str,
    args: str,
    input: str,
    history: str,
    agent: str,
    workdir: str,
    at: str,
    expect: str,
    every: bool,
    as_json: bool,
) -> int:
    """Show what a bundle says about one step, and why. Nothing is run and nothing is recorded.

    Without --target, steps are read from standard input, a JSON object a line: {"kind", "target", "args", "input",
    "agent", "workdir", "history", "at"}, all but "target" optional.

    Exit code 0, or 1 where --expect names another verdict, 2 when the bundle or a step has errors.
    """
    from rebuno.policy import CASE_VERDICTS, compile_policy, read_source
    from rebuno.policy import explain_decision as why
    from rebuno_cli.render.show import show

    if expect and expect not in CASE_VERDICTS:
        raise ValidationError(f"`--expect {expect}` is no verdict; one of {', '.join(CASE_VERDICTS)}")
    policy = compile_policy([read_source(path) for path in (*layer, bundle)])
    if target is None:
        if sys.stdin.isatty():
            raise ValidationError("there is no step to explain; give `--target NAME`, or steps on standard input")
        steps = list(_lines())
        if not steps:
            raise ValidationError("standard input holds no step; give a JSON object a line, or `--target NAME`")
    else:
        given = {"args": args, "input": input, "history": history}
        more = {name: value for name, value in (("at", at), ("workdir", workdir)) if value}
        fields = {"kind": kind, "target": target, "agent": agent, **more}
        steps = [_single(fields, given)]
    differs = False
    for number, step in enumerate(steps):
        told = why(policy, step.facts())
        other = bool(expect and told.decision.verdict != expect)
        differs = differs or other
        show(
            as_json,
            partial(_data, told, step),
            partial(_view, told, step, first=not number, every=every, unexpected=expect if other else ""),
            indent=None if target is None else 2,
        )
    return 1 if differs else 0


def _data(told: "Trace", step: "CaseSubmission") -> dict[str, Any]:
    return {**told.to_json(), "submission": step.to_json()}


def _view(told: "Trace", step: "CaseSubmission", *, first: bool, every: bool, unexpected: str) -> "Iterator[Item]":
    from rebuno_cli.render import trace

    if not first:
        yield ""
    yield trace.submission(step)
    yield from trace.trace(told, every=every)
    if unexpected:
        yield trace.unexpected(told, unexpected)


def _single(fields: dict[str, Any], given: dict[str, str]) -> "CaseSubmission":
    from rebuno.model.identity import canonical
    from rebuno.policy import read_submission

    for name, text in given.items():
        if text:
            fields[name] = files.json_value(text, f"--{name}")
    # Words of a command line may hold bytes that are no text.
    canonical(fields)
    return read_submission(fields)


def _lines() -> Iterator["CaseSubmission"]:
    from rebuno.policy import read_submission

    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            where = f"line {number}"
            yield read_submission(_json(line, where), where)


def _json(text: str | bytes, where: str) -> Any:
    from rebuno.model.identity import parse

    try:
        return parse(text)
    except ValidationError as error:
        raise ValidationError(f"{where}: {error.message}") from None
