"""`rebuno policy check`: reports every mistake in bundles at once."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rebuno_cli import options


class Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def check(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Bundles, case files, or folders of them.")],
    tools: Annotated[
        str, typer.Option("--tools", metavar="FILE", help="Schemas of the tools, as MCP's `tools/list` gives them.")
    ] = "",
    layer: options.Layers = None,
    form: Annotated[Format, typer.Option("--format", help="How findings are written.")] = Format.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 where there are warnings.")] = False,
    as_json: options.Json = False,
) -> int:
    """Report every mistake in bundles and in the case files beside them.

    Exit code 0 when there is none (warnings may be), 1 with --strict when there are warnings, 2 when there are errors.
    """
    from rebuno.model import identity
    from rebuno.policy.analysis.tool_schemas import read_tools
    from rebuno.policy.compile import compile_policy
    from rebuno.policy.syntax.source import read
    from rebuno.policy.testing.discovery import find
    from rebuno.policy.testing.runner import check_suite
    from rebuno_cli.render import annotations, console, diagnostics, output, sarif

    suites = find(paths)
    known = read_tools(identity.parse(Path(tools).read_bytes())) if tools else []
    layers = compile_policy([read(path) for path in layer]).bundles if layer else ()
    checked = [check_suite(suite, tools=known, layers=layers) for suite in suites]
    found = [d for one in checked for d in one.diagnostics]
    if as_json or form is Format.JSON:
        output.write_json(diagnostics.check_json(checked))
    elif form is Format.SARIF:
        output.write_json(sarif.log(found))
    elif form is Format.GITHUB:
        for line in annotations.commands(found):
            output.write_text(line)
    else:
        texts = {path: text for one in checked for path, text in one.texts.items()}
        console.write([*diagnostics.diagnostics(found, texts, output.width(sys.stdout))])
        console.write([diagnostics.counts(found, len(checked))])
    if not all(one.sound for one in checked):
        return 2
    return int(strict and bool(found))
