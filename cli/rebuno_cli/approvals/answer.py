"""`rebuno approval grant` and `deny`: answers a question."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Approval
    from rebuno_cli.backend import Backend

_Id: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The approval's id, or its beginning.")]
_As: TypeAlias = Annotated[
    str, typer.Option("--as", metavar="NAME", help="Who answers; if not given, your login name, or the server's key.")
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
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Let the step go ahead, when its execution runs next; one step only, unless the scope says more."""

    async def answer(backend: "Backend") -> "Approval":
        row = await backend.approval(approval_id)
        if not as_json:
            _announce(row, scope)
        return await backend.resolve(row.id, granted=True, decided_by=who, rationale=rationale, scope=scope)

    return _show(connection.work(db, url, answer), as_json)


def deny(
    approval_id: _Id,
    who: _As = "",
    rationale: _Why = "",
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Refuse the step; the agent is told the rationale."""

    async def answer(backend: "Backend") -> "Approval":
        return await backend.resolve(approval_id, granted=False, decided_by=who, rationale=rationale, scope="once")

    return _show(connection.work(db, url, answer), as_json)


def _announce(row: "Approval", scope: str) -> None:
    """Says what a grant is about to cover."""
    from rebuno_cli.render import approvals, output

    text = approvals.covered(row).get(scope)
    if row.status == "pending" and text:
        output.write_text(f"scope {scope}: {text}")


def _show(answered: "Approval", as_json: bool) -> int:
    from rebuno_cli.render import approvals, output
    from rebuno_cli.render.escape import escape

    if as_json:
        output.write_json(approvals.approval_json(answered))
    elif answered.status == "pending":
        given = sum(vote.decision == "grant" for vote in answered.votes)
        count = f"{given} grant{'s' if given > 1 else ''} of {answered.quorum} so far"
        output.write_text(f"approval {answered.id} pending: {count}, others must grant it too")
    else:
        output.write_text(f"approval {answered.id} {answered.status} by {escape(answered.decided_by or '')}")
    return 0
