"""OpenAI's chat completions."""

import json
from typing import Any, Final

from rebuno.hosts.live.dialects.heard import Heard, SimulatedAnswer, Wire, text_of

USAGE: Final = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def hear(body: dict[str, Any]) -> Heard:
    """Reads a request."""
    messages = [one for one in body.get("messages", []) if isinstance(one, dict)]
    first = next((one for one in messages if one.get("role") == "user"), {})
    return Heard(
        tools={str((tool.get("function") or {}).get("name")): "" for tool in body.get("tools") or []},
        prompt=text_of(first.get("content")),
        said=json.dumps([one for one in messages if one.get("role") == "assistant"]),
        told={str(one.get("tool_call_id")): text_of(one.get("content")) for one in messages if one["role"] == "tool"},
    )


def say(path: str, body: dict[str, Any], answer: SimulatedAnswer) -> Wire:
    """Writes an answer."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
        for call in answer.calls
    ]
    said: dict[str, Any] = {"tool_calls": calls} if calls else {"content": answer.text}
    reason = "tool_calls" if calls else "stop"
    head = {"id": answer.id, "created": 1, "model": body.get("model")}
    if not body.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": reason}
        return Wire({**head, "object": "chat.completion", "choices": [choice], "usage": USAGE})
    if calls:
        said = {"tool_calls": [{"index": index, **call} for index, call in enumerate(calls)]}
    chunk = {**head, "object": "chat.completion.chunk"}
    begun = {"index": 0, "delta": {"role": "assistant", **said}, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": reason}
    return Wire(
        events=[
            ("", {**chunk, "choices": [begun]}),
            ("", {**chunk, "choices": [ended], "usage": USAGE}),
            ("", "[DONE]"),
        ]
    )
