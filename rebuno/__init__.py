"""The kernel between an AI agent and its effects: a compiled policy first, a durable replay journal second.

`open` a kernel, `run` a handler in it, and wrap effects in `tool` and `step`. `Agent` and `Client` are for a served
kernel. Names are loaded on first use, so `import rebuno` is cheap.
"""

import os.path

TYPE_CHECKING = False  # importing `typing`, `pathlib` and `importlib` would be most of what importing this takes
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from rebuno import types
    from rebuno.embedded import PERMISSIVE, Kernel, open, operate
    from rebuno.errors import (
        APIError,
        Blocked,
        BundleError,
        CheckpointUnavailable,
        ConflictError,
        DuplicateTool,
        ExecutionExpired,
        ForbiddenError,
        KeyRingError,
        LeaseSuperseded,
        NetworkError,
        NotFoundError,
        NothingDone,
        NotJSON,
        PolicyError,
        RateLimited,
        RebunoError,
        ResultError,
        SchemaTooNew,
        SealBroken,
        SealErased,
        SealKeyMissing,
        StoreBusy,
        StoreCorrupt,
        StoreError,
        StoreForeign,
        StoreFull,
        StoreReadOnly,
        StoreUnreachable,
        Terminated,
        ToolError,
        UnauthorizedError,
        ValidationError,
        failure_reason,
    )
    from rebuno.kernel import Operator
    from rebuno.sdk.agent import Agent
    from rebuno.sdk.client import Client
    from rebuno.sdk.ending import Result
    from rebuno.sdk.execution import execution
    from rebuno.sdk.http_client import RebunoTransport, http_client
    from rebuno.sdk.previous import previous
    from rebuno.sdk.refusals import raise_for_refusal
    from rebuno.sdk.resources import CheckpointPolicy, resource
    from rebuno.sdk.step import step
    from rebuno.sdk.subagent import subagent
    from rebuno.sdk.tool import tool, wrap_tool
    from rebuno.sealing import KeyRing
    from rebuno.synchronous import run_sync
    from rebuno.types import Approval, Execution

__version__ = "0.1.0"

_EMBEDDED = ("PERMISSIVE", "Kernel", "open", "operate")
_MODELS = ("Approval", "Execution")
_HOMES = {
    **dict.fromkeys(_EMBEDDED, "rebuno.embedded"),
    **dict.fromkeys(_MODELS, "rebuno.types"),
    "Agent": "rebuno.sdk.agent",
    "Client": "rebuno.sdk.client",
    "KeyRing": "rebuno.sealing",
    "Operator": "rebuno.kernel",
    "Result": "rebuno.sdk.ending",
    "RebunoTransport": "rebuno.sdk.http_client",
    "execution": "rebuno.sdk.execution",
    "http_client": "rebuno.sdk.http_client",
    "previous": "rebuno.sdk.previous",
    "CheckpointPolicy": "rebuno.sdk.resources",
    "raise_for_refusal": "rebuno.sdk.refusals",
    "resource": "rebuno.sdk.resources",
    "run_sync": "rebuno.synchronous",
    "step": "rebuno.sdk.step",
    "subagent": "rebuno.sdk.subagent",
    "tool": "rebuno.sdk.tool",
    "wrap_tool": "rebuno.sdk.tool",
}

__all__ = [
    "PERMISSIVE",
    "APIError",
    "Agent",
    "Approval",
    "Blocked",
    "BundleError",
    "CheckpointPolicy",
    "CheckpointUnavailable",
    "Client",
    "ConflictError",
    "DuplicateTool",
    "Execution",
    "ExecutionExpired",
    "ForbiddenError",
    "Kernel",
    "KeyRing",
    "KeyRingError",
    "LeaseSuperseded",
    "NetworkError",
    "NotFoundError",
    "NotJSON",
    "NothingDone",
    "Operator",
    "PolicyError",
    "RateLimited",
    "RebunoError",
    "RebunoTransport",
    "Result",
    "ResultError",
    "SchemaTooNew",
    "SealBroken",
    "SealErased",
    "SealKeyMissing",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnreachable",
    "Terminated",
    "ToolError",
    "UnauthorizedError",
    "ValidationError",
    "execution",
    "failure_reason",
    "http_client",
    "open",
    "operate",
    "previous",
    "raise_for_refusal",
    "resource",
    "run_sync",
    "step",
    "subagent",
    "tool",
    "types",
    "wrap_tool",
]

if os.path.exists(os.path.join(os.path.dirname(__file__), "_kernel.py")):
    raise ImportError(
        "the published SDK `rebuno` and `rebuno-kernel` are installed in one environment and share the import name;"
        " uninstall both and install one, or give each an environment of its own"
    )


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module `rebuno` has no attribute `{name}`")
    value = _module("rebuno.types") if name == "types" else getattr(_module(_HOMES.get(name, "rebuno.errors")), name)
    globals()[name] = value
    return value


def _module(name: str) -> "ModuleType":
    from importlib import import_module

    from rebuno.model.collector import paused

    with paused():
        return import_module(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
