"""`@tool`: how functions become tools, and what a call records."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import rebuno
from tests.sdk.support import OPEN, outcome, play

# A name is registered once in a process; each test takes fresh ones.
_fresh = count()


def name() -> str:
    return f"tool-{next(_fresh)}"


def test_every_form_of_the_decorator_makes_a_tool() -> None:
    """Bare, called, named, over plain and coroutine functions: the call is awaited and gives the function's result."""

    @rebuno.tool
    def bare_form(x: int) -> int:
        return x + 1

    @rebuno.tool()
    async def called_form(x: int) -> int:
        return x + 2

    @rebuno.tool(name())
    def named(x: int) -> int:
        return x + 3

    @rebuno.tool(name(), idempotency="at_most_once")
    async def once(x: int) -> int:
        return x + 4

    async def handler() -> list[int]:
        return [await bare_form(0), await called_form(x=0), await named(0), await once(0)]

    assert outcome(handler).output == [1, 2, 3, 4]


def test_a_tool_keeps_the_face_of_its_function() -> None:
    """Signature, name and docstring are what frameworks read to describe a tool to a model."""

    @rebuno.tool(name())
    def send_mail(to: str, subject: str = "hello", *, urgent: bool = False) -> str:
        """Sends a mail."""
        return to

    assert str(inspect.signature(send_mail)) == "(to: str, subject: str = 'hello', *, urgent: bool = False) -> str"
    assert (send_mail.__name__, send_mail.__doc__) == ("send_mail", "Sends a mail.")
    assert inspect.iscoroutinefunction(send_mail)


def plain(a: int, b: int = 2, *rest: int, c: int = 3, **more: int) -> list[Any]:
    return [a, b, rest, c, more]


CALLS: list[tuple[str, Callable[[Any], Any], dict[str, Any], list[Any]]] = [
    ("defaults are filled in", lambda t: t(1), {"a": 1, "b": 2, "rest": [], "c": 3}, [1, 2, [], 3, {}]),
    ("keywords are as positions", lambda t: t(b=2, a=1), {"a": 1, "b": 2, "rest": [], "c": 3}, [1, 2, [], 3, {}]),
    (
        "further positions are a list",
        lambda t: t(1, 5, 6, 7),
        {"a": 1, "b": 5, "rest": [6, 7], "c": 3},
        [1, 5, [6, 7], 3, {}],
    ),
    (
        "further keywords stand beside",
        lambda t: t(1, d=9),
        {"a": 1, "b": 2, "rest": [], "c": 3, "d": 9},
        [1, 2, [], 3, {"d": 9}],
    ),
]


@pytest.mark.parametrize(("call", "args", "output"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
def test_arguments_are_recorded_by_name(call: Callable[[Any], Any], args: dict[str, Any], output: list[Any]) -> None:
    """What policy judges is the same however the call was written, and is what the body gets."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        ended = await kernel.run(lambda: call(rebuno.tool(name())(plain)), agent="agent")
        assert ended.output == output
        (step,) = await kernel.operator.steps(ended.id)
        assert (step.args, step.kind) == (args, "tool_call")

    play(scenario)


def hidden(x: int, /, **more: int) -> list[Any]:
    return [x, more]


def rest(*args: int, **more: int) -> list[Any]:
    return [args, more]


@pytest.mark.parametrize(
    ("function", "call"),
    [
        (hidden, lambda t: t(1, x=2)),  # Python tells the two apart, a record by name cannot
        (rest, lambda t: t(1, args=2)),
        (plain, lambda t: t()),  # as the function itself would
        (plain, lambda t: t(1, a=2)),
    ],
)
def test_a_call_that_names_its_arguments_twice_or_not_at_all_is_refused(
    function: Callable[..., Any], call: Callable[[Any], Any]
) -> None:
    """A `TypeError` before policy: no value reaches a body that policy has not seen."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        ended = await kernel.run(lambda: call(rebuno.tool(name())(function)), agent="agent")
        assert (ended.failure_reason or "").startswith("agent_error: TypeError: ")
        assert await kernel.operator.steps(ended.id) == []

    play(scenario)


class Files:
    """What has a method that is a tool."""

    def __init__(self, root: str) -> None:
        self.root = root

    def read(self, path: str) -> str:
        return f"{self.root}/{path}"

    @rebuno.tool("tests-unbound-read")
    def unbound(self, path: str) -> str:
        return path


class Called:
    """An object that can be called."""

    async def __call__(self, x: int) -> int:
        return x


def test_methods_partials_and_callable_objects_can_be_tools() -> None:
    """A bound method needs nothing; what has no name of its own needs an id."""

    async def handler() -> list[object]:
        read = rebuno.tool(name())(Files("/srv").read)
        part = rebuno.tool(name())(functools.partial(plain, 1, c=5))
        called = rebuno.tool(name())(Called())
        return [await read("a"), await part(2), await called(3)]

    assert outcome(handler).output == ["/srv/a", [1, 2, [], 5, {}], 3]
    for nameless in (functools.partial(plain, 1), Called()):
        with pytest.raises(ValueError, match=r'the id of a tool is empty; name it: `@tool\("id"\)`'):
            rebuno.tool(nameless)


def test_a_tool_on_a_method_says_that_self_is_no_argument() -> None:
    """An object cannot be recorded, and the error names it."""
    ended = outcome(lambda: Files("/srv").unbound("a"))
    assert (ended.failure_reason or "").startswith(
        "agent_error: NotJSON: `args.self` is a Files, which JSON cannot hold"
    )


def test_one_id_has_one_idempotency() -> None:
    """The journal knows a tool by its name alone; the same function with the same promise again is fine."""
    same = name()
    rebuno.tool(same)(plain)
    rebuno.tool(same, idempotency="safe_to_retry")(plain)
    with pytest.raises(ValueError, match=f"`{same}` is registered as `safe_to_retry` already; use another id"):
        rebuno.tool(same, idempotency="at_most_once")(plain)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tool_id": ""}, "the id of a tool is empty"),
        (
            {"tool_id": "tests-x", "idempotency": "exactly_once"},
            "unknown idempotency `exactly_once`; use one of safe_to",
        ),
    ],
)
def test_a_tool_is_declared_well_or_not_at_all(options: dict[str, str], says: str) -> None:
    """A `ValueError` at the decorator, long before a call."""
    with pytest.raises(ValueError, match=says):
        rebuno.tool(**options)(plain)


