"""`rebuno approval grant` and `deny`: answers a question."""

import getpass
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from rebuno.errors import ValidationError
from rebuno_cli import options, target

if TYPE_CHECKING:
    from rebuno.journal.records import Approval, Step
    from rebuno.kernel.operator import Operator

_Id: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The approval's id.")]
_As: TypeAlias = Annotated[
    str, typer.Option("--as", metavar="NAME", help="Who answers; your login name where it is not given.")
]
_Why: TypeAlias = Annotated[str, typer.Option(metavar="TEXT", help="Why; after a denial the agent is told so.")]
_Scope: TypeAlias = Annotated[
    str, typer.Option(metavar="SCOPE", help="What it covers: `once`, `execution` or `rule`; `approval get` says what.")
]


def grant(
    approval_id: _Id,
    who: _As = "",
    scope: _Scope = "once",
    rationale: _Why = "",
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """Let the step go ahead, when its execution runs next; one step only, unless the scope says more."""
    name, login = _names(who)

    async def answer(operator: "Operator") -> "tuple[Approval, Step | None]":
        [(row, step)] = await target.with_steps(operator, [await operator.approval(approval_id)])
        if not as_json:
            _announce(row, step, scope)
        answered = await operator.grant(
            approval_id, decided_by=name, asserted_by=login, rationale=rationale, scope=scope
        )
        return answered, step

    answered, step = target.ask(db, answer)
    return _show(answered, step, as_json)


def deny(
    approval_id: _Id, who: _As = "", rationale: _Why = "", db: options.Db = None, as_json: options.Json = False
) -> int:
    """Refuse the step; the agent is told the rationale."""
    name, login = _names(who)

    async def answer(operator: "Operator") -> "tuple[Approval, Step | None]":
        answered = await operator.deny(approval_id, decided_by=name, asserted_by=login, rationale=rationale)
        [(row, step)] = await target.with_steps(operator, [answered])
        return row, step

    answered, step = target.ask(db, answer)
    return _show(answered, step, as_json)


def _announce(row: "Approval", step: "Step | None", scope: str) -> None:
    """Says what a grant is about to cover."""
    from rebuno_cli.render import approvals, output

    text = approvals.covered(row, step).get(scope)
    if row.status == "pending" and text:
        output.write_text(f"scope {scope}: {text}")


def _show(answered: "Approval", step: "Step | None", as_json: bool) -> int:
    from rebuno_cli.render import approvals, output
    from rebuno_cli.render.escape import escape

    if as_json:
        output.write_json(approvals.approval_json(answered, step))
    elif answered.status == "pending":
        given = sum(vote.decision == "grant" for vote in answered.votes)
        count = f"{given} grant{'s' if given > 1 else ''} of {answered.quorum} so far"
        output.write_text(f"approval {answered.id} pending: {count}, others must grant it too")
    else:
        output.write_text(f"approval {answered.id} {answered.status} by {escape(answered.decided_by)}")
    return 0


def _names(who: str) -> tuple[str, str]:
    """Who answers, and whose login vouches for that."""
    try:
        login = getpass.getuser()
    except (ImportError, KeyError, OSError):
        if not who:
            raise ValidationError("your login name is unknown here; say who answers with `--as NAME`") from None
        login = ""
    return who or login, login
