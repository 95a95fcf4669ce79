"""`rebuno approval grant` and `deny`: answers a question."""

import getpass
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from rebuno.errors import ValidationError
from rebuno_cli import options, target

if TYPE_CHECKING:
    from rebuno.journal.records import Approval

_Id: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The approval's id.")]
_As: TypeAlias = Annotated[
    str, typer.Option("--as", metavar="NAME", help="Who answers; your login name where it is not given.")
]
_Why: TypeAlias = Annotated[str, typer.Option(metavar="TEXT", help="Why; after a denial the agent is told so.")]


def grant(
    approval_id: _Id, who: _As = "", rationale: _Why = "", db: options.Db = None, as_json: options.Json = False
) -> int:
    """Let the step go ahead: this one step, when its execution runs next."""
    name = who or _login()
    answered = target.ask(db, lambda operator: operator.grant(approval_id, decided_by=name, rationale=rationale))
    return _show(answered, as_json)


def deny(
    approval_id: _Id, who: _As = "", rationale: _Why = "", db: options.Db = None, as_json: options.Json = False
) -> int:
    """Refuse the step; the agent is told the rationale."""
    name = who or _login()
    answered = target.ask(db, lambda operator: operator.deny(approval_id, decided_by=name, rationale=rationale))
    return _show(answered, as_json)


def _show(answered: "Approval", as_json: bool) -> int:
    from rebuno_cli.render import output, records
    from rebuno_cli.render.escape import escape

    if as_json:
        output.write_json(records.approval_json(answered, None))
    else:
        output.write_text(f"approval {answered.id} {answered.status} by {escape(answered.decided_by)}")
    return 0


def _login() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        raise ValidationError("your login name is unknown here; say who answers with `--as NAME`") from None
