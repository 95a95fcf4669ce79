"""D13: the policy changes while a run is paused or down. What is done stays done, what is denied now does not run, and
every verdict names the policy that gave it."""

from pathlib import Path

import pytest

import rebuno
from rebuno.policy import compile_text
from tests.embedded.support import answer, in_loop, journal, run
from tests.sdk.support import Crash

V1 = """bundle team
default allow
rule ask-c { require approval for tool "c" }
"""
V2 = 'bundle team\ndefault allow\nrule no { deny tool "a", "b", "c" because "v2 forbids it" }\n'
# Other bytes, the same rules.
V1_AGAIN = f"# a comment\n\n{V1}\n\n"
LOOSER = "bundle team\ndefault allow\n"
ASKS_A = 'bundle team\ndefault allow\nrule ask { require approval for tool "a", "c" }\n'


class Run:
    """a, then c, then b; may die after a."""

    def __init__(self, *, dies: bool = False) -> None:
        self.ran: list[str] = []
        self.dies = dies

    async def __call__(self) -> list[object]:
        said = [await self.call("a")]
        if self.dies:
            self.dies = False
            raise Crash
        return [*said, await self.call("c"), await self.call("b")]

    async def call(self, name: str) -> object:
        def body() -> str:
            self.ran.append(name)
            return f"{name} done"

        return await rebuno.tool(name)(body)()


async def digests(path: Path) -> dict[str, str | None]:
    """The policy that gave each step its first verdict, and that of the newest attempt."""
    steps, events = await journal(path)
    started = [event for event in events if event.type == "execution.started"]
    return {step.target: step.digest for step in steps} | {"now": started[-1].payload["digest"]}


@pytest.mark.parametrize("paused", [True, False])
@in_loop
async def test_a_stricter_policy_undoes_nothing_and_lets_nothing_more_through(tmp_path: Path, paused: bool) -> None:
    """The done step is settled by a person and replayed, never refused to the handler; what v2 denies does not run,
    granted under v1 or not, and the refusal is v2's."""
    path, handler = tmp_path / "store.db", Run(dies=not paused)
    if paused:
        blocked = await run(path, V1, handler)
        await answer(path, blocked.approvals[0].id, granted=True)
    else:
        with pytest.raises(Crash):
            await run(path, V1, handler)
    stopped = await run(path, V2, handler)
    # A done effect that is denied today: whether the run may go on is a person's decision.
    assert [(asked.target, asked.cause) for asked in stopped.approvals] == [("a", "revoked")]
    await answer(path, stopped.approvals[0].id, granted=True)
    ended = await run(path, V2, handler)
    refused = [f"{name} not allowed. reason: v2 forbids it" for name in ("c", "b")]
    assert (ended.output, handler.ran) == (["a done", *refused], ["a"])
    v1, v2 = compile_text(V1).digest, compile_text(V2).digest
    assert await digests(path) == {"a": v1, "c": v1 if paused else v2, "b": v2, "now": v2}


@pytest.mark.parametrize("then", [V1_AGAIN, LOOSER])
@in_loop
async def test_a_policy_that_forbids_nothing_more_is_not_noticed(tmp_path: Path, then: str) -> None:
    """Other comments, or looser rules: nothing is asked about what is done, and recorded verdicts stay as they are."""
    path, handler = tmp_path / "store.db", Run()
    blocked = await run(path, V1, handler)
    await answer(path, blocked.approvals[0].id, granted=True)
    ended = await run(path, then, handler)
    assert (ended.output, handler.ran) == (["a done", "c done", "b done"], ["a", "c", "b"])
    steps, _ = await journal(path)
    assert [(step.target, step.decision) for step in steps] == [
        ("a", "allow"),
        ("c", "require_approval"),
        ("b", "allow"),
    ]
    v1 = compile_text(V1).digest
    assert [step.digest for step in steps] == [v1, v1, compile_text(then).digest]


@in_loop
async def test_what_was_asked_for_once_is_not_asked_for_no_more(tmp_path: Path) -> None:
    """v1 asked for a and v2 does not: the granted and finished step replays, and its verdict stays v1's."""
    path, handler = tmp_path / "store.db", Run()
    first = await run(path, ASKS_A, handler)
    await answer(path, first.approvals[0].id, granted=True)
    second = await run(path, V1, handler)
    assert [asked.target for asked in second.approvals] == ["c"]
    steps, _ = await journal(path)
    assert (steps[0].decision, steps[0].digest) == ("require_approval", compile_text(ASKS_A).digest)
    assert handler.ran == ["a"]


@in_loop
async def test_a_step_that_waits_under_a_looser_policy_waits_on(tmp_path: Path) -> None:
    """The stricter of the two: what was asked is answered by a person, whatever today's rules would say."""
    path, handler = tmp_path / "store.db", Run()
    first = await run(path, V1, handler)
    again = await run(path, LOOSER, handler)
    assert again.approvals == first.approvals
    assert handler.ran == ["a"]
