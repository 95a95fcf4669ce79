"""`rebuno approval grant` and `deny`: answers a question."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Approval
    from rebuno_cli.backend import Backend

_id = click.argument("approval_id", metavar="ID", help="The approval's id, or its beginning.")
_as = click.option(
    "--as", "who", default="", metavar="NAME", help="Who answers; if not given, your login name, or the server's key."
)
_why = click.option("--rationale", default="", metavar="TEXT", help="Why; after a denial the agent is told so.")
_scope = click.option(
    "--scope",
    default="once",
    show_default=True,
    metavar="SCOPE",
    help="What it covers: `once`, `execution` or `rule`; `approval get` says what.",
)


@click.command("grant")
@_id
@_as
@_scope
@_why
@options.db
@options.url
@options.as_json
def grant(
    approval_id: str, who: str, scope: str, rationale: str, db: str | None, url: str | None, as_json: bool
) -> None:
    """Let the step go ahead, when its execution runs next; one step only, unless the scope says more."""

    async def answer(backend: "Backend") -> "Approval":
        row = await backend.approval(approval_id)
        if not as_json:
            _announce(row, scope)
        return await backend.resolve(row.id, granted=True, decided_by=who, rationale=rationale, scope=scope)

    _show(connection.work(db, url, answer), as_json)


@click.command("deny")
@_id
@_as
@_why
@options.db
@options.url
@options.as_json
def deny(approval_id: str, who: str, rationale: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Refuse the step; the agent is told the rationale."""

    async def answer(backend: "Backend") -> "Approval":
        return await backend.resolve(approval_id, granted=False, decided_by=who, rationale=rationale, scope="once")

    _show(connection.work(db, url, answer), as_json)


def _announce(row: "Approval", scope: str) -> None:
    """Says what a grant is about to cover."""
    from rebuno_cli.render import approvals, output

    text = approvals.covered(row).get(scope)
    if row.status == "pending" and text:
        output.write_text(f"scope {scope}: {text}")


def _show(answered: "Approval", as_json: bool) -> None:
    from rebuno_cli.render import approvals
    from rebuno_cli.render.show import show

    show(as_json, lambda: approvals.approval_json(answered), lambda: _answer(answered))


def _answer(answered: "Approval") -> str:
    from rebuno_cli.render.escape import escape

    if answered.status != "pending":
        return f"approval {answered.id} {answered.status} by {escape(answered.decided_by or '')}"
    given = sum(vote.decision == "grant" for vote in answered.votes)
    count = f"{given} grant{'s' if given > 1 else ''} of {answered.quorum} so far"
    return f"approval {answered.id} pending: {count}, others must grant it too"
