"""Gemini's generateContent."""

import json
from typing import Any, Final

from rebuno.hosts.live.dialects.heard import Heard, SimulatedAnswer, Wire, text_of

USAGE: Final = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}


def hear(body: dict[str, Any]) -> Heard:
    """Reads a request."""
    contents = [one for one in body.get("contents", []) if isinstance(one, dict)]
    users = [text_of(one.get("parts")) for one in contents if one.get("role") == "user"]
    responses = [
        part["functionResponse"] for one in contents for part in one.get("parts") or [] if "functionResponse" in part
    ]
    offered = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
    return Heard(
        tools={str(one.get("name")): "" for one in offered},
        prompt="\n".join(users[:2]),
        said=json.dumps([one for one in contents if one.get("role") == "model"]),
        told={str(one.get("id")): text_of(one.get("response")) for one in responses},
    )


def say(path: str, body: dict[str, Any], answer: SimulatedAnswer) -> Wire:
    """Writes an answer. A request that offers no tools is the host's own question which model to take."""
    parts: list[dict[str, Any]] = [
        {"functionCall": {"id": call.id, "name": call.tool, "args": call.input}} for call in answer.calls
    ]
    if not parts:
        config = body.get("generationConfig") or {}
        choice = {"model_choice": "flash", "reasoning": "", "complexity_reasoning": "", "complexity_score": 1}
        wanted = config.get("responseMimeType") == "application/json" and not body.get("tools")
        parts = [{"text": json.dumps(choice) if wanted else answer.text}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "simulated"}
    if "stream" in path.lower():
        return Wire(events=[("", whole)])
    return Wire(whole)
