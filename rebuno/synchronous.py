"""The kernel for programs without an event loop."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rebuno.embedded import PolicyLike, open
from rebuno.kernel import begin_options
from rebuno.types import Execution

if TYPE_CHECKING:
    from rebuno.sealing import KeyRing


def run_sync(
    handler: Callable[..., Any],
    input: Any = None,
    *,
    path: str | Path,
    policy: PolicyLike | None = None,
    id: str | None = None,
    agent: str | None = None,
    pin: bool = False,
    deadline: float | None = None,
    workdir: str = "",
    on_divergence: Literal["record", "block"] = "record",
    encrypt: bool = False,
    key_ring: "str | Path | KeyRing | None" = None,
) -> Execution:
    """`Kernel.run` for programs without an event loop: opens the kernel, runs, closes.

    Raises:
        RuntimeError: it was called where an event loop runs.
        Also whatever `open` and `Kernel.run` raise.
    """
    if _loop_runs():
        raise RuntimeError("`run_sync` was called where an event loop runs; open a kernel there and await its `run`")

    async def once() -> Execution:
        async with open(path, policy=policy, encrypt=encrypt, key_ring=key_ring) as kernel:
            new = begin_options(pin=pin, deadline=deadline, workdir=workdir)
            return await kernel.run(handler, input, id=id, agent=agent, on_divergence=on_divergence, **new)

    return asyncio.run(once())


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