def test_a_refused_tool_answers_with_a_sentence() -> None:
    """The model reads it; nothing is raised, the body does not run, and the replay says the same."""
    target = name()
    bundle = OPEN + f'rule no {{ deny tool "{target}" because "not on a Sunday" }}\n'
    ran: list[int] = []

    async def scenario(kernel: rebuno.Kernel) -> None:
        async def handler() -> object:
            return await rebuno.tool(target)(lambda: ran.append(1))()

        ended = await kernel.run(handler)
        assert ended.output == f"{target} not allowed. reason: not on a Sunday"

    play(scenario, bundle)
    assert ran == []


def test_a_refusal_inside_a_body_is_that_body_s_failure() -> None:
    """Only the tool that was refused answers with the sentence; an outer one has failed."""
    outer, inner = name(), name()
    bundle = OPEN + f'rule no {{ deny local "{inner}" because "no" }}\n'
    ended = outcome(lambda: rebuno.tool(outer)(lambda: rebuno.step(inner, int))(), bundle=bundle)
    assert ended.failure_reason == f"tool_error: {outer}: no"


def test_a_tool_outside_an_execution_is_refused() -> None:
    """Called by hand it does not run past the kernel: `RuntimeError`."""
    target = name()
    with pytest.raises(RuntimeError, match=f"the tool `{target}` was called outside an execution"):
        asyncio.run(rebuno.tool(target)(plain)(1))


def test_a_failed_tool_raises() -> None:
    """Its own exceptions are not refusals."""
    target = name()
    ended = outcome(lambda: rebuno.tool(target)(lambda: 1 // 0)())
    assert ended.failure_reason == f"tool_error: {target}: integer division or modulo by zero"


def simple(a: int, b: int = 2, *, c: int, d: int = 4) -> list[int]:
    return [a, b, c, d]


def nothing() -> None:
    return


@pytest.mark.parametrize("function", [simple, nothing, lambda a=1: [a], lambda *, a: [a]])
def test_calls_are_bound_as_python_binds_them(function: Callable[..., Any]) -> None:
    """Whatever is given by position or name: the same arguments, or the same refusal."""
    signature = inspect.signature(function)
    tool = rebuno.tool(name())(function)

    def bound(args: tuple[int, ...], kwargs: dict[str, int]) -> dict[str, Any] | str:
        try:
            found = signature.bind(*args, **kwargs)
        except TypeError as error:
            return f"agent_error: TypeError: {error}"
        found.apply_defaults()
        return dict(found.arguments)

    calls = [
        ((10, 20, 30)[:given], {key: 7 for key in ("a", "b", "c", "d", "e") if key in named})
        for given in range(4)
        for named in ("", "c", "cd", "abcd", "bc", "ac", "a", "ce", "e", "b")
    ]
    assert len({str(bound(*call)) for call in calls}) > 2

    def as_handler(args: tuple[int, ...], kwargs: dict[str, int]) -> Callable[[], Any]:
        return lambda: tool(*args, **kwargs)

    async def scenario(kernel: rebuno.Kernel) -> None:
        for args, kwargs in calls:
            ended = await kernel.run(as_handler(args, kwargs), agent="agent")
            steps = await kernel.operator.steps(ended.id)
            assert (steps[0].args if steps else ended.failure_reason) == bound(args, kwargs)

    play(scenario)
