"""`rebuno policy check`: everything that is wrong with bundles, at once."""

import sys
from typing import Annotated

import typer

from rebuno_cli import options


def check(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Bundles, case files, or folders of them.")],
    as_json: options.Json = False,
) -> int:
    """Report every mistake in bundles and in the case files beside them.

    Exit code 0 when there is none (warnings may be), 2 when there are errors.
    """
    from rebuno.policy.cases_find import find
    from rebuno.policy.cases_suite import check_suite
    from rebuno_cli.render import console, diagnostics, output

    checked = [check_suite(suite) for suite in find(paths)]
    found = [d for one in checked for d in one.diagnostics]
    sound = all(one.sound for one in checked)
    if as_json:
        output.write_json(diagnostics.check_json(checked))
    else:
        texts = {path: text for one in checked for path, text in one.texts.items()}
        console.write([*diagnostics.diagnostics(found, texts, output.width(sys.stdout))])
        console.write([diagnostics.counts(found, len(checked))])
    return 0 if sound else 2
