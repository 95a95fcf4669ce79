"""`rebuno policy prove`: shows that the claims of a bundle hold for every step, or a step that breaks one."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebuno.errors import ValidationError
from rebuno_cli import options

if TYPE_CHECKING:
    from rebuno.policy import CaseSubmission


@click.command("prove")
@click.argument("bundle", metavar="BUNDLE", help="The bundle with the claims (`never ...`).")
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
def prove(bundle: str, layer: tuple[str, ...], seconds: float, as_json: bool) -> int:
    """Prove each claim of a bundle for every step, or show a step that breaks it. Needs the extra `prove`.

    Exit code 0 when every claim is proved, 1 when one is refuted or not shown, 2 when the bundle has errors or no
    claim.
    """
    from rebuno.packaged import needing
    from rebuno.policy import compile_policy, read_source
    from rebuno_cli.render import claims
    from rebuno_cli.render.progress import progress
    from rebuno_cli.render.show import show

    with needing("prove", "a proof"):
        from rebuno.policy import prove_claims
    policy = compile_policy([read_source(path) for path in (*layer, bundle)])
    number = claims.count(policy.bundles[-1])
    if not number:
        raise ValidationError(f"`{bundle}` claims nothing; write `never allow ...` into it")
    with progress("proving claims", number) as done:
        result = prove_claims(policy, cases_beside(bundle), seconds=seconds, done=done)
    show(as_json, lambda: result.to_json(), lambda: claims.proved(result))
    return int(not result.passed)


def cases_beside(*bundles: str) -> "list[CaseSubmission]":
    """The submissions of the case files beside bundles."""
    from rebuno.policy import CASES_SUFFIX, read_cases, read_source

    files = [path.with_name(path.stem + CASES_SUFFIX) for path in map(Path, bundles)]
    return [case.submission for file in files if file.exists() for case in read_cases(read_source(file)).cases]
