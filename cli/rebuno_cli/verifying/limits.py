"""Limits and budgets hold, also where calls come at once and from several runs."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from rebuno.model.decision import Verdict
from rebuno.model.obligation import Budget, Limit, LimitScope, Otherwise
from rebuno.model.step import Kind
from rebuno.policy import measured, tree
from rebuno_cli.verifying.bench import Bench, BenchRun
from rebuno_cli.verifying.outcome import DoesNotApplyError, Findings
from rebuno_cli.verifying.probes import JudgedProbe, Probe

# Calls beyond the limit, and the largest number of calls that are made to fill one.
_MORE: Final = 3
_MOST: Final = 200
_TRIED: Final = 4
# How long a call that waits for a place is given, in seconds, once the limit is full.
_WAITS: Final = 1.0
# Scopes that runs share.
_SHARED: Final = (LimitScope.AGENT, LimitScope.GLOBAL, LimitScope.KEY)


async def limits_hold(bench: Bench, found: Findings) -> None:
    """More calls at once than a limit allows, from two runs where they share it: no more run than it says."""
    if not bench.probes.has(tree.LimitClause):
        raise DoesNotApplyError("the bundle has no limit")
    limited = list(_limited(bench))
    if not limited:
        raise DoesNotApplyError(f"no limit counts the {bench.probes.tried} steps that were tried")
    large = []
    for one, limit in limited[: 2 * _TRIED]:
        calls_needed = _needed(one.probe, limit)
        if calls_needed is None or calls_needed > _MOST or len(found.tried) >= _TRIED:
            large.append(f"{limit.number:,} of `{one.decision.rule_id}`")
            continue
        await _fill(bench, found, one, limit, calls_needed)
    if not found.tried:
        raise DoesNotApplyError(f"no limit can be filled with {_MOST} calls: {', '.join(large)}")


def _limited(bench: Bench) -> Iterator[tuple[JudgedProbe, Limit]]:
    seen = set()
    for one in bench.probes.of(Verdict.ALLOW):
        limits = [each.limit for each in one.decision.obligations if each.limit is not None]
        # Of several limits another one may be full first, which is no more than this one allows.
        for limit in limits:
            if (one.decision.rule_id, limit) not in seen:
                seen.add((one.decision.rule_id, limit))
                yield one, limit


def _amount(probe: Probe, limit: Limit) -> Decimal | None:
    found = measured(limit, probe.facts(0.0)).amount
    return Decimal(found) if found else None


def _needed(probe: Probe, limit: Limit) -> int | None:
    """How many calls are more than the limit allows; None where the step takes nothing of it, or nothing can."""
    amount = _amount(probe, limit)
    if amount is None:
        return _MORE
    return int(Decimal(str(limit.number)) / amount) + _MORE if amount > 0 else None


async def _fill(bench: Bench, found: Findings, one: JudgedProbe, limit: Limit, number: int) -> None:
    probe, amount = one.probe, _amount(one.probe, limit)
    calls = bench.calls("limited", [probe] * number)
    parts = [calls[::2], calls[1::2]] if limit.scope in _SHARED else [calls]
    began = time.monotonic()
    async with bench.kernel() as kernel:
        runs = [asyncio.create_task(bench.run(kernel, bench.name("limited"), part)) for part in parts if part]
        if limit.otherwise is Otherwise.WAIT:
            # Who waits for a place may wait for hours.
            await asyncio.wait(runs, timeout=_WAITS)
        else:
            await asyncio.wait(runs)
        await _stop(runs)
    ran = bench.ran(calls)
    windows = 1 if limit.window is None else 1 + int((time.monotonic() - began) / limit.window)
    most = windows * Decimal(str(limit.number))
    taken = ran * (amount if amount is not None else Decimal(1))
    said = f"{probe.named()}: {number} calls at once against a limit of {limit.number:,}"
    found.expect(taken <= most and (amount is not None or ran == 0), f"{said} let {ran} run")
    found.tried.append(f"{said}; {ran} ran")


async def _stop(runs: Sequence["asyncio.Task[BenchRun]"]) -> None:
    for run in runs:
        run.cancel()
    for told in await asyncio.gather(*runs, return_exceptions=True):
        if isinstance(told, Exception):
            raise told


async def budgets_hold(bench: Bench, found: Findings) -> None:
    """A model call that used up the budget, and then several at once: none of these runs."""
    if not bench.probes.has(tree.BudgetClause):
        raise DoesNotApplyError("the bundle has no budget")
    budgets: dict[str, tuple[JudgedProbe, Budget]] = {}
    for one in bench.probes.of(Verdict.ALLOW):
        for each in one.decision.obligations:
            if each.budget is not None and one.probe.kind == Kind.LLM.value:
                budgets.setdefault(one.decision.rule_id, (one, each.budget))
    if not budgets:
        raise DoesNotApplyError(f"no budget counts the {bench.probes.tried} steps that were tried")
    for one, budget in list(budgets.values())[:_TRIED]:
        probe = one.probe
        first = bench.calls("spends", [probe], result=_used(budget.tokens))
        more = bench.calls("over", [probe] * _MORE)
        async with bench.kernel() as kernel:
            await bench.run(kernel, bench.name("budget"), more, before=first)
        said = f"{probe.named()}: a budget of {budget.tokens:,} tokens was used up"
        found.expect(bench.ran(first) == 1, f"{probe.named()} is allowed, and its body ran {bench.ran(first)} times")
        found.expect(bench.ran(more) == 0, f"{said}, and {bench.ran(more)} calls ran after it")
        found.tried.append(f"{said}, then {_MORE} calls at once")


def _used(tokens: int) -> dict[str, Any]:
    """A model's answer that used one token more."""
    body = json.dumps({"usage": {"input_tokens": tokens, "output_tokens": 1}})
    return {"status": 200, "headers": {"content-type": "application/json"}, "body": body}
