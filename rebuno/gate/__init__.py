"""The kernel in front of agents that other programs run: `open_gate`, then `judge` before each call and `settle` after.

A name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rebuno.gate.gate import Gate, open_gate
    from rebuno.gate.verdict import UNSET, Allow, Ask, Deny, Recorded, Verdict

_HOMES: Final = {
    "UNSET": "verdict",
    "Allow": "verdict",
    "Ask": "verdict",
    "Deny": "verdict",
    "Gate": "gate",
    "Recorded": "verdict",
    "Verdict": "verdict",
    "open_gate": "gate",
}

__all__ = ["UNSET", "Allow", "Ask", "Deny", "Gate", "Recorded", "Verdict", "open_gate"]


def __getattr__(name: str) -> Any:
    try:
        module = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module `rebuno.gate` has no attribute `{name}`") from None
    value = globals()[name] = getattr(import_module(f"rebuno.gate.{module}"), name)
    return value
