"""Tests a bundle against cases and against recorded steps."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from rebuno.errors import ForbiddenError, ValidationError
from rebuno.journal.records import ApprovalRow, ExecutionRow, StepRow
from rebuno.kernel import Background, Serving, beside, facts_of_rows
from rebuno.model.clock import from_rfc3339
from rebuno.policy import Policy, RecordedStep, parse_cases, run_cases
from rebuno.server.wire.requests import Executions, TestPolicy
from rebuno.server.wire.writing import Json, array, obj

_EXECUTIONS: Final = 50
_MOST: Final = 200


async def tested(serving: Serving, agent_id: str, body: TestPolicy) -> Json:
    """The decisions of a policy on cases and recorded steps, and its rules that decided none of them.

    Raises:
        BundleError: the bundle, or a case, is malformed.
        NotFoundError, ForbiddenError: there is no such execution, or it is another agent's.
    """
    policy = await serving.policy(agent_id, body.bundle)
    cases = await beside(partial(parse_cases, {"agent_id": agent_id, "cases": body.cases or []}), long=True)
    report = await beside(partial(run_cases, policy, cases.cases), long=True) if policy.bundles else None
    results: list[dict[str, Any]] = []
    if report is not None:
        results += [_case(result.to_json()) for result in report.results]
    elif cases.cases:
        raise ValidationError(f"the agent `{agent_id}` has no bundle to test; send one as `bundle`")
    seen = set(_decided(results))
    for execution in await _executions(serving, agent_id, body):
        steps = await serving.steps(execution.id)
        approvals = await serving.approvals(status=None, execution_id=execution.id)
        known = await serving.background(execution)
        results += await beside(partial(_all_recorded, policy, execution, steps, approvals, known), long=True)
    seen |= set(_decided(results))
    unexercised = [rule for rule in report.coverage.unexercised if rule not in seen] if report is not None else []
    failed = sum(not result["pass"] for result in results)
    return await beside(partial(_written, results, failed, unexercised), long=True)


def _written(results: list[dict[str, Any]], failed: int, unexercised: list[str]) -> Json:
    return obj(results=array(results), failed=failed, unexercised_rules=unexercised)


def _all_recorded(
    policy: Policy, execution: ExecutionRow, steps: list[StepRow], approvals: Sequence[ApprovalRow], known: Background
) -> list[dict[str, Any]]:
    return [_recorded(policy, one) for one in facts_of_rows(execution, steps, approvals, known) if not one.by_kernel]


def _decided(results: list[dict[str, Any]]) -> list[str]:
    return [result["rule_id"] for result in results]


def _case(result: dict[str, Any]) -> dict[str, Any]:
    # All cases came in one request: their lines say nothing, and a trace is for the command line.
    return {name: value for name, value in result.items() if name not in ("line", "trace")}


def _recorded(policy: Policy, step: RecordedStep) -> dict[str, Any]:
    """A recorded step as a case that expects what was decided then."""
    facts, now = step.facts, policy.decide(step.facts)
    result: dict[str, Any] = {
        "name": step.where,
        "kind": facts.kind,
        "target": facts.target,
        "args": facts.args,
        "agent_id": facts.agent,
        "expect": step.verdict.value,
        "decision": now.verdict.value,
        "rule_id": now.rule_id,
        "reason": now.reason,
        "pass": now.verdict is step.verdict,
    }
    if now.verdict is not step.verdict:
        result["failure"] = f"recorded as {step.verdict.value}, would be {now.verdict.value}"
    return result


async def _executions(serving: Serving, agent_id: str, body: TestPolicy) -> list[ExecutionRow]:
    found: list[ExecutionRow] = []
    if body.execution_id:
        row = await serving.execution(body.execution_id)
        if row.agent_id != agent_id:
            raise ForbiddenError(f"the execution `{row.id}` is another agent's")
        found.append(row)
    if body.executions is not None:
        found += [row for row in await _recent(serving, agent_id, body.executions) if row not in found]
    return found


async def _recent(serving: Serving, agent_id: str, asked: Executions) -> list[ExecutionRow]:
    since = 0.0
    if asked.since:
        try:
            since = from_rfc3339(asked.since)
        except ValueError:
            raise ValidationError(f"`{asked.since}` is no time; write it like 2026-01-31T08:30:00Z") from None
    limit = min(asked.limit or _EXECUTIONS, _MOST)
    rows, _ = await serving.executions(agent_id=agent_id, session=asked.session or None, limit=limit)
    return [row for row in rows if row.created_at >= since]
