"""Beyond a bound of a decision a verdict is the same wherever it is judged: in the run, by another process that takes
it over, in a fork, in a recording and in another store."""

import asyncio
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.origins import in_rows
from rebuno.kernel.history import archive, recorded_facts
from rebuno.kernel.history.verify import check
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle.fork import fork
from rebuno.model import identity
from rebuno.model.answer import AnswerKind, Submission
from rebuno.policy import RecordedStep, compile_text, explain_decision
from tests.policy.bounds import Bounds, lowered

BUNDLE = """bundle bounds
default deny
known seeds = ["a"] or result of tool "seed" at []
known links = result of tool "link" at [].to where (item.by in seeds)
rule known { allow tool "pay" when args.to in links }
rule perhaps-known { deny tool "pay" when args.to in links }
rule often {
  allow tool "send"
  when count(tool "note" where (args.to == this.args.to) since tool "seed" where (this.args.to in result[])) >= 1
}
rule perhaps-often {
  deny tool "send"
  when count(tool "note" where (args.to == this.args.to) since tool "seed" where (this.args.to in result[])) >= 1
}
rule joined {
  allow tool "ask"
  when after tool "note" where (args.to == this.args.to
                                and after tool "seed" where (any result[] == outer.args.to))
}
rule perhaps-joined {
  deny tool "ask"
  when after tool "note" where (args.to == this.args.to
                                and after tool "seed" where (any result[] == outer.args.to))
}
rule rest { allow tool "seed", "link", "note" }
"""
LAYER = compile_text(BUNDLE)
# The same rules under another digest: nothing that was recorded stands by itself.
TODAY = compile_text(BUNDLE.replace("bundle bounds", "bundle today"))
INPUT = identity.canonical({"request": "go"})

names = st.sampled_from("ab")
links = st.lists(st.fixed_dictionaries({"to": names, "by": names}), max_size=3)
PLANS = st.lists(
    st.one_of(
        st.tuples(st.just("seed"), st.just("x"), st.lists(names, max_size=3)),
        st.tuples(st.just("link"), st.just("x"), links),
        st.tuples(st.just("note"), names, st.none()),
        st.tuples(st.sampled_from(["pay", "send", "ask"]), names, st.none()),
        st.tuples(st.sampled_from(["pay", "send", "ask", "again"]), names, st.none()),
    ),
    min_size=6,
    max_size=14,
)
SMALL = st.fixed_dictionaries(
    {
        "MAX_ELEMENT_TESTS": st.integers(0, 20),
        "MAX_KNOWN_VALUES": st.sampled_from([1, 3, 100]),
        "MAX_ITEMS": st.sampled_from([1, 3, 6, 100]),
    }
)


async def begun(store: Store) -> tuple[Kernel, Attempt]:
    kernel = Kernel(store, LAYER)
    attempt = await kernel.begin(agent_id="payer", input=INPUT, key="run")
    assert isinstance(attempt, Attempt)
    return kernel, attempt


@given(PLANS, SMALL)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_bound_is_reached_at_the_same_step(plan: list[tuple[str, str, Any]], bounds: Bounds) -> None:
    """Every step's rule is the one that the run recorded, as `explain` tells too."""
    with lowered(bounds):
        asyncio.run(_played(plan))


async def _played(plan: list[tuple[str, str, Any]]) -> None:
    store, other = await SQLiteStore.open(":memory:"), await SQLiteStore.open(":memory:")
    kernel, attempt = await begun(store)
    wanted: dict[str, str] = {}
    for target, to, result in plan:
        if target == "again":
            # Another process takes over.
            await kernel.abandon(attempt)
            kernel, attempt = await begun(store)
            continue
        args = identity.canonical({"to": to, "n": len(wanted)})
        answer = await kernel.submit(attempt, Submission("tool_call", target, args, "safe_to_retry", ""))
        wanted[answer.step_id] = answer.rule_id
        event(answer.rule_id)
        if answer.kind is AnswerKind.PROCEED:
            await kernel.succeed(attempt, answer.step_id, identity.canonical(result), result)
    await kernel.abandon(attempt)
    run = attempt.execution.id
    rules = list(wanted.values())
    await _agrees(store, run, rules)
    recording = archive.read([line.encode() for line in archive.lines(await archive.record(store, run))])
    known = in_rows(recording.execution, recording.events, recording.turns, recording.root)
    _same(recorded_facts.of_rows(recording.execution, recording.steps, recording.approvals, known), rules)
    await _agrees(other, (await archive.restore(other, recording)).id, rules)
    source = await store.execution(run)
    for seq in (source.head_seq, max(1, source.head_seq // 2)):
        copy = await fork(store, source, seq)
        assert not (await check(store, copy.id)).fault
        found = await recorded_facts.judged(store, copy)
        _same(found, rules[: len(found)])
    await store.close()
    await other.close()


async def _agrees(store: Store, run: str, rules: list[str]) -> None:
    assert not (await check(store, run)).fault
    _same(await recorded_facts.judged(store, await store.execution(run)), rules)


def _same(found: list[RecordedStep], rules: list[str]) -> None:
    assert [one.rule_id for one in found] == rules
    for one in found:
        decided, tests = TODAY.decide(one.facts), one.facts.tests
        assert decided.rule_id == one.rule_id
        assert explain_decision(TODAY, one.facts).decision.rule_id == one.rule_id
        assert one.facts.tests == tests
