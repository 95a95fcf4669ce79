"""`rebuno policy ast`: the syntax tree of a bundle, for programs."""

import click

from rebuno.errors import BundleError
from rebuno_cli import options


@click.command("ast")
@click.argument("bundle", metavar="BUNDLE", help="The bundle to read.")
@options.as_json
def ast(bundle: str, as_json: bool) -> int:
    """Print the syntax tree of a bundle as JSON, with every place and comment.

    Exit code 0, or 2 when the bundle has syntax errors.
    """
    from rebuno.policy import dump_ast, parse_bundle, read_source
    from rebuno_cli.render import output

    tree, found = parse_bundle(read_source(bundle))
    if found:
        raise BundleError(found)
    output.write_json(dump_ast(tree), indent=None if as_json else 2)
    return 0
