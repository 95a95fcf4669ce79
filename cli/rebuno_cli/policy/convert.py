"""`rebuno policy convert`: converts a YAML bundle of the published kernel to rules."""

from pathlib import Path
from typing import Annotated

import typer

from rebuno_cli import files, options


def convert(
    bundle: Annotated[str, typer.Argument(metavar="FILE", help="The YAML bundle.")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="OUT", help="Write the rules there; without it they are printed.")
    ] = "",
    as_json: options.Json = False,
) -> int:
    """Write a YAML bundle of the published kernel as an .rbp bundle with the same verdicts, or stricter ones.

    What is read otherwise than there is told on standard error. Exit code 0, or 2 when the YAML bundle has errors.
    """
    import sys

    from rebuno.policy.interop.yaml_bundle import read_bundle
    from rebuno.policy.interop.yaml_convert import to_rbp
    from rebuno.policy.syntax.source import read
    from rebuno_cli.render import output

    source = read(bundle)
    text = to_rbp(source).text
    for warning in read_bundle(source).warnings:
        output.write_text(str(warning), to=sys.stderr)
    if out:
        files.replace(Path(out), text)
    if as_json:
        output.write_json({"out": out or None, "text": text})
    elif not out:
        output.write_text(text.removesuffix("\n"))
    return 0
