"""Tokens are read from what providers really send, and from nothing else."""

import json
from typing import Any

import pytest

from rebuno.model.usage import Usage, parse


def recorded(body: Any, content_type: str = "application/json", status: int = 200) -> dict[str, Any]:
    """A recorded response."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {"status": status, "headers": {"content-type": content_type}, "body": text}


def stream(*events: Any, end: str = "\n") -> dict[str, Any]:
    """A recorded stream; a dict is one event's data, text one event as it is."""
    parts = [event if isinstance(event, str) else f"data: {json.dumps(event)}" for event in events]
    return recorded(f"{end}{end}".join([*parts, ""]), "text/event-stream; charset=utf-8")


CHAT = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
RESPONSES = {"input_tokens": 11, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 4}}
MESSAGE = {"input_tokens": 11, "output_tokens": 7}
START = {"type": "message_start", "message": {"usage": {"input_tokens": 11, "output_tokens": 1}}}
DELTA = {"type": "message_delta", "usage": {"output_tokens": 7}}
LONG = "9" * 5000


@pytest.mark.parametrize(
    ("response", "usage"),
    [
        pytest.param(recorded({"usage": CHAT}), Usage(11, 7), id="chat"),
        pytest.param(recorded({"usage": RESPONSES}), Usage(11, 7), id="responses: cached tokens are among the input"),
        pytest.param(recorded({"usage": MESSAGE}), Usage(11, 7), id="messages"),
        pytest.param(
            recorded({"usage": MESSAGE | {"cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000}}),
            Usage(1111, 7),
            id="messages: what the cache holds stands beside the input",
        ),
        pytest.param(
            recorded({"usage": MESSAGE | {"cache_read_input_tokens": None}}), Usage(11, 7), id="a null count is none"
        ),
        pytest.param(recorded({"usage": {"prompt_tokens": 5}}), Usage(5, 0), id="embeddings put nothing out"),
        pytest.param(
            stream({"choices": [], "usage": None}, {"choices": [], "usage": CHAT}, "data: [DONE]"),
            Usage(11, 7),
            id="a chat stream: the last chunk",
        ),
        pytest.param(
            stream({"usage": {"prompt_tokens": 11, "completion_tokens": 1}}, {"usage": CHAT}),
            Usage(11, 7),
            id="a chat stream that counts on: not the sum",
        ),
        pytest.param(
            stream(
                'event: response.created\ndata: {"response": {"usage": null}}',
                f"event: response.completed\ndata: {json.dumps({'response': {'usage': RESPONSES}})}",
            ),
            Usage(11, 7),
            id="a responses stream",
        ),
        pytest.param(stream(START, DELTA, {"type": "message_stop"}), Usage(11, 7), id="a message stream: both ends"),
        pytest.param(stream(START, DELTA, end="\r\n"), Usage(11, 7), id="lines may end in CRLF"),
        pytest.param(stream(START, DELTA, end="\r"), Usage(11, 7), id="lines may end in CR"),
        pytest.param(
            stream(': ping\ndata:{"usage":\ndata: {"prompt_tokens": 3}}'),
            Usage(3, 0),
            id="a comment, no space, data in two lines",
        ),
        pytest.param(recorded('data: {"usage": {"prompt_tokens": 3}}', "text/event-stream"), Usage(3, 0), id="no end"),
        pytest.param(stream({"choices": [{"text": '"usage"'}]}), None, id="a word in a text is no count"),
        pytest.param(stream({"choices": []}, "data: [DONE]"), None, id="a stream that was not asked to count"),
        pytest.param(recorded({"usage": CHAT}, status=429), None, id="an error"),
        pytest.param(recorded({"id": "x"}), None, id="no usage"),
        pytest.param(recorded({"usage": "much"}), None, id="usage as text"),
        pytest.param(recorded({"usage": {"prompt_tokens": True}}), None, id="a boolean is no count"),
        pytest.param(recorded({"usage": {"prompt_tokens": -1}}), None, id="less than nothing"),
        pytest.param(recorded({"usage": {"prompt_tokens": 1.5}}), None, id="half a token"),
        pytest.param(recorded({"usage": {"prompt_tokens": 2**60}}), None, id="more than a store could hold"),
        pytest.param(recorded(f'{{"usage": {{"prompt_tokens": {LONG}}}}}'), None, id="more than Python reads"),
        pytest.param(recorded('{"usage": '), None, id="half a body"),
        pytest.param(recorded('["usage"]'), None, id="a list"),
        pytest.param(recorded('{"usage": ' + "[" * 100_000), None, id="a body too deep to read"),
        pytest.param(recorded("RIFF", "audio/wav"), None, id="sound"),
        pytest.param({"status": 200, "body": "{}"}, None, id="no headers"),
        pytest.param("a text", None, id="the result of somebody's own step"),
        pytest.param(None, None, id="null"),
    ],
)
def test_usage_is_read_from_what_providers_send(response: object, usage: Usage | None) -> None:
    """One row for each form of response, and for each that says nothing."""
    assert parse(response) == usage
