"""Shows the story of an execution, attempt by attempt, inner steps under the step that ran them."""

from collections.abc import Iterator
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.kernel import (
    ApprovalView,
    AttemptView,
    CountedLimit,
    Divergence,
    RateLimitedStep,
    StepOutcome,
    StepView,
    Timeline,
    TurnView,
    raised_view,
)
from rebuno.model.step import Kind
from rebuno.types import Execution, Failure
from rebuno_cli.render import outcomes, resources
from rebuno_cli.render.escape import escape, spelled, stored
from rebuno_cli.render.layout import hanging
from rebuno_cli.render.records import STATUS_STYLE, span, stamp

_SIGN: Final = {
    StepOutcome.SUCCEEDED: "+",
    StepOutcome.FAILED: "x",
    StepOutcome.INDETERMINATE: "?",
    StepOutcome.REVOKED: "x",
    StepOutcome.DENIED: "x",
    StepOutcome.CANCELLED: "x",
    StepOutcome.WAITS: "…",
    StepOutcome.GRANTED: "…",
    StepOutcome.RUNNING: "…",
    StepOutcome.CUT_OFF: "?",
}
_STYLE: Final = {"+": "green", "x": "red", "?": "yellow", "…": "yellow"}
_SCOPE: Final = {
    "execution": "this execution",
    "session": "this session",
    "agent": "this agent",
    "global": "all agents together",
    "key": "this value",
}
_DEEPEST: Final = 6
# In characters.
_LONGEST_TURN: Final = 300
_LONGEST_ARGS: Final = 200
# How many steps are named where an attempt left the recorded way.
_NAMED: Final = 5


def story(told: Timeline) -> Iterator[RenderableType]:
    """The whole story. A step stands under the attempt that submitted it first."""
    execution = told.execution
    head = Text(f"execution {execution.id}", "bold")
    named = f" `{escape(execution.idempotency_key)}`" if execution.idempotency_key is not None else ""
    head.append(f"{named} of agent {escape(execution.agent_id)}: ", "not bold")
    head.append(execution.status.value, STATUS_STYLE[execution.status.value])
    yield head
    yield from _apart(execution)
    yield from _said(told.turns)
    yield from resources.story(told.resources)
    early = [step for step in told.steps if not any(step.submitted == run.number for run in told.runs)]
    if early:
        yield Text()
        yield Text("taken over" if execution.forked_from else "before any attempt", "bold")
    for step in early:
        yield from _step(step, 1)
    digest = execution.digest or ""
    for run in told.runs:
        yield Text()
        yield _run(run)
        if run.digest and run.digest != digest:
            yield hanging("", Text(f"under another policy than before: {escape(run.digest[:12])}", "dim"), margin=2)
            digest = run.digest
        for step in told.steps:
            if step.submitted == run.number:
                yield from _step(step, 1)
        yield from (_kept_out(one) for one in told.kept_out if one.attempt == run.number)
        if run.divergence is not None:
            yield from _parted(run.divergence)
    yield Text()
    yield _end(told)
    yield from outcomes.raised(_failure(told.raised), 2)


def _apart(execution: Execution) -> Iterator[RenderableType]:
    """What sets an execution apart from most."""
    if execution.forked_from:
        yield Text(f"a fork of {escape(execution.forked_from)} at its event {execution.fork_seq}", "dim")
    if execution.pinned:
        digest = (execution.digest or "")[:12]
        yield Text(f"judged to its end by the policy of its start, {escape(digest)}", "dim")


def _said(turns: tuple[TurnView, ...]) -> Iterator[RenderableType]:
    """What the user wrote, each with how many steps came before it."""
    if not turns:
        return
    yield Text()
    yield Text("the user wrote", "bold")
    for turn in turns:
        after = f"after {turn.steps} step{'s'[: turn.steps != 1]}"
        by = f" by {escape(turn.by)}" if turn.by else ""
        line = Text(f"{after}{by}: ", "dim")
        line.append(escape("(not kept)" if turn.text is None else turn.text, _LONGEST_TURN), "not dim")
        yield hanging(f"{turn.number}. ", line, margin=2)


def _parted(divergence: Divergence) -> Iterator[RenderableType]:
    yield hanging("! ", Text("it left the way of the recorded run", "yellow"), margin=2, style="yellow")
    ways = (
        ("new", divergence.fresh, divergence.fresh_count),
        ("not again", divergence.unvisited, divergence.unvisited_count),
    )
    for what, steps, count in ways:
        names = [f"{step.kind} {spelled(step.target, 60)} [{escape(step.step_id[:12])}]" for step in steps[:_NAMED]]
        more = f" and {count - len(names):,} more" if count > len(names) else ""
        if names:
            yield hanging(f"{what}: ", Text(f"{', '.join(names)}{more}"), margin=4, style="dim")


def _run(run: AttemptView) -> Text:
    line = Text(f"attempt {run.number}", "bold")
    # An agent says nothing of its process.
    where = f"process {run.pid} on {escape(run.host)}" if run.pid else f"agent {escape(run.host)}"
    line.append(f" at {stamp(run.started_at)}, {where}: ", "not bold")
    line.append(run.ended, "bold")
    if run.seconds is not None:
        line.append(f" after {span(run.seconds)}", "not bold")
    if run.replayed:
        line.append(f", {run.replayed} {'step' if run.replayed == 1 else 'steps'} replayed", "not bold")
    return line


