"""Shows questions: the step, the approvers, the deadline, and what an answer covers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.kernel import GRANT_LASTS, GrantScope, Panel
from rebuno.model import identity
from rebuno.types import Approval
from rebuno_cli.render import explained
from rebuno_cli.render.escape import escape, spelled, stored
from rebuno_cli.render.layout import Rows, fields
from rebuno_cli.render.records import moment, span, status

_ARGS: Final = 80


def approvals(rows: Iterable[Approval], now: float) -> Iterator[RenderableType]:
    """A table of approvals with the steps that they are about; `now` in seconds since 1970."""
    lines = [
        (
            row.id,
            status(row.status),
            spelled(row.target, 40),
            stored(row.raw("args"), _ARGS),
            escape(row.rule_id, 40),
            moment(row.created_at),
            _left(row, now),
        )
        for row in rows
    ]
    if not lines:
        yield Text("no approvals")
        return
    yield Rows(("id", "status", "target", "args", "rule", "asked", "time left"), lines)


def approval(row: Approval, panels: Sequence[Panel], now: float) -> Iterator[RenderableType]:
    """One approval with all of its step: anyone who answers must be able to read everything."""
    yield from fields(
        ("approval", row.id),
        ("status", status(row.status)),
        ("execution", row.execution_id),
        ("step", row.step_id),
        ("kind", row.kind),
        ("target", spelled(row.target, None)),
        ("args", stored(row.raw("args"), None)),
        ("edited", _edited(row)),
        ("may edit", ", ".join(escape(path) for path in row.edits or ()) if row.status == "pending" else ""),
        ("rule", escape(row.rule_id) + (f" of bundle {escape(row.bundle)}" if row.bundle else "")),
        ("because", escape(row.reason, None)),
        ("message", escape(row.message, None)),
        ("asks", _asks(row)),
        *(("covers", f"{scope}: {text}") for scope, text in covered(row).items()),
        *(explained.why(row.why) if row.why is not None else ()),
        ("approvers", "; and ".join(map(_panel, panels))),
        *(("vote", text) for text in _votes(row)),
        ("asked", _ago(row, now)),
        ("time left", _left(row, now)),
        ("answered", moment(row.decided_at)),
        ("by", _named(row.decided_by or "", row.asserted_by)),
        ("rationale", escape(row.rationale, None)),
    )


def approval_json(row: Approval) -> dict[str, Any]:
    """One approval as JSON data, with what a grant covers in words."""
    return {**row.model_dump(mode="json"), "covers": covered(row)}


def covered(row: Approval) -> dict[str, str]:
    """What a grant of each scope covers and for how long: of an open question all scopes, of a granted one its own."""
    if row.status not in ("pending", "granted") or not row.kind:
        return {}
    if row.cause == "revoked":
        return {GrantScope.ONCE.value: "the execution goes on with what is recorded of this one step"}
    lasts = span(_seconds(row) or GRANT_LASTS)
    rule = f"about which the rule `{escape(row.rule_id or '')}` asks"
    rest = ", for the rest of this execution under the same policy"
    rest += f", {lasts} from the answer at most" if row.timeout_at else ""
    texts = {
        GrantScope.ONCE: f"this one step with these arguments, if it starts within {lasts} of the answer",
        GrantScope.EXECUTION: f"every {row.kind} of `{spelled(row.target)}` {rule}{rest}",
        GrantScope.RULE: f"every step {rule}{rest}",
    }
    return {scope.value: text for scope, text in texts.items() if row.status == "pending" or row.scope == scope}


def standing(row: Approval, known: Mapping[str, str], free: Sequence[str]) -> str:
    """What a grant covers that outlives the run."""
    args = row.args if isinstance(row.args, dict) else {}
    parts = [f"{name} = {stored(identity.canonical(value), _ARGS)}" for name, value in args.items()]
    parts = [part for name, part in zip(args, parts, strict=True) if name not in known and name not in free]
    parts += [f"{name} in the known set {escape(one)}" for name, one in known.items()]
    parts += [f"any {escape(name)}" for name in free]
    rule = f"about which the rule `{escape(row.rule_id or '')}` asks"
    return f"every {row.kind} of `{spelled(row.target)}` {rule}, with {', '.join(parts) or 'no arguments'}"


def _edited(row: Approval) -> str:
    if row.edited_args is None:
        return ""
    return f"{stored(row.raw('edited_args'), None)} by {escape(row.edited_by or '')}"


def _seconds(row: Approval) -> float | None:
    """How long a question waits; None: as long as it takes."""
    if row.timeout_at is None or row.created_at is None:
        return None
    return (row.timeout_at - row.created_at).total_seconds()


def _ago(row: Approval, now: float) -> str:
    asked = row.created_at
    return f"{moment(asked)}, {span(now - asked.timestamp())} ago" if asked is not None else ""


def _named(name: str, asserted_by: str | None) -> str:
    vouched = f", says {escape(asserted_by)}" if asserted_by and asserted_by != name else ""
    return f"{escape(name)}{vouched}" if name else ""


def _votes(row: Approval) -> Iterator[str]:
    for vote in row.votes:
        said = f"{vote.decision} by {_named(vote.decided_by, vote.asserted_by)} at {moment(vote.at)}"
        yield f"{said}: {escape(vote.rationale, None)}" if vote.rationale else said


def _panel(panel: Panel) -> str:
    if not panel.approvers:
        return "anyone" if panel.quorum == 1 else f"any {panel.quorum} people"
    names = ", ".join(escape(name) for name in panel.approvers)
    return names if len(panel.approvers) == panel.quorum == 1 else f"{panel.quorum} of {names}"


def _asks(row: Approval) -> str:
    if row.cause == "revoked":
        return "whether the execution may go on: the step is done, and a later bundle denies it"
    return "whether this step may run"


def _left(row: Approval, now: float) -> str:
    if row.status != "pending":
        return ""
    return span(row.timeout_at.timestamp() - now) if row.timeout_at else "no limit"
