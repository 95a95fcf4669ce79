"""What the APIs have in common."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Heard:
    """What a request says: the tools that the model may call (name -> how they are called), the first prompt, what the
    model has said so far, as text, and what it was told of its calls (call id -> text)."""

    tools: dict[str, str]
    prompt: str
    said: str
    told: dict[str, str]


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """A call of an answer. `kind` is how its tool is called, as `Heard.tools` says."""

    id: str
    tool: str
    input: dict[str, Any] | str
    kind: str = ""

    @property
    def arguments(self) -> str:
        """The arguments as the text that is sent."""
        return self.input if isinstance(self.input, str) else json.dumps(self.input)


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """What the simulated model says: calls, or a closing word. `id` is unlike that of any other answer."""

    id: str
    calls: list[SimulatedCall]
    text: str


@dataclass(frozen=True, slots=True)
class Wire:
    """An answer as it is sent: one JSON body, or a stream of named events; a text is sent as it is."""

    body: dict[str, Any] | None = None
    events: list[tuple[str, dict[str, Any] | str]] = field(default_factory=list)


def text_of(content: Any) -> str:
    """The text of a message's content: a text, a list of parts, or a value that only JSON can show."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, dict):
        for key in ("text", "content", "output"):
            if isinstance(content.get(key), str | list):
                return text_of(content[key])
    return "" if content is None else json.dumps(content, ensure_ascii=False)
