"""`rebuno policy fmt`: formats bundles."""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rebuno.errors import BundleError, ValidationError
from rebuno_cli import files, options

if TYPE_CHECKING:
    from rebuno.policy.syntax.source import Source


def fmt(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Bundles or folders of them; - for standard input.")
    ],
    check: Annotated[bool, typer.Option("--check", help="Write nothing; end with 1 if a file would change.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show what would change.")] = False,
    as_json: options.Json = False,
) -> int:
    """Write bundles in the one layout, keeping every comment. Only files that change are written.

    Exit code 0, with --check 1 when a file would change, 2 when a bundle has syntax errors (it stays as it is).
    """
    from rebuno.policy.format.format import format_bundle
    from rebuno_cli.render import output

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
    if as_json:
        output.write_json({"files": sources, "changed": changed})
    elif not diff and paths != ["-"]:
        _say(changed, sources, check)
    if broken:
        raise BundleError([finding for error in broken for finding in error.diagnostics])
    return 1 if check and changed else 0


def _sources(paths: list[str], broken: list[BundleError]) -> "Iterator[tuple[Path | None, Source]]":
    from rebuno.policy.syntax.source import Source, read
    from rebuno.policy.testing.discovery import find

    if "-" in paths:
        if len(paths) > 1:
            raise ValidationError("`-` stands alone; format files in a command of their own")
        yield None, Source(files.standard_input(), "<stdin>")
        return
    for suite in find(paths):
        if suite.bundle is None:
            continue
        try:
            yield suite.bundle, read(suite.bundle)
        except BundleError as error:
            broken.append(error)


def _show(source: "Source", text: str) -> None:
    from rebuno_cli.render import escape, output

    old, new = source.text.splitlines(), text.splitlines()
    for line in difflib.unified_diff(old, new, source.path, f"{source.path} (formatted)", lineterm=""):
        output.write_text(escape.escape(line, None))


def _say(changed: list[str], sources: int, check: bool) -> None:
    from rebuno_cli.render import diagnostics, escape, output

    for path in changed:
        output.write_text(f"{'would change' if check else 'formatted'} {escape.escape(path, None)}")
    output.write_text(f"{len(changed)} of {diagnostics.counted(sources, 'file')} {'differ' if check else 'changed'}")
