"""For users' own tests: a kernel on a store in memory, a clock that stands still, and an assertion about decisions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rebuno.embedded import Kernel, PolicyLike, compiled
from rebuno.journal.sqlite import SQLiteStore
from rebuno.model.clock import Clock, FixedClock
from rebuno.model.decision import Decision, Verdict
from rebuno.policy.explain import explain
from rebuno.policy.facts import Evidence, Facts, History

__all__ = ["Evidence", "FixedClock", "History", "assert_decision", "memory_kernel"]


@asynccontextmanager
async def memory_kernel(policy: PolicyLike, *, clock: Clock | None = None) -> AsyncIterator[Kernel]:
    """A kernel that forgets everything at the end of the block: `async with memory_kernel("shell.rbp") as kernel`.

    `clock` is what rows are stamped with and grants grow old by; a `FixedClock` stands still until it is advanced.
    Raises as `rebuno.open` does.
    """
    store = await SQLiteStore.open(":memory:", clock=clock)
    try:
        kernel = Kernel(store, compiled(policy), strict=False)
        try:
            yield kernel
        finally:
            kernel.shut()
    finally:
        await store.close()


def assert_decision(
    policy: PolicyLike,
    expect: str,
    target: str,
    args: Any = None,
    *,
    kind: str = "tool_call",
    input: Any = None,
    history: History | None = None,
    agent: str = "",
    rule: str | None = None,
) -> Decision:
    """The decision on one submission, which must be `expect` (`allow`, `deny`, `require_approval`), by `rule` if given.

    Raises:
        AssertionError: it is another; the message tells which rule decided, at which line, and every rule's outcome.
        ValueError: `expect` is no verdict.
        BundleError: the bundle has errors.
    """
    wanted = Verdict(expect)
    facts = Facts(kind, target, {} if args is None else args, agent=agent, input=input, history=history)
    trace = explain(compiled(policy), facts)
    decision = trace.decision
    if decision.verdict is wanted and rule in (None, decision.rule_id):
        return decision
    told = "\n".join(f"  {line.rule_id} (line {line.line}): {line.outcome.value}" for line in trace.rules)
    by = f" by `{rule}`" if rule else ""
    raise AssertionError(
        f"`{target}` should be {wanted.value}{by}, it is {decision.verdict.value} by `{decision.rule_id}`"
        f" (line {decision.line}: {trace.source})\n{told}"
    )
