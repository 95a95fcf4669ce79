"""Turns a function into a tool: every call goes through the kernel first."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, overload

from rebuno.errors import PolicyError
from rebuno.model.step import Idempotency, Kind
from rebuno.sdk import context
from rebuno.sdk.arguments import detached

# One name, one promise: the policy and the journal know a tool by its name alone.
_registered: dict[str, Idempotency] = {}


@overload
def tool(tool_id: Callable[..., Any], /) -> Callable[..., Any]: ...
@overload
def tool(
    tool_id: str | None = None, *, idempotency: str = "safe_to_retry"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def tool(tool_id: Callable[..., Any] | str | None = None, *, idempotency: str = "safe_to_retry") -> Any:
    """Registers a function, plain or `async`, as a tool: `@tool`, `@tool()`, `@tool("id")`, `@tool("id",
    idempotency="at_most_once")`.

    The tool is called like the function, keeps its signature, and is always awaited. Its arguments are recorded by
    name with defaults filled in; `**extra` arguments stand beside the named ones. A call that policy denies returns
    `"<id> not allowed. reason: <reason>"`, for the model to read. Otherwise it raises what `step` raises.

    Raises:
        ValueError: the idempotency is unknown, or the id is registered with another one.
    """
    if callable(tool_id):
        return _wrap(tool_id, None, idempotency)
    return lambda function: _wrap(function, tool_id, idempotency)


def _wrap(function: Callable[..., Any], tool_id: str | None, idempotency: str) -> Callable[..., Any]:
    if tool_id is None:
        tool_id = getattr(function, "__name__", "")
    if not tool_id:
        raise ValueError('the id of a tool is empty; name it: `@tool("id")`')
    try:
        promise = Idempotency(idempotency)
    except ValueError:
        raise ValueError(f"unknown idempotency `{idempotency}`; use one of {', '.join(Idempotency)}") from None
    if _registered.setdefault(tool_id, promise) is not promise:
        raise ValueError(f"the tool `{tool_id}` is registered as `{_registered[tool_id]}` already; use another id")
    signature = inspect.signature(function)
    extra = [p.name for p in signature.parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD]

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        execution = context.required(f"the tool `{tool_id}`")
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            bound.arguments[name] = detached(value)
        named = dict(bound.arguments)
        for name in extra:
            more = named.pop(name)
            if twice := named.keys() & more.keys():
                # Policy must see every value that the body gets.
                raise TypeError(f"the tool `{tool_id}` got two values for the argument `{min(twice)}`")
            named |= more
        body = functools.partial(function, *bound.args, **bound.kwargs)
        try:
            return await execution.invoke(Kind.TOOL, tool_id, named, body, idempotency=promise)
        except PolicyError as refusal:
            return f"{tool_id} not allowed. reason: {refusal.reason}"

    return call
