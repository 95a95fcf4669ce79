"""The inbox: open questions, soonest deadline first, with why they are asked; and their answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response

from rebuno.console.live import stream
from rebuno.console.visit import ROOT, ConsolePage, Visit, see_other
from rebuno.errors import APIError, BundleError, NotFoundError, RebunoError, ValidationError
from rebuno.journal.overview import StepLine
from rebuno.journal.records import ApprovalRow, ExecutionRow
from rebuno.kernel import GrantScope, Panel, session_of, standing_terms
from rebuno.model import identity
from rebuno.server.auth import KeyScope
from rebuno.types import Approval

# Questions on a page, and how many are looked through for those that a bound key may see.
PAGE: Final = 20
_MOST: Final = 1_000
_RATIONALE: Final = 4_000
# Steps that are told of what came before, and earlier answers.
_BEFORE: Final = 4
_EARLIER: Final = 3
_NAMES: Final = {
    GrantScope.ONCE: "this one call",
    GrantScope.EXECUTION: "every call of this tool by this rule, for the rest of the run",
    GrantScope.RULE: "every call that this rule asks about, for the rest of the run",
}
# Scopes of grants that outlive the run, with their seconds.
_LASTING: Final = {
    "agent:3600": "this call of the agent with these arguments, for 1 hour",
    "agent:86400": "this call of the agent with these arguments, for 1 day",
    "agent:604800": "this call of the agent with these arguments, for 7 days",
}
_EDIT: Final = "edit:"
_LONGEST_EDIT: Final = 2_000


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """What somebody answered to an earlier question of the same rule, and the call that it was about."""

    row: ApprovalRow
    target: str
    args: str


@dataclass(frozen=True, slots=True)
class Card:
    """A question as it is shown: with its run, who must agree, and whether the caller has answered already. `before`
    are the steps that came right before it, `earlier` what the same rule was answered last."""

    approval: Approval
    args: str
    execution: ExecutionRow
    session: str
    panels: Sequence[Panel]
    answered: bool
    before: Sequence[StepLine]
    earlier: Sequence[EarlierAnswer]

    @property
    def edits(self) -> list[tuple[str, str]]:
        """The arguments that an approver may change, each with the JSON of its value; none that is too long for a
        field."""
        args = self.approval.args if self.approval.edited_args is None else self.approval.edited_args
        names = [path.removeprefix("args.").partition(".")[0] for path in self.approval.edits or ()]
        found = args if isinstance(args, dict) else {}
        told = [(name, identity.canonical(found[name])) for name in dict.fromkeys(names) if name in found]
        return [(name, text) for name, text in told if len(text) <= _LONGEST_EDIT]

    @property
    def scopes(self) -> list[tuple[str, str]]:
        """What a grant may cover, each with its words."""
        if self.approval.cause == "revoked":
            return [("once", "go on with what is recorded of this one step")]
        row = self.approval
        # A grant holds for as long as a question waits, at most.
        most = (row.timeout_at - row.created_at).total_seconds() + 1 if row.timeout_at and row.created_at else 1e12
        lasting = [(scope, words) for scope, words in _LASTING.items() if float(scope.partition(":")[2]) <= most]
        return [*((scope.value, words) for scope, words in _NAMES.items()), *lasting]


async def open_rows(visit: Visit) -> list[ApprovalRow]:
    """The open questions that the caller may see, soonest deadline first, then oldest."""
    return await _seen(visit, await visit.serving.approvals(limit=_MOST))


async def _seen(visit: Visit, rows: Sequence[ApprovalRow]) -> list[ApprovalRow]:
    if visit.caller.agents:
        rows = [row for row in rows if visit.sees((await visit.console.store.execution(row.execution_id)).agent_id)]
    return sorted(rows, key=lambda row: (row.timeout_at or float("inf"), row.created_at))


async def card(visit: Visit, row: ApprovalRow) -> Card:
    """A question with what belongs to it."""
    approval = await visit.console.operator.approval(row.id)
    execution = await visit.execution(row.execution_id)
    panels = await visit.console.operator.panels(row.id)
    session = await session_of(visit.console.store, execution)
    answered = any(vote.decided_by == visit.caller.name for vote in row.votes)
    before = await _before(visit, row) if visit.may(KeyScope.EXECUTIONS_READ) else ()
    return Card(
        approval, approval.raw("args"), execution, session, panels, answered, before, await _earlier(visit, row)
    )


async def _before(visit: Visit, row: ApprovalRow) -> list[StepLine]:
    """The last steps of the run before the one that is asked about."""
    store = visit.console.store
    try:
        step = await store.step(row.step_id)
    except NotFoundError:
        return []
    count = await store.steps_before(row.execution_id, step.decided_seq)
    return await store.step_lines(row.execution_id, offset=max(count - _BEFORE, 0), limit=min(count, _BEFORE))


async def _earlier(visit: Visit, row: ApprovalRow) -> list[EarlierAnswer]:
    store = visit.console.store
    found: list[EarlierAnswer] = []
    for one in await store.answers_before(row.bundle, row.rule_id, limit=_EARLIER):
        if one.id == row.id:
            continue
        try:
            agent = (await store.execution(one.execution_id)).agent_id
            step = await store.step(one.step_id)
        except NotFoundError:
            continue
        if visit.sees(agent):
            found.append(EarlierAnswer(one, step.target, step.args))
    return found


async def inbox(visit: Visit) -> Response:
    """The open questions."""
    return await _inbox(visit)


async def _inbox(visit: Visit, *, notices: Sequence[dict[str, Any]] = (), status: int = 200) -> Response:
    rows = await open_rows(visit)
    start = visit.number("from") if visit.request.method == "GET" else 0
    cards = [await card(visit, row) for row in rows[start : start + PAGE]]
    notices = [*notices, *[await _told(visit, one) for one in visit.query("answered", 4_000).split(",") if one][:PAGE]]
    values: dict[str, Any] = {
        "cards": cards,
        "count": len(rows),
        "start": start,
        "more": start + PAGE if len(rows) > start + PAGE else 0,
        "notices": notices,
        "may_answer": visit.may(KeyScope.APPROVALS_WRITE),
        "may_read_runs": visit.may(KeyScope.EXECUTIONS_READ),
    }
    return visit.page("_questions.html" if visit.partial else "questions.html", status, **values)


async def one(visit: Visit) -> Response:
    """One question, open or answered."""
    row = await _row(visit, visit.id)
    values: dict[str, Any] = {
        "card": await card(visit, row),
        "may_answer": visit.may(KeyScope.APPROVALS_WRITE),
        "may_read_runs": visit.may(KeyScope.EXECUTIONS_READ),
    }
    return visit.page("question.html", **values)


async def rule(visit: Visit) -> Response:
    """The narrowest rule that would have made the question needless, to review and to put into the bundle by hand."""
    row = await _row(visit, visit.id)
    try:
        told = await visit.serving.as_rule(row.id)
    except (APIError, BundleError) as error:
        return visit.page("_rule.html", told=None, why=str(error))
    return visit.page("_rule.html", told=told, why="")


async def answer(visit: Visit) -> Response:
    """Takes an answer to one question."""
    row = await _row(visit, visit.id)
    try:
        await _resolve(visit, row.id)
    except APIError as error:
        return await _inbox(visit, notices=[_failed(row.id, error)], status=error.status_code)
    return see_other(f"{ROOT}/questions?answered={quote(row.id)}")


async def answer_several(visit: Visit) -> Response:
    """Takes the same answer to several questions."""
    ids = list(dict.fromkeys(visit.fields.get("question", [])))[:_MOST]
    if not ids:
        raise ValidationError("no question was chosen")
    notices: list[dict[str, Any]] = []
    done: list[str] = []
    for id in ids:
        try:
            row = await _row(visit, id)
            await _resolve(visit, row.id)
            done.append(row.id)
        except APIError as error:
            notices.append(_failed(id, error))
    if notices:
        told = [await _told(visit, id) for id in done]
        return await _inbox(visit, notices=[*told, *notices], status=409)
    return see_other(f"{ROOT}/questions?answered={','.join(map(quote, done[:PAGE]))}")


async def live(visit: Visit) -> Response:
    """Tells a page when questions come, or are answered."""

    async def state() -> object:
        return [(row.id, len(row.votes)) for row in await _seen(visit, await visit.console.pending(_MOST))]

    return stream(visit, state)


async def _row(visit: Visit, id: str) -> ApprovalRow:
    if not id.isascii() or not 0 < len(id) <= 100 or "\0" in id:
        raise NotFoundError("there is no such question")
    row = await visit.serving.approval(id)
    await visit.execution(row.execution_id)
    return row


async def _resolve(visit: Visit, approval_id: str) -> None:
    word, rationale = visit.field("answer"), visit.field("rationale")
    if word not in ("grant", "deny"):
        raise ValidationError("an answer is `grant` or `deny`")
    if len(rationale) > _RATIONALE:
        raise ValidationError(f"the reason has more than {_RATIONALE:,} characters")
    person = visit.field("person") if visit.names_person else ""
    granted = word == "grant"
    scope = visit.field("scope") or "once"
    stands = None
    if granted and scope in _LASTING:
        stands, scope = standing_terms("agent", float(scope.partition(":")[2]), None, None), "once"
    await visit.serving.resolve(
        approval_id,
        granted=granted,
        decided_by=person or visit.caller.name,
        asserted_by=visit.caller.name,
        rationale=rationale,
        scope=scope if granted else "once",
        edit=await _edit(visit, approval_id) if granted else None,
        # Another process judges the runs of a store on this machine.
        serves=visit.console.door is None,
        stands=stands,
    )


async def _edit(visit: Visit, approval_id: str) -> dict[str, Any] | None:
    """The arguments whose fields in the form have another value than the call."""
    given = {name.removeprefix(_EDIT): values[0] for name, values in visit.fields.items() if name.startswith(_EDIT)}
    if not given:
        return None
    row = await visit.console.operator.approval(approval_id)
    args = row.args if row.edited_args is None else row.edited_args
    changed: dict[str, Any] = {}
    for name, text in given.items():
        try:
            value = identity.parse(text)
        except ValidationError as error:
            raise ValidationError(f"the new value of `{name[:100]}` is no JSON: {error.message}") from None
        same = isinstance(args, dict) and name in args and identity.canonical(args[name]) == identity.canonical(value)
        if not same:
            changed[name] = value
    return changed or None


async def _told(visit: Visit, id: str) -> dict[str, Any]:
    """What became of a question, as the store has it: an address says nothing by itself."""
    try:
        row = await _row(visit, id)
    except RebunoError as error:
        return _failed(id, error)
    step = await visit.console.store.step(row.step_id)
    return {"ok": True, "id": row.id, "status": row.status, "target": step.target, "votes": len(row.votes)}


def _failed(id: str, error: RebunoError) -> dict[str, Any]:
    return {"ok": False, "id": id, "message": str(error)}


_READ: Final = (KeyScope.APPROVALS_READ,)
_WRITE: Final = (KeyScope.APPROVALS_READ, KeyScope.APPROVALS_WRITE)
PAGES: Final = (
    ConsolePage("GET", f"{ROOT}/questions", inbox, _READ),
    ConsolePage("POST", f"{ROOT}/questions", answer_several, _WRITE),
    ConsolePage("GET", f"{ROOT}/questions/{{id}}", one, _READ),
    ConsolePage("POST", f"{ROOT}/questions/{{id}}", answer, _WRITE),
    ConsolePage("GET", f"{ROOT}/questions/{{id}}/rule", rule, _READ),
    ConsolePage("GET", f"{ROOT}/live/questions", live, _READ),
)
