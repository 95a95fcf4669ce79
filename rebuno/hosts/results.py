"""Events that say how a call ended with a result that cannot be kept as it is: half of a surrogate pair, too long."""

import json
import re
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts.shorten import shortened
from rebuno.model import identity

_ENDED: Final = frozenset({"PostToolUse", "PostToolUseFailure", "AfterTool", "tool.execute.after"})
_RESULTS: Final = ("tool_response", "output", "error")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
# Levels of a result that are kept. An event may have 128 of them.
_MAX_DEPTH: Final = 64


def readable_result(text: bytes) -> dict[str, Any] | None:
    """The event with what can be kept of its result; None for an event that does not say how a call ended, or that is
    wrong in another place too."""
    try:
        event = json.loads(text, object_pairs_hook=_once, parse_constant=str)
        if not isinstance(event, dict) or event.get("hook_event_name", event.get("event")) not in _ENDED:
            return None
        for name in _RESULTS:
            if name in event:
                event[name] = shortened(_kept(event[name], 0))
        found: dict[str, Any] = identity.parse(json.dumps(event))
    except (ValueError, TypeError, RecursionError, ValidationError):
        return None
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated")
    return found


def _kept(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | dict) and depth == _MAX_DEPTH:
        return "… [shortened]"
    if isinstance(value, list):
        return [_kept(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {
            _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", name): _kept(one, depth + 1) for name, one in value.items()
        }
    return value


def _text(text: str) -> str:
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
