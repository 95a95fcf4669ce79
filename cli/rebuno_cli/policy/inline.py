"""`rebuno policy inline`: prints a bundle and the files that it uses as one text."""

import click

from rebuno_cli import options


@click.command("inline")
@click.argument("bundle", metavar="BUNDLE", help="The bundle to close.")
@options.as_json
def inline(bundle: str, as_json: bool) -> None:
    """Print a bundle with everything that it uses in its place, for where a bundle must be one text.

    Exit code 2 when the bundle has errors.
    """
    from rebuno.policy import inline_bundle as closed
    from rebuno_cli.render.show import show

    text = closed(bundle)
    show(as_json, lambda: {"text": text}, lambda: text.removesuffix("\n"))
