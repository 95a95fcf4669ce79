"""The APIs of model providers, as far as coding agents use them: what a request says, and how an answer is written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rebuno.hosts.live.dialects import anthropic, chat, gemini, responses
from rebuno.hosts.live.dialects.heard import Heard, SimulatedAnswer, SimulatedCall, Wire

__all__ = ["DIALECTS", "Dialect", "Heard", "SimulatedAnswer", "SimulatedCall", "Wire", "dialect_of"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API: the part of the path that names it, how a request is read, and how an answer is written."""

    name: str
    path: str
    hear: Callable[[dict[str, Any]], Heard]
    say: Callable[[str, dict[str, Any], SimulatedAnswer], Wire]


DIALECTS: Final = (
    Dialect("anthropic", "/messages", anthropic.hear, anthropic.say),
    Dialect("responses", "/responses", responses.hear, responses.say),
    Dialect("chat", "/chat/completions", chat.hear, chat.say),
    Dialect("gemini", "generatecontent", gemini.hear, gemini.say),
)


def dialect_of(path: str) -> Dialect | None:
    """The API that a path belongs to; None for a path that asks no model for an answer."""
    lowered = path.partition("?")[0].lower()
    return next((one for one in DIALECTS if lowered.endswith(one.path)), None)
