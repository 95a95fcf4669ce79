"""Shows questions: the step, the approvers, the deadline, and what an answer covers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.journal.records import Approval, Step
from rebuno.kernel.core.grants import GrantScope
from rebuno.kernel.core.quorum import GRANT_LASTS, Panel
from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno_cli.render.escape import escape, spelled, stored
from rebuno_cli.render.layout import Rows, fields
from rebuno_cli.render.records import span, status, when

_ARGS: Final = 80


def approvals(rows: Iterable[tuple[Approval, Step | None]], now: float) -> Iterator[RenderableType]:
    """A table of approvals with the steps that they are about; `now` in seconds since 1970."""
    lines = [
        (
            row.id,
            status(row.status),
            spelled(step.target, 40) if step else "",
            stored(step.args, _ARGS) if step else "",
            escape(row.rule_id, 40),
            when(row.created_at),
            _left(row, now),
        )
        for row, step in rows
    ]
    if not lines:
        yield Text("no approvals")
        return
    yield Rows(("id", "status", "target", "args", "rule", "asked", "time left"), lines)


def approval(row: Approval, step: Step | None, panels: Sequence[Panel], now: float) -> Iterator[RenderableType]:
    """One approval with all of its step: the approver must be able to read everything."""
    yield from fields(
        ("approval", row.id),
        ("status", status(row.status)),
        ("execution", row.execution_id),
        ("step", row.step_id),
        ("kind", step.kind.value if step else ""),
        ("target", spelled(step.target, None) if step else ""),
        ("args", stored(step.args, None) if step else ""),
        ("rule", escape(row.rule_id) + (f" of bundle {escape(row.bundle)}" if row.bundle else "")),
        ("because", escape(_reason(row, step), None)),
        ("message", escape(row.message, None)),
        ("asks", _asks(row)),
        *(("covers", f"{scope}: {text}") for scope, text in covered(row, step).items()),
        ("approvers", "; and ".join(map(_panel, panels))),
        *(("vote", text) for text in _votes(row)),
        ("asked", f"{when(row.created_at)}, {span(now - row.created_at)} ago"),
        ("time left", _left(row, now)),
        ("answered", when(row.decided_at) if row.decided_at else ""),
        ("by", _named(row.decided_by, row.asserted_by)),
        ("rationale", escape(row.rationale, None)),
    )


def approval_json(row: Approval, step: Step | None) -> dict[str, Any]:
    """One approval as JSON data."""
    out: dict[str, Any] = {
        "id": row.id,
        "execution_id": row.execution_id,
        "step_id": row.step_id,
        "cause": row.cause,
        "status": row.status,
        "message": row.message,
        "bundle": row.bundle,
        "rule_id": row.rule_id,
        "reason": _reason(row, step),
        "approvers": list(row.approvers),
        "quorum": row.quorum,
        "votes": [
            {
                "decided_by": vote.decided_by,
                "asserted_by": vote.asserted_by,
                "decision": vote.decision,
                "rationale": vote.rationale,
                "at": rfc3339(vote.at),
            }
            for vote in row.votes
        ],
        "scope": row.scope,
        "covers": covered(row, step),
        "decided_by": row.decided_by,
        "asserted_by": row.asserted_by,
        "rationale": row.rationale,
        "created_at": rfc3339(row.created_at),
        "timeout_at": rfc3339(row.timeout_at) if row.timeout_at else None,
        "decided_at": rfc3339(row.decided_at) if row.decided_at else None,
    }
    if step is not None:
        out |= {"kind": step.kind.value, "target": step.target, "args": identity.parse(step.args)}
    return out


def covered(row: Approval, step: Step | None) -> dict[str, str]:
    """What a grant of each scope covers and for how long: of an open question all scopes, of a granted one its own."""
    if row.status not in ("pending", "granted") or step is None:
        return {}
    if row.cause == "revoked":
        return {GrantScope.ONCE.value: "the execution goes on with what is recorded of this one step"}
    lasts = span(row.timeout_at - row.created_at if row.timeout_at else GRANT_LASTS)
    rule = f"about which the rule `{escape(row.rule_id)}` asks"
    rest = ", for the rest of this execution under the same policy"
    rest += f", {lasts} from the answer at most" if row.timeout_at else ""
    texts = {
        GrantScope.ONCE: f"this one step with these arguments, if it starts within {lasts} of the answer",
        GrantScope.EXECUTION: f"every {step.kind.value} of `{spelled(step.target)}` {rule}{rest}",
        GrantScope.RULE: f"every step {rule}{rest}",
    }
    return {scope.value: text for scope, text in texts.items() if row.status == "pending" or row.scope == scope}


def _named(name: str, asserted_by: str) -> str:
    vouched = f", says {escape(asserted_by)}" if asserted_by and asserted_by != name else ""
    return f"{escape(name)}{vouched}" if name else ""


def _votes(row: Approval) -> Iterator[str]:
    for vote in row.votes:
        said = f"{vote.decision} by {_named(vote.decided_by, vote.asserted_by)} at {when(vote.at)}"
        yield f"{said}: {escape(vote.rationale, None)}" if vote.rationale else said


def _panel(panel: Panel) -> str:
    if not panel.approvers:
        return "anyone" if panel.quorum == 1 else f"any {panel.quorum} people"
    names = ", ".join(escape(name) for name in panel.approvers)
    return names if len(panel.approvers) == panel.quorum == 1 else f"{panel.quorum} of {names}"


def _reason(row: Approval, step: Step | None) -> str:
    """The reason of the rule that asks; a later one's stands in the log."""
    return step.reason if step is not None and step.rule_id == row.rule_id else ""


def _asks(row: Approval) -> str:
    if row.cause == "revoked":
        return "whether the execution may go on: the step is done, and a later bundle denies it"
    return "whether this step may run"


def _left(row: Approval, now: float) -> str:
    if row.status != "pending":
        return ""
    return span(row.timeout_at - now) if row.timeout_at else "no limit"
