"""Pages of successes: what `steps` gives, in fewer values, and only where it is nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from rebuno.journal.records import Copied, StepRow
from rebuno.journal.success_page import SuccessPage
from rebuno.model.step import StepStatus
from tests.journal.builders import Opener, execution, in_loop, step

ARGS = '{"n":"\\n\\u0000"}'


def done(n: int, **changes: Any) -> StepRow:
    """A step that succeeded."""
    made = step(f"s{n}", status=StepStatus.SUCCEEDED, result=str(n), decided_seq=n + 2, args=ARGS)
    return replace(made, **changes)


async def read(opener: Opener, steps: list[StepRow], *, after: int = 0, limit: int = 9) -> SuccessPage | None:
    """A page of an execution with these steps."""
    async with opener() as store:
        await store.create(execution(), (), Copied(tuple(steps)))
        return await store.successes("e1", after=after, limit=limit)


@in_loop
async def test_a_page_holds_what_a_replay_needs_of_its_steps(opener: Opener) -> None:
    """In the order of their decisions, whatever the texts hold: their ids, what was said, numbers and results; the
    bundle, the tokens of all and the newest decision."""
    texts = {"target": "\x1a0 <é>", "parent_id": "s0", "occurrence": 12, "result": ""}
    steps = [done(0, input_tokens=3, output_tokens=4), done(2, **texts), done(1, input_tokens=5), done(3)]
    page = await read(opener, steps, limit=3)
    assert page is not None
    assert page.rows == [
        ("s0", ("", "tool_call", "t", ARGS), "0", "0"),
        ("s1", ("", "tool_call", "t", ARGS), "0", "1"),
        ("s2", ("s0", "tool_call", "\x1a0 <é>", ARGS), "12", ""),
    ]
    assert (page.digest, page.tokens, page.last) == ("d", 12, 4)


@in_loop
async def test_the_next_page_begins_behind_the_last(opener: Opener) -> None:
    """With the steps that were decided after an event, as many as there are."""
    page = await read(opener, [done(n) for n in range(4)], after=3)
    assert page is not None
    assert [success[0] for success in page.rows] == ["s2", "s3"]


OTHERWISE = [
    [],
    [done(1, status=StepStatus.EXECUTING, result=None)],
    [done(1, status=StepStatus.FAILED, result=None, error="{}")],
    [done(1, digest="another")],
    [done(1, target="two\nlines")],
    [done(1, status=StepStatus.EXECUTING, result=None), done(3, target=7 * "\n")],
    [done(1, args="x" * 70_000)],
    [done(1, result=None)],
]


@pytest.mark.parametrize("number", range(len(OTHERWISE)))
@in_loop
async def test_a_page_of_anything_else_is_none(opener: Opener, number: int) -> None:
    """No step at all, one that did not succeed, that another bundle let run, or whose texts do not fit in."""
    steps = OTHERWISE[number]
    assert await read(opener, [done(0), *steps, done(2)] if steps else []) is None
