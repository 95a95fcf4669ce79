"""Runs local work as a recorded step, so that it replays identically."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rebuno.errors import NotJSON
from rebuno.model.step import Kind
from rebuno.sdk import context
from rebuno.sdk.arguments import all_detached, keys_of


async def step(
    name: str,
    fn: Callable[..., Any],
    args: dict[str, Any] | None = None,
    idempotency: str = "safe_to_retry",
    resources: Sequence[str] | None = None,
) -> Any:
    """Runs `fn(**args)` once and records the result; a resumed execution gets the recorded value.

    For whatever decides which effects come next and is no tool or model call: the time, a random choice, a fresh id.
    `fn` may be a plain function (run in a thread) or a coroutine function; its result must be JSON. `name` is the
    step's target in policies; a `local` step that no rule matches is allowed whatever the bundle's default.
    `idempotency` is `safe_to_retry`, or `at_most_once` for local work that must not run again when a crash left its
    outcome unknown. `resources` are the keys of the resources that `fn` may change.

    Raises:
        RuntimeError: outside an execution.
        TypeError: `name` is no text or `args` no dict; nothing was submitted.
        ValidationError: the name is empty, or the idempotency is unknown; nothing was recorded.
        NotJSON: an argument is something that JSON cannot hold (a `TypeError`; it names the path to the value).
        ToolError: `fn` raised, now or on the recorded run; where its result was not JSON, also a `TypeError`.
        PolicyError: a rule or a person denied the step.
        RateLimited: a limit is used up; nothing was recorded, and a later try may be let in.
        Blocked: a person must decide first; let it pass.
    """
    execution = context.current() or context.required(f"step(`{name}`)")
    if not isinstance(name, str):
        raise TypeError(f"the name of a step is text, not of type {type(name).__name__}")
    payload = _payload(name, args)
    return await execution.invoke(
        Kind.LOCAL,
        name,
        payload,
        partial(fn, **payload),
        idempotency=idempotency,
        rerun=lambda changed: partial(fn, **changed),
        resources=() if resources is None else keys_of(resources),
    )


def _payload(name: str, args: object) -> dict[str, Any]:
    if args is None:
        return {}
    if not isinstance(args, dict):
        raise TypeError(
            f"the args of step(`{name}`) are of type {type(args).__name__}; pass a dict of keyword arguments"
        )
    for key in args:
        if not isinstance(key, str):
            raise NotJSON("args", f"has the key {key!r}, and JSON's keys are strings")
    return all_detached(dict(args.items()))
