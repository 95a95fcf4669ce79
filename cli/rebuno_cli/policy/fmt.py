"""`rebuno policy fmt`: formats bundles."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebuno.errors import BundleError, ValidationError
from rebuno_cli import files, options

if TYPE_CHECKING:
    from rebuno.policy import Source


@click.command("fmt")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", help="Bundles or folders of them; - for standard input."
)
@click.option("--check", is_flag=True, help="Write nothing; end with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@options.as_json
def fmt(paths: tuple[str, ...], check: bool, diff: bool, as_json: bool) -> int:
    """Write bundles in the one layout, keeping every comment. Only files that change are written.

    Exit code 0, with --check 1 when a file would change, 2 when a bundle has syntax errors (it stays as it is).
    """
    from rebuno.policy import format_bundle
    from rebuno_cli.render import output
    from rebuno_cli.render.show import show

    changed: list[str] = []
    broken: list[BundleError] = []
    sources = 0
    for path, source in _sources(paths, broken):
        sources += 1
        try:
            text = format_bundle(source)
        except BundleError as error:
            broken.append(error)
            continue
        if text != source.text:
            changed.append(source.path)
        if diff:
            _show(source, text)
        elif path is None and not check:
            output.write_text(text.removesuffix("\n"))
        elif path is not None and text != source.text and not check:
            files.replace(path, text)
    told = [] if diff or paths == ("-",) else _told(changed, sources, check)
    show(as_json, lambda: {"files": sources, "changed": changed}, lambda: told)
    if broken:
        raise BundleError([finding for error in broken for finding in error.diagnostics])
    return 1 if check and changed else 0


def _sources(paths: Sequence[str], broken: list[BundleError]) -> "Iterator[tuple[Path | None, Source]]":
    from rebuno.policy import Source, find_bundles, read_source

    if "-" in paths:
        if len(paths) > 1:
            raise ValidationError("`-` stands alone; format files in a command of their own")
        yield None, Source(files.standard_input(), "<stdin>")
        return
    for suite in find_bundles(paths):
        if suite.bundle is None:
            continue
        try:
            yield suite.bundle, read_source(suite.bundle)
        except BundleError as error:
            broken.append(error)


def _show(source: "Source", text: str) -> None:
    import difflib

    from rebuno_cli.render import escape, output

    old, new = source.text.splitlines(), text.splitlines()
    for line in difflib.unified_diff(old, new, source.path, f"{source.path} (formatted)", lineterm=""):
        output.write_text(escape.escape(line, None))


def _told(changed: list[str], sources: int, check: bool) -> list[str]:
    from rebuno_cli.render import diagnostics, escape

    lines = [f"{'would change' if check else 'formatted'} {escape.escape(path, None)}" for path in changed]
    count = f"{len(changed)} of {diagnostics.counted(sources, 'file')}"
    return [*lines, f"{count} {'differ' if check else 'changed'}"]
