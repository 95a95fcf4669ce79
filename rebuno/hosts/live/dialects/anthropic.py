"""Anthropic's messages."""

import json
from typing import Any, Final

from rebuno.hosts.live.dialects.heard import Heard, SimulatedAnswer, Wire, text_of

USAGE: Final = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def hear(body: dict[str, Any]) -> Heard:
    """Reads a request."""
    messages = [one for one in body.get("messages", []) if isinstance(one, dict)]
    blocks = [
        block
        for one in messages
        if isinstance(one.get("content"), list)
        for block in one["content"]
        if isinstance(block, dict)
    ]
    first = next((one for one in messages if one.get("role") == "user"), {})
    return Heard(
        tools={str(tool.get("name")): "" for tool in body.get("tools") or []},
        prompt=text_of(first.get("content")),
        said=json.dumps([one.get("content") for one in messages if one.get("role") == "assistant"]),
        told={
            str(block.get("tool_use_id")): text_of(block.get("content"))
            for block in blocks
            if block.get("type") == "tool_result"
        },
    )


def say(path: str, body: dict[str, Any], answer: SimulatedAnswer) -> Wire:
    """Writes an answer."""
    blocks: list[dict[str, Any]] = [
        {"type": "tool_use", "id": call.id, "name": call.tool, "input": call.input} for call in answer.calls
    ]
    stop = "tool_use" if blocks else "end_turn"
    blocks = blocks or [{"type": "text", "text": answer.text}]
    head = {"id": answer.id, "type": "message", "role": "assistant", "model": body.get("model"), "stop_sequence": None}
    if not body.get("stream"):
        return Wire({**head, "content": blocks, "stop_reason": stop, "usage": USAGE})
    begun: dict[str, Any] = {**head, "content": [], "stop_reason": None, "usage": USAGE}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ended = {"stop_reason": stop, "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": USAGE["output_tokens"]}},
        {"type": "message_stop"},
    ]
    return Wire(events=[(event["type"], event) for event in events])