def _step(step: StepView, depth: int) -> Iterator[RenderableType]:
    margin = 2 * min(depth, _DEEPEST)
    sign = _SIGN[step.went]
    line = Text(f"{step.kind} ")
    line.append(spelled(step.target), "bold")
    line.append(f" {outcomes.asked(step.kind, step.args)}: ", "default")
    line.append(step.went.value, _STYLE[sign])
    if step.seconds is not None:
        line.append(f" in {span(step.seconds)}", "default")
    if step.why:
        line.append(f": {escape(step.why)}", "default")
    elif came := outcomes.returned(step.kind, step.result):
        line.append(f": {came}", "default")
    line.append(f" [{step.step_id[:12]}]", "dim")
    yield hanging(f"{sign} ", line, margin=margin, style=_STYLE[sign])
    decided = f"{step.verdict.replace('_', ' ')} by {escape(step.rule_id)}"
    if step.reason and step.reason != step.why:
        decided += f", because {escape(step.reason)}"
    if step.observed:
        decided += ", not enforced"
    if step.doubt:
        decided += f", fired on maybe, because of `{escape(step.doubt)}`"
    changed = (
        [] if step.ran_args is None else [f"ran with {stored(step.ran_args, _LONGEST_ARGS)}, as an approver wrote"]
    )
    if step.grant is not None:
        names = ", ".join(escape(str(name), 60) for name in step.grant.get("granted_by", ()))
        until = f"until {escape(str(step.grant.get('expires_at', '')), 40)}"
        changed.append(f"let in by the standing grant {escape(str(step.grant.get('id', '')), 60)} of {names}, {until}")
    for said in (
        decided,
        *changed,
        *_defined(step),
        *map(_counted, step.limits),
        *_used(step),
        *map(_asked, step.asked),
        *_again(step),
    ):
        yield hanging("", Text(said, "dim"), margin=margin + 2)
    yield from outcomes.raised(_failure(step.raised), margin + 2)
    for inner in step.inner:
        yield from _step(inner, depth + 1)


def _defined(step: StepView) -> Iterator[str]:
    """What the tool's server says of it, and what the tool says of its failure."""
    if step.definition is not None and step.definition["server"]:
        digest = step.definition.get("digest", "")
        known = f", definition {escape(digest[:12])}" if digest else ""
        yield f"tool {escape(step.definition['name'])} of server {escape(step.definition['server'])}{known}"
    if step.nothing_done:
        yield "nothing was done, as its tool says"


def _kept_out(kept: RateLimitedStep) -> RenderableType:
    line = Text(f"{kept.kind} ")
    line.append(spelled(kept.target), "bold")
    line.append(": ", "default")
    line.append("had to wait" if kept.parked else "refused", "yellow")
    line.append(f" by {escape(kept.rule_id)}: {escape(kept.reason)}", "default")
    if kept.times > 1:
        line.append(f", {kept.times} times", "default")
    line.append(f" [{kept.step_id[:12]}]", "dim")
    return hanging("- ", line, margin=2, style="yellow")


def _counted(limit: CountedLimit) -> str:
    whom = _SCOPE.get(limit.scope, escape(limit.scope))
    name = f"`{escape(limit.name)}`" if limit.name else f"of {escape(limit.rule_id)}"
    if limit.at_grant:
        return f"takes {escape(limit.amount)} of the limit {name} for {whom} when it is granted"
    if limit.of:
        return f"took {escape(limit.amount)} of the limit {name} for {whom}"
    return f"counted in the limit {name} for {whom}"


def _used(step: StepView) -> Iterator[str]:
    if step.tokens is not None:
        yield f"used {step.tokens[0]:,} tokens of input and {step.tokens[1]:,} of output"
    elif step.kind == Kind.LLM and step.went is StepOutcome.SUCCEEDED:
        yield "used nobody knows how many tokens"


def _asked(asked: ApprovalView) -> str:
    text = f"approval {asked.approval_id} {asked.status}"
    if asked.cause == "revoked":
        text = f"denied by a later bundle; {text}"
    if asked.covers:
        text = f"covered by {text}"
    if asked.status == "pending" and asked.granted_by:
        text += f", granted so far by {_names(asked)}"
    elif asked.status == "granted":
        text += f" by {_names(asked)}" + (f", scope {asked.scope}" if asked.scope != "once" else "")
    elif asked.decided_by:
        text += f" by {escape(asked.decided_by)}"
    return f"{text}: {escape(asked.rationale)}" if asked.rationale else text


def _names(asked: ApprovalView) -> str:
    return " and ".join(map(escape, asked.granted_by))


def _again(step: StepView) -> Iterator[str]:
    # What a fork took over ran in attempts of its source.
    if step.submitted and step.ran and step.ran != (step.submitted,):
        yield f"ran in {_attempts(step.ran)}"
    if step.replayed:
        yield f"replayed in {_attempts(step.replayed)}"


def _attempts(numbers: tuple[int, ...]) -> str:
    return f"attempt{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _failure(data: dict[str, Any] | None) -> Failure | None:
    return None if data is None else raised_view(data)


def _end(told: Timeline) -> Text:
    execution = told.execution
    line = Text("end: " if execution.status.terminal else "so far: ", "bold")
    line.append(execution.status.value, STATUS_STYLE[execution.status.value])
    if execution.failure_reason:
        line.append(f", {escape(execution.failure_reason, 1000)}", "default")
    if execution.status == "completed":
        line.append(f", output {stored(execution.raw('output'))}", "default")
    return line
