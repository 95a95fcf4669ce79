"""The tokens of a model call, read from the recorded response: OpenAI chat and responses, Anthropic messages, and their
streams."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# More than any model reads or writes, and what every store can hold: a larger count is a mistake.
_MOST: Final = 2**53
# Chat; responses and messages; what is read from or written to a provider's cache counts as input there, beside it.
_INPUT: Final = ("prompt_tokens", "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OUTPUT: Final = ("completion_tokens", "output_tokens")
_COUNTS: Final = frozenset((*_INPUT, *_OUTPUT))
# Where the counts stand: the body itself and a chat chunk; an event of the responses API; the first one of a message.
_PLACES: Final = (None, "response", "message")
_END_OF_LINE: Final = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Usage:
    """The provider's token counts. `input_tokens` includes cached tokens."""

    input_tokens: int
    output_tokens: int


def parse(recorded: object) -> Usage | None:
    """The tokens of a recorded `llm_call`, or None if the response has no counts.

    `recorded` is the step's result as a JSON value: `{"status": …, "headers": {"content-type": …}, "body": "…"}`. A
    response with an error status used nothing that is known. A stream's later counts replace its earlier ones.
    """
    if not isinstance(recorded, dict):
        return None
    status, headers, body = (recorded.get(key) for key in ("status", "headers", "body"))
    if not isinstance(body, str) or not isinstance(headers, dict) or not isinstance(status, int) or status >= 400:
        return None
    kind = str(headers.get("content-type", "")).split(";")[0].strip().lower()
    texts = events_of(body) if kind == "text/event-stream" else iter((body,))
    counts: dict[str, int] = {}
    for text in texts:
        counts |= _counts(text)
    if not counts:
        return None
    return Usage(sum(counts.get(name, 0) for name in _INPUT), sum(counts.get(name, 0) for name in _OUTPUT))


def events_of(stream: str) -> Iterator[str]:
    """The data of each event of a stream of server-sent events."""
    data: list[str] = []
    for line in _END_OF_LINE.split(stream):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data.clear()
    if data:
        yield "\n".join(data)


def _counts(text: str) -> dict[str, int]:
    # Most events of a stream have none, and a long one has thousands.
    if '"usage"' not in text:
        return {}
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    counts: dict[str, int] = {}
    for place in _PLACES:
        part = whole if place is None else _member(whole, place)
        usage = _member(part, "usage")
        if isinstance(usage, dict):
            counts |= {name: value for name, value in usage.items() if name in _COUNTS and _is_count(value)}
    return counts


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
