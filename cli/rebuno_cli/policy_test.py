"""`rebuno policy test`: runs the cases beside bundles."""

import sys
from typing import Annotated

import typer

from rebuno_cli import options


def run(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Bundles, case files, or folders of them.")],
    case: Annotated[str, typer.Option("--case", metavar="TEXT", help="Only cases with this text in their name.")] = "",
    as_json: options.Json = False,
) -> int:
    """Ask each bundle about the cases in its `.policytest.yaml` file.

    Exit code 0 when all come out as expected, 1 when one does not, 2 when a bundle or a case file has errors.
    """
    from rebuno.policy.cases_find import find
    from rebuno.policy.cases_suite import run_suites
    from rebuno_cli.render import console, output, report

    tested = run_suites(find(paths), case)
    if as_json:
        output.write_json(report.report_json(tested))
    else:
        console.write(report.report(tested, output.width(sys.stdout), partial=bool(case)))
    if not all(one.checked.sound for one in tested):
        return 2
    return 1 if any(one.report and one.report.failed for one in tested) else 0
