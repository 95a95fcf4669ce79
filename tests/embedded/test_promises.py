"""What must hold whatever a handler does: the body gets what was judged, and nothing runs twice under another name."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.kernel import Attempt
from rebuno.policy.compile import compile_text
from rebuno.testing import memory_kernel
from tests.kernel.support import bench

ALLOW = compile_text("bundle open\ndefault allow\n")
ONE = compile_text('bundle one\ndefault deny\nrule mail { allow tool "mail-some" when size of args.to <= 1 }\n')
ASK = compile_text('bundle asking\ndefault deny\nrule ask { require approval for tool "promised-*" because "ask" }\n')


def run(handler: Any, policy: Any = ALLOW, **more: Any) -> rebuno.Execution:
    """One run on a store in memory."""

    async def whole() -> rebuno.Execution:
        async with memory_kernel(policy) as kernel:
            return await kernel.run(handler, {}, **more)

    return asyncio.run(whole())


def test_a_body_gets_the_arguments_that_were_judged() -> None:
    """What the handler does to a list after the call is not what the tool sees."""
    sent: list[list[str]] = []

    @rebuno.tool("mail-some")
    async def mail(to: list[str]) -> None:
        sent.append(to)

    async def handler() -> None:
        batch = ["a@x"]
        under_way = asyncio.create_task(mail(batch))
        await asyncio.sleep(0)
        batch += ["b@x", "c@x"]
        await under_way
        nested = {"list": [1]}
        again = asyncio.create_task(rebuno.step("local", lambda **given: sent.append(given["list"]), nested))
        await asyncio.sleep(0)
        nested["list"].append(2)
        await again

    assert run(handler, ONE).status == "completed"
    assert sent == [["a@x"], [1]]


def test_an_unknown_outcome_is_not_retried_from_another_body() -> None:
    """The same `at_most_once` call in another place is the same effect: it is refused before the first is visited."""

    async def scenario() -> None:
        async with bench() as b:
            await b.begin(ALLOW)
            await b.submit(target="pay", idempotency="at_most_once")
            await b.begin(ALLOW)
            assert isinstance(b.attempt, Attempt)
            outer = await b.submit(target="outer")
            inner = await b.submit(target="pay", idempotency="at_most_once", parent=outer.step_id)
            assert (inner.kind, inner.rule_id) == ("denied", "__indeterminate_retry")

    asyncio.run(scenario())


def test_a_handler_that_cancels_itself_ends() -> None:
    """Nobody cancelled the run, so it fails, and the same line again says so."""

    async def handler() -> None:
        raise asyncio.CancelledError

    ended = run(handler)
    assert (ended.status, ended.failure_reason) == ("failed", "agent_error: CancelledError")


def test_a_handler_that_swallows_blocked_and_cancels_itself_is_blocked() -> None:
    """The question stands, whatever became of the exception."""

    @rebuno.tool("promised-act")
    async def act() -> None: ...

    async def handler() -> None:
        try:
            await act()
        except rebuno.Blocked:
            raise asyncio.CancelledError from None

    ended = run(handler, ASK)
    assert (ended.status, len(ended.approvals)) == ("blocked", 1)


class UnspeakableError(Exception):
    """An exception whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_exception_without_words_is_recorded_all_the_same() -> None:
    """By its type: the step failed, and so did the handler."""

    async def body() -> None:
        raise UnspeakableError

    async def handler() -> str:
        with pytest.raises(rebuno.ToolError) as caught:
            await rebuno.step("speechless", body)
        assert caught.value.error == {"type": "UnspeakableError", "message": ""}
        raise UnspeakableError

    ended = run(handler)
    assert (ended.status, ended.failure_reason) == ("failed", "agent_error: UnspeakableError")


def test_the_running_step_is_known_to_its_body() -> None:
    """Its id is the idempotency key for the outside world; the handler itself is in none."""

    async def body() -> str:
        return rebuno.execution().step_id

    async def handler() -> list[str]:
        return [rebuno.execution().step_id, await rebuno.step("ask", body), rebuno.execution().id]

    ended = run(handler)
    outside, inside, execution_id = ended.output
    assert (outside, len(inside), execution_id) == ("", 64, ended.id)


def test_every_question_is_listed() -> None:
    """A thousand is no bound."""

    @rebuno.tool("promised-many")
    async def ask(n: int) -> None: ...

    async def handler() -> None:
        await asyncio.gather(*(ask(n) for n in range(1010)), return_exceptions=True)

    assert len(run(handler, ASK).approvals) == 1010


WRONG: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("an id that is a number", {"id": 5}, rebuno.ValidationError, "the id is of type int"),
    ("an agent that is none", {"agent": 5}, rebuno.ValidationError, "the agent is of type int"),
]


@pytest.mark.parametrize(("more", "kind", "says"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_names_of_a_wrong_type_are_refused(more: dict[str, Any], kind: type[Exception], says: str) -> None:
    """Before anything is recorded."""

    async def handler() -> None: ...

    with pytest.raises(kind, match=says):
        run(handler, **more)


def test_a_step_whose_name_is_no_text_is_refused() -> None:
    """With a `TypeError` that says so."""
    name: Any = 5

    async def handler() -> None:
        with pytest.raises(TypeError, match="the name of a step is text"):
            await rebuno.step(name, lambda: 1)

    assert run(handler).status == "completed"


def test_a_handler_that_takes_its_input_by_position_is_refused() -> None:
    """Input is handed over by name, so nothing is recorded that could only fail."""

    async def handler(request: str, /) -> None: ...

    with pytest.raises(rebuno.ValidationError, match="by position"):
        run(handler)


OPENED: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("a misspelt durability", {"policy": rebuno.PERMISSIVE, "durability": "Strict"}, ValueError, "neither `group` nor"),
    ("a policy that is a number", {"policy": 5}, TypeError, "a policy is the path"),
    ("a list of anything", {"policy": [rebuno.PERMISSIVE]}, TypeError, "a policy is the path"),
    ("no policy", {}, ValueError, "a kernel needs a policy"),
]


@pytest.mark.parametrize(("more", "kind", "says"), [row[1:] for row in OPENED], ids=[row[0] for row in OPENED])
def test_a_kernel_does_not_open_on_a_guess(
    tmp_path: Path, more: dict[str, Any], kind: type[Exception], says: str
) -> None:
    """A setting that is not understood is an error, never the laxer of two."""

    async def opened() -> None:
        async with rebuno.open(tmp_path / "a.db", **more):
            pass

    with pytest.raises(kind, match=says):
        asyncio.run(opened())
