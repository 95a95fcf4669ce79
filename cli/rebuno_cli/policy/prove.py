"""`rebuno policy prove`: shows that the claims of bundles hold for every step, or a step that breaks one."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rebuno.errors import ValidationError
from rebuno_cli import options

if TYPE_CHECKING:
    from rebuno.policy import CaseSubmission, ProofsReport


@click.command("prove")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    help="Bundles with claims (`never ...`), case files, or folders of them.",
)
@options.layers
@click.option(
    "--seconds",
    type=options.Number(min=0.1),
    default=30.0,
    show_default=True,
    metavar="N",
    help="The time for one claim; without an answer then, it is not shown.",
)
@options.as_json
def prove(paths: tuple[str, ...], layer: tuple[str, ...], seconds: float, as_json: bool) -> int:
    """Prove each claim of the bundles for every step, or show a step that breaks it. Needs the extra `prove`.

    Exit code 0 when every claim is proved, 1 when one is refuted or not shown, 2 when a bundle or a case file has
    errors, or when nothing is claimed.
    """
    from rebuno.packaged import needing
    from rebuno.policy import check_suite, find_bundles, read_source
    from rebuno_cli.render import claims, diagnostics, output
    from rebuno_cli.render.progress import progress
    from rebuno_cli.render.show import show

    with needing("prove", "a proof"):
        from rebuno.policy import claims_in, prove_suites
    checked = [check_suite(suite) for suite in find_bundles(paths)]
    number = sum(map(claims_in, checked))
    if not number and all(one.sound for one in checked):
        raise ValidationError(f"{_named(paths)} nothing; write `never allow ...` into a bundle")
    sources = [read_source(path) for path in layer]
    with progress("proving claims", number) as done:
        result = prove_suites(checked, layers=sources, seconds=seconds, done=done)
    failed = [found for one in result.suites if one.report is None for found in claims.errors(one.checked)]

    def data() -> dict[str, Any]:
        found = {"diagnostics": [diagnostics.diagnostic_json(d) for d in failed]} if failed else {}
        return {**result.to_json(), **found}

    show(as_json, data, lambda: claims.proved(result, output.width(sys.stdout), _silent(paths, result)))
    return 2 if not result.sound else int(not result.passed)


def _named(paths: Sequence[str]) -> str:
    named = ", ".join(f"`{path}`" for path in paths)
    return f"{named} {'claims' if len(paths) == 1 else 'claim'}"


def _silent(paths: Sequence[str], result: "ProofsReport") -> list[str]:
    """The folders in which no bundle claims anything."""
    from rebuno.policy import find_bundles

    speaking = {one.checked.path for one in result.suites if one.report is None or one.report.results}
    folders = [path for path in paths if Path(path).is_dir()]
    return [path for path in folders if not any(str(suite.path) in speaking for suite in find_bundles([path]))]


def cases_beside(*bundles: str) -> "list[CaseSubmission]":
    """The submissions of the case files beside bundles."""
    from rebuno.policy import CASES_SUFFIX, read_cases, read_source

    files = [path.with_name(path.stem + CASES_SUFFIX) for path in map(Path, bundles)]
    return [case.submission for file in files if file.exists() for case in read_cases(read_source(file)).cases]
