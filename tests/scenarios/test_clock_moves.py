"""A clock that moves in the middle of a run: what `within` and a window let through is never more than before."""

import pytest

from rebuno.model.answer import AnswerKind
from rebuno.policy import compile_text
from tests.embedded.support import in_loop
from tests.kernel.support import Opener, bench

HOUR = 3600
ONCE = compile_text("""bundle once
default deny
rule act { allow tool "act" when count(tool "act" within 30m) < 1 }
rule pay { allow tool "pay" limit 500 of args.amount per 30m for all agents together else deny }
""")


@pytest.mark.parametrize(
    ("moved", "acts", "pays"),
    [
        (60, AnswerKind.DENIED, AnswerKind.DENIED),
        (HOUR, AnswerKind.PROCEED, AnswerKind.PROCEED),
        # A step that started later than now is perhaps inside, and its amount is still taken.
        (-HOUR, AnswerKind.DENIED, AnswerKind.DENIED),
    ],
)
@in_loop
async def test_a_clock_that_moves_in_a_run(opener: Opener, moved: int, acts: AnswerKind, pays: AnswerKind) -> None:
    """Forward it frees what is old; set back it frees nothing."""
    async with bench(opener) as b:
        await b.begin(ONCE)
        await b.succeed(await b.submit(args={"n": 1}))
        await b.succeed(await b.submit(target="pay", args={"amount": 400}))
        b.clock.advance(moved)
        assert (await b.submit(args={"n": 2})).kind is acts
        assert (await b.submit(target="pay", args={"amount": 300})).kind is pays


@in_loop
async def test_a_clock_that_was_set_back_and_forward_again(opener: Opener) -> None:
    """Once it is right again, all is as if it had never moved."""
    async with bench(opener) as b:
        await b.begin(ONCE)
        b.clock.advance(-HOUR)
        await b.succeed(await b.submit(target="pay", args={"amount": 400}))
        b.clock.advance(HOUR)
        await b.succeed(await b.submit(target="pay", args={"amount": 450}))
        assert (await b.submit(target="pay", args={"amount": 100})).kind is AnswerKind.DENIED
        assert (await b.submit(target="pay", args={"amount": 50})).kind is AnswerKind.PROCEED
