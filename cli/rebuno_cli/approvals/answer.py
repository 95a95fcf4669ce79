"""`rebuno approval grant` and `deny`: answers a question."""

from typing import TYPE_CHECKING, Any

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection, options
from rebuno_cli.ages import seconds

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
    help="What it covers: `once`, `execution`, `rule` or, with --for, `agent`; `approval get` says what.",
)
_for = click.option("--for", "lasts", default="", metavar="TIME", help="For how long `--scope agent` stands: 8h, 7d.")
_known = click.option(
    "--known",
    multiple=True,
    metavar="ARG=NAME",
    help="With --for: ARG must be in the `known` set NAME of the bundle, instead of the value that it has.",
)
_free = click.option("--free", multiple=True, metavar="ARG", help="With --for: ARG may be anything.")


_edit = click.option(
    "--edit",
    metavar="JSON",
    help="New values of arguments, an object; the rule says which may change (`edits`), and judges the changed call.",
)


@click.command("grant")
@_id
@click.option(
    "--as-rule", is_flag=True, help="Grant nothing: show the narrowest rule that would have allowed the call."
)
@_as
@_scope
@_for
@_known
@_free
@_edit
@_why
@options.db
@options.url
@options.as_json
def grant(
    approval_id: str,
    as_rule: bool,
    who: str,
    scope: str,
    lasts: str,
    known: tuple[str, ...],
    free: tuple[str, ...],
    edit: str | None,
    rationale: str,
    db: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Let the step go ahead, when its execution runs next; one step only, unless the scope says more."""
    if as_rule:
        _show_rule(connection.work(db, url, lambda backend: backend.as_rule(approval_id)), as_json)
        return
    changed = None if edit is None else _read_edit(edit)
    stands = seconds("--for", lasts) if lasts else None
    sets = _read_known(known)

    async def answer(backend: "Backend") -> "Approval":
        row = await backend.approval(approval_id)
        if not as_json:
            _announce(row, scope, lasts, sets, free)
        return await backend.resolve(
            row.id,
            granted=True,
            decided_by=who,
            rationale=rationale,
            scope=scope,
            edit=changed,
            lasts=stands,
            known=sets,
            free=free,
        )

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


def _read_edit(text: str) -> dict[str, Any]:
    from rebuno.model import identity

    edit = identity.parse(text)
    if not isinstance(edit, dict) or not edit:
        raise ValidationError('`--edit` is no JSON object of arguments, such as {"amount": 90}')
    return edit


def _show_rule(made: dict[str, Any], as_json: bool) -> None:
    from rebuno_cli.render.escape import escape
    from rebuno_cli.render.show import show

    def text() -> str:
        lines = [escape(line, None) for line in made["diff"].splitlines()]
        return "\n".join([*lines, "", "the case for the bundle's tests:", *made["case"].splitlines()])

    show(as_json, lambda: made, text)


def _read_known(pairs: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, known = pair.rpartition("=")
        if not sign or not name or not known or name in found:
            raise ValidationError(f"`--known {pair[:80]}` is not `ARG=NAME`, or names an argument twice")
        found[name] = known
    return found


def _announce(row: "Approval", scope: str, lasts: str, known: dict[str, str], free: tuple[str, ...]) -> None:
    """Says what a grant is about to cover."""
    from rebuno_cli.render import approvals, output

    text = approvals.covered(row).get(scope)
    if scope == "agent" and row.kind:
        text = f"{approvals.standing(row, known, free)}, in every run of its agent for {lasts}"
    if row.status == "pending" and text:
        output.write_text(f"scope {scope}: {text}")


def _show(answered: "Approval", as_json: bool) -> None:
    from rebuno_cli.render import approvals
    from rebuno_cli.render.show import show

    show(as_json, lambda: approvals.approval_json(answered), lambda: _answer(answered))


def _answer(answered: "Approval") -> str:
    from rebuno_cli.render.escape import escape

    if answered.status != "pending":
        changed = answered.status == "granted" and answered.edited_args is not None
        edited = f"; it runs with the arguments that {escape(answered.edited_by or '')} wrote" if changed else ""
        return f"approval {answered.id} {answered.status} by {escape(answered.decided_by or '')}{edited}"
    given = sum(vote.decision == "grant" for vote in answered.votes)
    count = f"{given} grant{'s' if given > 1 else ''} of {answered.quorum} so far"
    if answered.edited_args is not None:
        count += f", for the call as {escape(answered.edited_by or '')} changed it"
    return f"approval {answered.id} pending: {count}, others must grant it too"
