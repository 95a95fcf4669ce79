"""`rebuno policy convert`: converts a YAML bundle of the published kernel to rules."""

from pathlib import Path

import click

from rebuno_cli import files, options


@click.command("convert")
@click.argument("bundle", metavar="FILE", help="The YAML bundle.")
@click.option("--out", "-o", default="", metavar="OUT", help="Write the rules there; without it they are printed.")
@options.as_json
def convert(bundle: str, out: str, as_json: bool) -> None:
    """Write a YAML bundle of the published kernel as an .rbp bundle with the same verdicts, or stricter ones.

    What is read otherwise than there is told on standard error. Exit code 0, or 2 when the YAML bundle has errors.
    """
    import sys

    from rebuno.policy import convert_yaml_bundle, read_source, read_yaml_bundle
    from rebuno_cli.render import output
    from rebuno_cli.render.show import show

    source = read_source(bundle)
    text = convert_yaml_bundle(source).text
    for warning in read_yaml_bundle(source).warnings:
        output.write_text(str(warning), to=sys.stderr)
    if out:
        files.replace(Path(out), text)
    show(as_json, lambda: {"out": out or None, "text": text}, lambda: [] if out else text.removesuffix("\n"))
