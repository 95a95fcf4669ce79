"""`rebuno policy inline`: prints a bundle and the files that it uses as one text."""

from typing import Annotated

import typer

from rebuno_cli import options


def inline(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="The bundle to close.")],
    as_json: options.Json = False,
) -> int:
    """Print a bundle with everything that it uses in its place, for where a bundle must be one text.

    Exit code 2 when the bundle has errors.
    """
    from rebuno.policy.inline import inline as closed
    from rebuno_cli.render.output import write_json, write_text

    text = closed(bundle)
    if as_json:
        write_json({"text": text})
    else:
        write_text(text.removesuffix("\n"))
    return 0
