"""OpenAI's responses."""

import json
from typing import Any, Final

from rebuno.hosts.live.dialects.heard import Heard, SimulatedAnswer, SimulatedCall, Wire, text_of

# The kind of a tool that takes a text and no JSON.
CUSTOM: Final = "custom"
USAGE: Final = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}


def hear(body: dict[str, Any]) -> Heard:
    """Reads a request."""
    given = body.get("input")
    items = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    prompts = [text_of(one.get("content")) for one in items if one.get("role") == "user"]
    ours = [one for one in items if one.get("role") == "assistant" or str(one.get("type")).endswith("_call")]
    return Heard(
        tools=_tools(body.get("tools") or []),
        prompt=given if isinstance(given, str) else "\n".join(prompts),
        said=json.dumps(ours),
        told={
            str(one.get("call_id")): text_of(one.get("output"))
            for one in items
            if str(one.get("type")).endswith("_call_output")
        },
    )


def _tools(offered: list[dict[str, Any]]) -> dict[str, str]:
    # A tool of a namespace is `SPACE.NAME` here, also where it must be searched for and is not offered yet.
    found: dict[str, str] = {}
    for one in offered:
        if one.get("type") == "namespace":
            inner = _tools(one.get("tools") or [])
            found |= {f"{one.get('name')}.{name}": kind for name, kind in inner.items()}
        else:
            found[str(one.get("name") or one.get("type"))] = str(one.get("type"))
    return found


def say(path: str, body: dict[str, Any], answer: SimulatedAnswer) -> Wire:
    """Writes an answer."""
    items = [_call(call) for call in answer.calls] or [
        {
            "type": "message",
            "id": f"m_{answer.id}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
        }
    ]
    head = {"id": f"resp_{answer.id}", "object": "response", "model": body.get("model")}
    ended = {**head, "status": "completed", "output": items, "usage": USAGE}
    if not body.get("stream"):
        return Wire(ended)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}}
    ]
    for index, item in enumerate(items):
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": item},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    events.append({"type": "response.completed", "response": ended})
    return Wire(events=[(event["type"], event) for event in events])


def _call(call: SimulatedCall) -> dict[str, Any]:
    space, _, name = call.tool.rpartition(".")
    names = {"name": name, "namespace": space} if space else {"name": name}
    item: dict[str, Any] = {"id": f"fc_{call.id}", "call_id": call.id, **names, "status": "completed"}
    if call.kind == CUSTOM:
        return {"type": "custom_tool_call", **item, "input": call.arguments}
    return {"type": "function_call", **item, "arguments": call.arguments}
