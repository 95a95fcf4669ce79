"""`wrap_tool`: tools from what has no signature of its own."""

import asyncio
import inspect
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import rebuno
from tests.sdk.support import OPEN, outcome, play, seen_twice

_fresh = count()


def name() -> str:
    return f"wrapped-{next(_fresh)}"


def plain(args: dict[str, Any]) -> int:
    return len(args)


async def coroutine(args: dict[str, Any]) -> int:
    return len(args)


class Called:
    """A tool object of some framework."""

    async def __call__(self, args: dict[str, Any]) -> int:
        return len(args)


@pytest.mark.parametrize("invoke", [plain, coroutine, Called(), lambda args: coroutine(args)])
def test_whatever_can_be_called_with_the_arguments_will_do(invoke: Callable[..., Any]) -> None:
    """Plain or not: the tool is awaited, and its arguments are the step's."""
    target = name()

    async def scenario(kernel: rebuno.Kernel) -> None:
        ended = await kernel.run(lambda: rebuno.wrap_tool(target, invoke)(a=1, b=[2]), agent="agent")
        assert ended.output == 2
        (step,) = await kernel.operator.steps(ended.id)
        assert (step.kind, step.target, step.args) == ("tool_call", target, {"a": 1, "b": [2]})

    play(scenario)


def test_a_schema_gives_the_tool_its_face() -> None:
    """Frameworks read name, docstring and signature, or the schema; the signature leaves out what is no name."""
    schema = {"properties": {"to": {}, "class": {}, "x-id": {}, "text": {}}, "required": ["to"]}
    target = name()
    tool = rebuno.wrap_tool(target, plain, description="Sends.", args_schema=schema, idempotency="at_most_once")
    assert str(inspect.signature(tool)) == "(*, to, text=None)"
    assert (tool.__name__, tool.__doc__) == (target, "Sends.")
    assert (vars(tool)["__input_schema__"], vars(tool)["__idempotency__"]) == (schema, "at_most_once")
    assert inspect.iscoroutinefunction(tool)
    assert inspect.signature(rebuno.wrap_tool(name(), plain)).parameters == {}


def test_arguments_are_changed_before_policy_and_results_before_the_journal() -> None:
    """What is judged and recorded is what the other side gets, and what the handler gets is what was recorded."""
    target = name()
    got: list[Any] = []

    def invoke(args: dict[str, Any]) -> set[int]:
        got.append(args)
        return {3, 1}

    tool = rebuno.wrap_tool(
        target, invoke, transform_args=lambda args: {k: v for k, v in args.items() if v is not None}, to_result=sorted
    )
    bundle = f'bundle tests\ndefault deny\nrule r {{ allow tool "{target}" when args.b missing }}\n'
    assert seen_twice(lambda: tool(a=1, b=None), bundle) == ([1, 3], [1, 3])
    assert got == [{"a": 1}]


def test_the_handler_s_list_is_not_the_body_s() -> None:
    """Changed after the call, it changes neither what was judged nor what the body gets."""

    async def handler() -> Any:
        mine = [1]
        task = asyncio.create_task(rebuno.wrap_tool(name(), lambda args: args["items"])(items=mine))
        await asyncio.sleep(0)
        mine.append(2)
        return await task

    assert outcome(handler).output == [1]


def test_a_refused_tool_answers_with_a_sentence() -> None:
    """For the model to read; nothing is raised and nothing called."""
    target = name()
    ran: list[Any] = []
    bundle = OPEN + f'rule no {{ deny tool "{target}" because "not on a Sunday" }}\n'
    said = seen_twice(lambda: rebuno.wrap_tool(target, ran.append)(), bundle)
    assert (said, ran) == ((f"{target} not allowed. reason: not on a Sunday",) * 2, [])


def test_what_fails_is_recorded() -> None:
    """Whether the work fails or its result cannot be made JSON, both runs see the same."""
    for tool in (
        rebuno.wrap_tool(name(), lambda args: 1 // 0),
        rebuno.wrap_tool(name(), lambda args: 0, to_result=lambda n: 1 // n),
    ):
        first, again = seen_twice(tool)
        assert isinstance(first, rebuno.ToolError)
        assert first.error == again.error == {"type": "ZeroDivisionError", "message": first.error["message"]}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": ""}, "the id of a tool is empty"),
        ({"name": "wrapped", "idempotency": "exactly_once"}, "unknown idempotency `exactly_once`"),
    ],
)
def test_a_tool_is_declared_well_or_not_at_all(options: dict[str, Any], says: str) -> None:
    """A `ValueError` long before a call."""
    with pytest.raises(ValueError, match=says):
        rebuno.wrap_tool(invoke=plain, **options)


def test_one_id_has_one_idempotency_however_it_was_made() -> None:
    """Policies and the journal cannot tell `tool` and `wrap_tool` apart."""
    same = name()
    rebuno.tool(same)(plain)
    with pytest.raises(ValueError, match=f"`{same}` is registered as `safe_to_retry` already"):
        rebuno.wrap_tool(same, plain, idempotency="at_most_once")


def test_a_tool_outside_an_execution_is_refused() -> None:
    """Called by hand it does not run past the kernel."""
    with pytest.raises(RuntimeError, match="was called outside an execution"):
        asyncio.run(rebuno.wrap_tool(name(), plain)())
