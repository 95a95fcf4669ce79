"""Steps read page by page: the same evidence as all at once, in the order of the log, and none that is not needed."""

import asyncio
import random
from dataclasses import replace

import pytest

from rebuno.journal.records import Approval, Copied, Execution, Step
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core import facts, recorded_steps
from rebuno.kernel.core.recorded_steps import RecordedSteps
from rebuno.model import identity
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.policy.compile import compile_text
from rebuno.policy.matcher.dependencies import LooksBack
from rebuno.policy.matcher.facts import Evidence, History

EVERYTHING = compile_text(
    'bundle b\ndefault allow\nrule a { deny tool "x" when after any step }\n'
    'known seen = approved any step at args.n\nrule b { deny tool "y" when args.n in seen }\n'
)
SOME = compile_text(
    "bundle b\ndefault allow\n"
    'let names = ["read", "list"]\n'
    'known seen = result of tool "fetch-*" at result\n'
    'rule a { deny tool "x" when count(tool names) > 2 or args.n in seen }\n'
    'rule b { deny local "y" when after llm "m" where (args.n == 1) }\n'
)


def log(seed: int, count: int) -> tuple[list[Step], list[Approval]]:
    """Steps whose starts, ends and grants overlap at random, as parallel branches leave them."""
    draw = random.Random(seed)
    moments: list[tuple[float, str, int]] = []
    for n in range(count):
        at = n + draw.random()
        for what, most in (("decided", 0.0), ("granted", 3.0), ("started", 5.0), ("ended", 20.0)):
            at += draw.random() * most
            moments.append((at, what, n))
    seqs = {(what, n): seq for seq, (_, what, n) in enumerate(sorted(moments), 2)}
    steps, approvals = [], []
    for n in range(count):
        status = draw.choice([StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.EXECUTING, StepStatus.DENIED])
        started = seqs["started", n] if status is not StepStatus.DENIED else 0
        ended = seqs["ended", n] if status is not StepStatus.EXECUTING else 0
        granted = draw.random() < 0.3
        step = Step(
            f"step-{n}",
            "run",
            "",
            Kind.TOOL,
            draw.choice(["read", "write", "fetch-1"]),
            identity.canonical({"n": n}),
            f"hash-{n}",
            0,
            draw.choice(list(Idempotency)),
            status,
            "allow",
            "r",
            "b",
            "digest",
            "",
            result=str(n) if status is StepStatus.SUCCEEDED else None,
            error='{"reason":"indeterminate"}' if status is StepStatus.FAILED else None,
            approval_id=f"approval-{n}" if granted else "",
            decided_seq=seqs["decided", n],
            started_seq=started,
            outcome_seq=ended,
            decided_at=1.0,
            input_tokens=n,
            output_tokens=1,
        )
        steps.append(step)
        if granted:
            asked = Approval(f"approval-{n}", "run", step.step_id, "policy", "granted", "", "r", "digest")
            approvals.append(replace(asked, requested_seq=seqs["decided", n], resolved_seq=seqs["granted", n]))
    return sorted(steps, key=lambda step: step.decided_seq), approvals


def shown(history: History) -> list[tuple[object, ...]]:
    return [(e.seq, e.target, e.args, e.result, e.approved, e.status, e.step) for e in history.evidence]


async def read(
    steps: list[Step], approvals: list[Approval], looks_back: LooksBack
) -> tuple[RecordedSteps, list[Evidence]]:
    """All of a log, page by page, and the evidence in the order in which it came."""
    store = await SQLiteStore.open(":memory:")
    run = Execution("run", "agent", None, ExecutionStatus.RUNNING, "null", "digest")
    await store.create(run, (), Copied(tuple(steps), tuple(approvals)))
    known = RecordedSteps(store, "run", 2, approvals, looks_back, base=10**6, digest="digest", visited=set())
    came: list[Evidence] = []
    while not known.complete:
        await known.more()
        came += known.history.evidence[len(came) :]
    await store.close()
    return known, came


@pytest.mark.parametrize("count", [0, 1, 4, 5, 60])
@pytest.mark.parametrize("seed", range(4))
def test_pages_give_the_evidence_of_the_whole_log(seed: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever overlaps: in the order of event numbers, as if all had been read at once; tokens and unknowns too."""
    monkeypatch.setattr(recorded_steps, "PAGE", 5)
    steps, approvals = log(seed, count)
    known, came = asyncio.run(read(steps, approvals, LooksBack(EVERYTHING)))
    whole = facts.history(steps, approvals)
    assert shown(known.history) == shown(whole)
    assert [e.seq for e in came] == sorted(e.seq for e in came)
    assert list(known.unvisited) == [step.step_id for step in steps]
    assert known.tokens == sum((step.input_tokens or 0) + 1 for step in steps)
    lost = (StepStatus.FAILED, StepStatus.EXECUTING)
    assert known.unknown == {
        (step.kind, step.target, step.args_hash)
        for step in steps
        if step.idempotency is Idempotency.ONCE and step.status in lost
    }


def test_only_what_a_policy_can_ask_about_is_kept() -> None:
    """The subjects of `after`, `count` and `known`, lists written out; nothing where there are none."""
    looks_back = LooksBack(SOME)
    kept = [
        (kind, target)
        for kind in ("tool_call", "llm_call", "local")
        for target in ("read", "list", "fetch-1", "m", "write", "x", "y")
        if looks_back.about(kind, target)
    ]
    assert kept == [("tool_call", "read"), ("tool_call", "list"), ("tool_call", "fetch-1"), ("llm_call", "m")]
    assert not LooksBack(compile_text('bundle b\ndefault allow\nrule a { deny tool "x" }\n')).about("tool_call", "x")
    steps, approvals = log(1, 40)
    known, _ = asyncio.run(read(steps, approvals, looks_back))
    assert {evidence.target for evidence in known.history.evidence} == {"read", "fetch-1"}


def test_a_step_that_ended_is_forgotten_once_it_was_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its texts and its row, unless an approval is about it; of steps far ahead the texts are not kept at all."""
    monkeypatch.setattr(recorded_steps, "PAGE", 5)

    async def scenario() -> None:
        steps, approvals = log(2, 60)
        known, _ = await read(steps, approvals, LooksBack(SOME))
        whole = [step for step in known.steps.values() if step.args and step.status.terminal]
        assert len(whole) == 10
        for step in steps:
            known.visit(step.step_id)
        left = {step.step_id for step in known.steps.values() if step.status.terminal}
        assert left == {step.step_id for step in steps if step.approval_id and step.status.terminal}
        assert not any(known.steps[step_id].args for step_id in left)
        assert (len(known.unvisited), len(known.visited)) == (0, 60)

    asyncio.run(scenario())


def test_who_stops_waiting_for_a_page_takes_it_from_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page that is read meanwhile is everybody's: a caller who is cancelled leaves it to the next one."""
    monkeypatch.setattr(recorded_steps, "PAGE", 5)

    async def scenario() -> None:
        store = await SQLiteStore.open(":memory:")
        run = Execution("run", "agent", None, ExecutionStatus.RUNNING, "null", "digest")
        steps, _ = log(3, 12)
        await store.create(run, (), Copied(tuple(steps)))
        known = RecordedSteps(store, "run", 2, (), LooksBack(SOME), base=10**6, digest="digest", visited=set())
        await known.more()
        impatient = asyncio.create_task(known.find(steps[-1].step_id))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.wait({impatient})
        found = await known.find(steps[-1].step_id)
        assert found is not None
        assert found.args == steps[-1].args
        await store.close()

    asyncio.run(scenario())
