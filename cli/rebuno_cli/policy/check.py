"""`rebuno policy check`: reports every mistake in bundles at once."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebuno_cli import files, options

if TYPE_CHECKING:
    from rebuno_cli.render.show import Item

_FORMATS = ["text", "json", "github", "sarif"]


@click.command("check")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    help="Bundles, case files, or folders of them; - for a bundle on standard input.",
)
@click.option("--tools", default="", metavar="FILE", help="Schemas of the tools, as MCP's `tools/list` gives them.")
@options.layers
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="How findings are written.",
)
@click.option("--strict", is_flag=True, help="End with 1 where there are warnings.")
@options.as_json
def check(paths: tuple[str, ...], tools: str, layer: tuple[str, ...], form: str, strict: bool, as_json: bool) -> int:
    """Report every mistake in bundles and in the case files beside them.

    Exit code 0 when there is none (warnings may be), 1 with --strict when there are warnings, 2 when there are errors.
    """
    from rebuno.model import identity
    from rebuno.policy import Source, check_source, check_suite, compile_policy, find_bundles, read_source, read_tools
    from rebuno_cli.render import annotations, diagnostics, output, sarif
    from rebuno_cli.render.show import show

    piped = [Source(files.standard_input(), "<stdin>", folder=Path())] if "-" in paths else []
    suites = find_bundles([path for path in paths if path != "-"])
    known = read_tools(identity.parse(Path(tools).read_bytes())) if tools else []
    layers = compile_policy([read_source(path) for path in layer]).bundles if layer else ()
    checked = [check_source(source, tools=known, layers=layers) for source in piped]
    checked += [check_suite(suite, tools=known, layers=layers) for suite in suites]
    found = [d for one in checked for d in one.diagnostics]
    texts = {path: text for one in checked for path, text in one.texts.items()}

    def listed() -> "Iterator[Item]":
        yield from diagnostics.diagnostics(found, texts, output.width(sys.stdout))
        yield diagnostics.counts(found, len(checked))

    match "json" if as_json else form:
        case "sarif":
            output.write_json(sarif.log(found))
        case "github":
            for line in annotations.commands(found):
                output.write_text(line)
        case wanted:
            show(wanted == "json", lambda: diagnostics.check_json(checked), listed)
    if not all(one.sound for one in checked):
        return 2
    return int(strict and any(not one.accepted for one in found))
