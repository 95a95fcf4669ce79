"""What a model call is about is read from every shape that providers use, and from what is none of them."""

import json
from typing import Any

import pytest

from rebuno.model.dialogue import MOST, answered, asked


def recorded(body: Any, kind: str = "application/json") -> dict[str, Any]:
    """A step's result."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {"status": 200, "headers": {"content-type": kind}, "body": text}


def stream(*events: Any) -> dict[str, Any]:
    """A result that was streamed."""
    return recorded("".join(f"data: {json.dumps(event)}\n\n" for event in events), "text/event-stream; charset=utf-8")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]}, "user: hi"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}]},
            "user: a [image_url]",
        ),
        ({"messages": [{"role": "tool", "content": "42", "tool_call_id": "c"}]}, "tool: 42"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "r"}]}]}
                ]
            },
            "user: r",
        ),
        ({"input": "a question"}, "a question"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "q"}]}]}, "user: q"),
        ({"input": [{"type": "function_call_output", "output": "7"}]}, "function_call_output: 7"),
        ({"prompt": "once upon"}, "once upon"),
        ({"messages": [{"role": "user", "content": "x" * 5000}]}, "user: " + "x" * (MOST - 6)),
        ({"messages": []}, ""),
        ({"messages": [1]}, ""),
        ({"messages": {"role": "user"}}, ""),
        ({"messages": [{"role": 1, "content": 2}]}, ""),
        ({}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_last_message_of_a_request(args: Any, text: str) -> None:
    """Chat, responses, messages, completions; anything else has none."""
    assert asked(args) == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (recorded({"choices": [{"message": {"content": "hello"}}]}), "hello"),
        (
            recorded({"choices": [{"message": {"content": None, "tool_calls": [{"function": {"name": "pay"}}]}}]}),
            "[calls pay]",
        ),
        (recorded({"choices": [{"text": "there was"}]}), "there was"),
        (recorded({"content": [{"type": "text", "text": "a"}, {"type": "tool_use", "name": "pay"}]}), "a [calls pay]"),
        (
            recorded(
                {"output": [{"type": "message", "content": [{"text": "r"}]}, {"type": "function_call", "name": "f"}]}
            ),
            "r [calls f]",
        ),
        (stream(*({"choices": [{"delta": {"content": piece}}]} for piece in ("a", "b", " c"))), "ab c"),
        (stream({"choices": [{"delta": {"tool_calls": [{"function": {"name": "pay"}}]}}]}), "[calls pay]"),
        (
            stream(
                {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "pay"}},
                {"type": "content_block_delta", "delta": {"text": "hi"}},
            ),
            "[calls pay]hi",
        ),
        (
            stream(
                {"type": "response.output_text.delta", "delta": "h"},
                {"type": "response.output_text.delta", "delta": "i"},
                {"type": "response.output_item.added", "item": {"type": "function_call", "name": "f"}},
            ),
            "hi[calls f]",
        ),
        (stream(*[{"choices": [{"delta": {"content": "x" * 100}}]}] * 50), "x" * MOST),
        (recorded("no JSON"), ""),
        (recorded("[" * 100_000), ""),
        (recorded({"choices": [None, {"message": 1}], "content": {"a": 1}, "output": "x"}), ""),
        (stream(None, 1, {"type": 3}), ""),
        (recorded("data: {\n\n", "text/event-stream"), ""),
        ({**recorded("eA=="), "encoding": "base64"}, ""),
        ({"status": 200}, ""),
        ("text", ""),
        (None, ""),
    ],
)
def test_how_an_answer_begins(result: Any, text: str) -> None:
    """Whole or streamed, with the tools that it calls."""
    assert answered(result) == text
