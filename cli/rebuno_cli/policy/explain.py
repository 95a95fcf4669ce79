"""`rebuno policy explain`: shows the decision of a bundle on a step, and why. It runs nothing."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rebuno.errors import ValidationError
from rebuno_cli import files, options

if TYPE_CHECKING:
    from rebuno.policy.testing.cases import Submission


def explain(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="The bundle to ask.")],
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="NAME", help="The tool, model or local step; without it, steps are read."),
    ] = None,
    layer: options.Layers = None,
    kind: Annotated[str, typer.Option(metavar="KIND", help="tool, llm or local.")] = "tool",
    args: Annotated[
        str, typer.Option(metavar="JSON", help="The arguments; @FILE reads a file, - standard input.")
    ] = "",
    input: Annotated[str, typer.Option(metavar="JSON", help="The input of the execution; @FILE and - likewise.")] = "",
    history: Annotated[str, typer.Option(metavar="JSON", help="Earlier steps, a list; @FILE and - likewise.")] = "",
    agent: Annotated[str, typer.Option(metavar="NAME", help="The agent's id.")] = "",
    at: Annotated[str, typer.Option(metavar="TIME", help="When it is asked, as in 2026-01-31T08:30:00Z.")] = "",
    expect: Annotated[
        str,
        typer.Option(metavar="VERDICT", help="allow, deny or require_approval; exit with 1 where another comes."),
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="Show rules about other steps too.")] = False,
    as_json: options.Json = False,
) -> int:
    """Show what a bundle says about one step, and why. Nothing is run and nothing is recorded.

    Without --target, steps are read from standard input, a JSON object a line: {"kind", "target", "args", "input",
    "agent", "history", "at"}, all but "target" optional.

    Exit code 0, or 1 where --expect names another verdict, 2 when the bundle or a step has errors.
    """
    from rebuno.policy import compile
    from rebuno.policy.explain.explain import explain as why
    from rebuno.policy.syntax import source
    from rebuno.policy.testing.reader import VERDICTS
    from rebuno_cli.render import console, output, trace

    if expect and expect not in VERDICTS:
        raise ValidationError(f"`--expect {expect}` is no verdict; one of {', '.join(VERDICTS)}")
    policy = compile.compile_policy([source.read(path) for path in (*(layer or ()), bundle)])
    if target is None:
        if sys.stdin.isatty():
            raise ValidationError("there is no step to explain; give `--target NAME`, or steps on standard input")
        steps = list(_lines())
        if not steps:
            raise ValidationError("standard input holds no step; give a JSON object a line, or `--target NAME`")
    else:
        given = {"args": args, "input": input, "history": history}
        fields = {"kind": kind, "target": target, "agent": agent, **({"at": at} if at else {})}
        steps = [_single(fields, given)]
    differs = False
    for number, step in enumerate(steps):
        told = why(policy, step.facts())
        differs = differs or bool(expect and told.decision.verdict != expect)
        if as_json:
            data = {**told.to_json(), "submission": step.to_json()}
            output.write_json(data, indent=None if target is None else 2)
        else:
            if number:
                output.write_text("")
            console.write([trace.submission(step), *trace.trace(told, every=every)])
            if expect and told.decision.verdict != expect:
                console.write([trace.unexpected(told, expect)])
    return 1 if differs else 0


def _single(fields: dict[str, Any], given: dict[str, str]) -> "Submission":
    from rebuno.model.identity import canonical
    from rebuno.policy.testing.reader import read_submission

    for name, text in given.items():
        if text:
            fields[name] = files.json_value(text, f"--{name}")
    # Words of a command line may hold bytes that are no text.
    canonical(fields)
    return read_submission(fields)


def _lines() -> Iterator["Submission"]:
    from rebuno.policy.testing.reader import read_submission

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
