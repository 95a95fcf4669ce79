"""A summary of a model call for people: its last message and the beginning of its answer. It reads OpenAI chat and
responses, Anthropic messages, and their streams."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from rebuno.model.usage import events_of

# More of a text than this is not gathered, in characters.
MOST: Final = 1000


def asked(args: object) -> str:
    """The text of the last message of a request, `role: text`; content that is not text is named in brackets. Empty if
    the arguments are not those of a known kind of model call."""
    if not isinstance(args, dict):
        return ""
    messages = args.get("messages", args.get("input", args.get("prompt")))
    if isinstance(messages, str):
        return messages[:MOST]
    if not isinstance(messages, list) or not messages:
        return ""
    last = messages[-1]
    if not isinstance(last, dict):
        return last[:MOST] if isinstance(last, str) else ""
    role = last.get("role") or last.get("type")
    text = _joined(_parts(last.get("content", last.get("output"))))
    return f"{role}: {text}"[:MOST] if isinstance(role, str) else text


def answered(recorded: object) -> str:
    """The beginning of the answer of a recorded `llm_call`: its text and its tool calls; empty if it is not
    known. `recorded` is the step's result: `{"status", "headers", "body"}`."""
    if not isinstance(recorded, dict):
        return ""
    headers, body = recorded.get("headers"), recorded.get("body")
    if not isinstance(body, str) or "encoding" in recorded:
        return ""
    kind = str(headers.get("content-type", "")) if isinstance(headers, dict) else ""
    if kind.split(";")[0].strip().lower() != "text/event-stream":
        return _joined(_whole(_json(body)))
    pieces, size = [], 0
    for text in events_of(body):
        for piece in _delta(_json(text)):
            pieces.append(piece)
            size += len(piece)
        if size >= MOST:
            break
    return "".join(pieces)[:MOST]


def _whole(body: object) -> Iterator[str]:
    if not isinstance(body, dict):
        return
    for choice in _list(body.get("choices")):
        message = _dict(_dict(choice).get("message"))
        yield from _parts(message.get("content"))
        for call in _list(message.get("tool_calls")):
            yield _called(_dict(_dict(call).get("function")).get("name"))
        if not message:
            yield from _parts(_dict(choice).get("text"))
    yield from _parts(body.get("content"))
    for item in _list(body.get("output")):
        part = _dict(item)
        yield from _parts(part.get("content"))
        if part.get("type") == "function_call":
            yield _called(part.get("name"))


def _delta(event: object) -> Iterator[str]:
    if not isinstance(event, dict):
        return
    for choice in _list(event.get("choices")):
        delta = _dict(_dict(choice).get("delta"))
        yield from _parts(delta.get("content"))
        for call in _list(delta.get("tool_calls")):
            if isinstance(name := _dict(_dict(call).get("function")).get("name"), str) and name:
                yield _called(name)
    match event.get("type"):
        case "content_block_delta":
            yield from _parts(_dict(event.get("delta")).get("text"))
        case "content_block_start" if _dict(event.get("content_block")).get("type") == "tool_use":
            yield _called(_dict(event.get("content_block")).get("name"))
        case "response.output_text.delta":
            yield from _parts(event.get("delta"))
        case "response.output_item.added" if _dict(event.get("item")).get("type") == "function_call":
            yield _called(_dict(event.get("item")).get("name"))


def _parts(content: object) -> Iterator[str]:
    """The texts in a message's content: a text, or a list of parts."""
    if isinstance(content, str):
        yield content
    for part in _list(content):
        if isinstance(part, str):
            yield part
            continue
        said = _dict(part)
        text = said.get("text", said.get("content"))
        if isinstance(text, str):
            yield text
        elif said.get("type") == "tool_use":
            yield _called(said.get("name"))
        elif isinstance(text, list):
            yield from _parts(text)
        elif isinstance(kind := said.get("type"), str):
            yield f"[{kind[:40]}]"


def _called(name: object) -> str:
    return f"[calls {name[:80]}]" if isinstance(name, str) else "[calls a tool]"


def _joined(texts: Iterable[str]) -> str:
    gathered, size = [], 0
    for text in texts:
        gathered.append(text[:MOST])
        size += len(text)
        if size >= MOST:
            break
    return " ".join(gathered)[:MOST]


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
