"""How a handler gets its input."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import rebuno
from tests.sdk.support import outcome, play

MAIL = {"to": "ana", "text": "hi"}


async def fields(to: str, text: str) -> object:
    return [to, text]


async def keyword_only(*, text: str) -> object:
    return text


async def with_a_default(to: str, cc: str = "nobody") -> object:
    return [to, cc]


async def raw(input: dict[str, Any]) -> object:
    return input


async def raw_as_text(input: "dict[str, Any]") -> object:
    return input


async def any_value(anything: Any) -> object:
    return anything


class Mail(BaseModel):
    """What one handler takes."""

    to: str
    text: str
    copies: int = 1


async def modelled(mail: Mail) -> object:
    return [mail.to, mail.copies]


async def modelled_by_name(mail: "Mail") -> object:
    return [mail.to, mail.copies]


async def model_and_more(to: str, mail: Mail | None = None) -> object:
    return [to, mail]


async def everything(to: str, **others: Any) -> object:
    return [to, others]


async def nothing() -> object:
    return "ran"


def in_a_thread(to: str) -> object:
    return to


class Object:
    """A handler that is no function."""

    async def __call__(self, text: str) -> object:
        return text


CASES: list[tuple[str, Callable[..., Any], object, object]] = [
    ("fields by name", fields, MAIL, ["ana", "hi"]),
    ("a keyword-only field, others left out", keyword_only, MAIL, "hi"),
    ("a default for a missing field", with_a_default, MAIL, ["ana", "nobody"]),
    ("a dict as it is", raw, MAIL, MAIL),
    ("an annotation that is text", raw_as_text, MAIL, MAIL),
    ("no annotation: as it is", lambda anything: anything, MAIL, MAIL),
    ("as it is, and no object", lambda anything: anything, [1, "x"], [1, "x"]),
    ("as it is, and null", any_value, None, None),
    ("a model", modelled, MAIL, ["ana", 1]),
    ("a model whose name is text", modelled_by_name, MAIL | {"copies": "3"}, ["ana", 3]),
    ("a model beside another field is a field", model_and_more, MAIL, ["ana", None]),
    ("named fields and the others", everything, MAIL, ["ana", {"text": "hi"}]),
    ("a handler that asks for nothing", nothing, MAIL, "ran"),
    ("a handler that asks for nothing, of no object", nothing, 7, "ran"),
    ("a plain function", in_a_thread, MAIL, "ana"),
    ("an object that can be called", Object(), MAIL, "hi"),
    ("a tuple is a list", any_value, (1, 2), [1, 2]),
]


@pytest.mark.parametrize(("handler", "input", "output"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_handler_gets_what_its_signature_asks_for(handler: Callable[..., Any], input: object, output: object) -> None:
    """One row for each way to ask."""
    assert outcome(handler, input).output == output


REFUSED: list[tuple[str, Callable[..., Any], object, type[Exception], str]] = [
    (
        "a field is missing",
        fields,
        {"to": "ana"},
        rebuno.ValidationError,
        "input_invalid: the input lacks the field text",
    ),
    ("two are", fields, {}, rebuno.ValidationError, "input_invalid: the input lacks the fields to, text"),
    ("the input is no object", fields, "hi", rebuno.ValidationError, "input_invalid: the input lacks the fields"),
    (
        "a field of a model is missing",
        modelled,
        {"to": "ana"},
        rebuno.ValidationError,
        "input_invalid: `text`: Field required",
    ),
    ("no object for a model", modelled, "hi", rebuno.ValidationError, "input_invalid: `input`: Input should be"),
    ("a key that is a number", raw, {1: 2}, rebuno.NotJSON, "`input` has the key 1"),
    ("what cannot be hashed or written", raw, {"ids": [{1, 2}]}, rebuno.NotJSON, r"`input.ids\[0\]` is a set"),
    ("a lone surrogate", raw, {"name": "\udce9"}, rebuno.NotJSON, "`input.name` holds the lone surrogate U"),
]


@pytest.mark.parametrize(("handler", "input", "kind", "says"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_an_input_that_does_not_fit_records_nothing(
    handler: Callable[..., Any], input: object, kind: type[Exception], says: str
) -> None:
    """The error comes before an execution exists."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        with pytest.raises(kind, match=says):
            await kernel.run(handler, input, id="run")
        assert await kernel.operator.executions() == []

    play(scenario)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ({"id": ""}, "the id is blank"),
        ({"id": " \t"}, "the id is blank"),
        ({"id": "x" * 257}, "the id must be at most 256 bytes"),
        ({"id": "é" * 129}, "the id must be at most 256 bytes"),  # bytes, not characters
        ({"id": "a\0b"}, "without NUL"),
        ({"id": "\ud800"}, "the id is not valid Unicode"),
        ({"agent": ""}, "the agent is blank"),
    ],
)
def test_a_name_that_does_not_fit_records_nothing(names: dict[str, Any], says: str) -> None:
    """Ids and agents are texts that every store can hold."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        with pytest.raises(rebuno.ValidationError, match=says):
            await kernel.run(nothing, **names)
        assert await kernel.operator.executions() == []

    play(scenario)


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ({"at": {1}}, "`output.at` is a set"),
        ({1: 2}, "`output` has the key 1"),
        (float("nan"), "`output` is nan"),
    ],
)
def test_an_output_that_is_no_json_fails_the_execution(output: object, says: str) -> None:
    """With `agent_error` and the path to the value."""

    async def handler() -> object:
        return output

    ended = outcome(handler)
    assert ended.status == "failed"
    assert (ended.failure_reason or "").startswith("agent_error: NotJSON: ")
    assert says in (ended.failure_reason or "")


def test_what_a_handler_does_to_its_input_stays_with_it() -> None:
    """Policies go on seeing the input that was recorded."""
    bundle = 'bundle b\ndefault deny\nrule r { allow tool "tests-as-asked" when args.to == input.to }\n'

    async def handler(input: dict[str, Any]) -> object:
        for mine in (input, rebuno.execution().input):
            mine["to"] = "eve"
        return await rebuno.tool("tests-as-asked")(lambda to: to)("eve")

    ended = outcome(handler, {"to": "ana"}, bundle)
    assert (ended.input, ended.output) == ({"to": "ana"}, "tests-as-asked not allowed. reason: policy_denied")
