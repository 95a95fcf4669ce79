"""Random agents on a random clock: never more in any window than the rule says, and never fewer than there was room."""

import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution
from rebuno.model import identity
from rebuno.model.answer import AnswerKind, Submission
from rebuno.model.clock import FixedClock
from rebuno.policy import compile_text

SCOPES = {"": "execution", " for each agent": "agent", " for all agents together": "all"}


@dataclass(frozen=True)
class Call:
    """So many seconds later an agent's execution submits something new, or what it submitted last once more; or its
    process has died and it begins anew (`again`)."""

    after: float
    agent: str
    key: str
    new: bool
    again: bool


calls = st.lists(
    st.builds(
        Call,
        after=st.sampled_from([0, 0, 0.5, 1, 2.5, 4]),
        agent=st.sampled_from("ab"),
        key=st.sampled_from("12"),
        new=st.booleans(),
        again=st.sampled_from([False, False, False, True]),
    ),
    max_size=25,
)


async def starts(
    program: list[Call], number: int, window: int, scope: str
) -> tuple[dict[tuple[str, ...], list[float]], dict[tuple[str, ...], list[float]]]:
    """When steps started and when they were refused, for each window that the scope makes."""
    clock = FixedClock()
    store = await SQLiteStore.open(":memory:", clock=clock)
    began: dict[tuple[str, ...], list[float]] = {}
    refused: dict[tuple[str, ...], list[float]] = {}
    seen: set[str] = set()
    try:
        kernel = Kernel(store, compile_text(f'rule r {{ allow tool "act" limit {number} per {window}s{scope} }}'))
        attempts: dict[tuple[str, str], Attempt] = {}
        numbers: dict[tuple[str, str], int] = {}
        for call in program:
            clock.advance(call.after)
            who = (call.agent, call.key)
            if call.again and who in attempts:
                await execution.abandon(attempts.pop(who))
            if who not in attempts:
                attempt = await kernel.begin(agent_id=call.agent, input="{}", key=call.key)
                assert isinstance(attempt, Attempt)
                attempts[who] = attempt
            numbers[who] = numbers.get(who, 0) + call.new
            args = identity.canonical({"n": numbers[who]})
            answer = await kernel.submit(attempts[who], Submission("tool_call", "act", args, "safe_to_retry"))
            counted = {"execution": who, "agent": who[:1], "all": ()}[SCOPES[scope]]
            if answer.kind is AnswerKind.RATE_LIMITED:
                refused.setdefault(counted, []).append(clock.now())
            elif answer.kind is AnswerKind.PROCEED:
                # One that was started before and cut off starts again, and has its place.
                if answer.step_id not in seen:
                    began.setdefault(counted, []).append(clock.now())
                seen.add(answer.step_id)
    finally:
        await store.close()
    return began, refused


@settings(max_examples=60, deadline=None)
@given(calls, st.integers(1, 3), st.integers(1, 5), st.sampled_from(sorted(SCOPES)))
def test_a_window_never_holds_more_and_is_never_called_full_when_it_is_not(
    program: list[Call], number: int, window: int, scope: str
) -> None:
    """Counted on the journal: who came in, when; and a refused step found the window full."""
    began, refused = asyncio.run(starts(program, number, window, scope))
    for times in began.values():
        assert all(sum(at - window < other <= at for other in times) <= number for at in times)
    for counted, times in refused.items():
        for at in times:
            assert sum(at - window < other <= at for other in began[counted]) == number
