"""Which store a command works on, and the way to it."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from rebuno.errors import ValidationError

if TYPE_CHECKING:
    from rebuno.journal.records import Approval, Step
    from rebuno.kernel.operator import Operator

T = TypeVar("T")


def path(db: str | None) -> str:
    """The store's file or URL: `--db`, else REBUNO_DB_URL.

    Raises:
        ValidationError: neither is given, or only what is not built yet.
    """
    given = db or os.environ.get("REBUNO_DB_URL", "")
    if given:
        return given
    if os.environ.get("REBUNO_URL"):
        raise ValidationError("served kernels are not built yet (REBUNO_URL); give `--db PATH` or set REBUNO_DB_URL")
    raise ValidationError("no store is named; give `--db PATH`, or set REBUNO_DB_URL or REBUNO_URL")


def ask(db: str | None, work: "Callable[[Operator], Awaitable[T]]", *, create: bool = False) -> T:
    """What `work` finds in the store; `create` makes one where there is none.

    Raises:
        ValidationError: no store is named.
        StoreError: it cannot be used.
    """
    from rebuno.embedded import operate

    where = path(db)

    async def run() -> T:
        async with operate(where, create=create) as operator:
            return await work(operator)

    return asyncio.run(run())


async def with_steps(operator: "Operator", approvals: "Sequence[Approval]") -> "list[tuple[Approval, Step | None]]":
    """Each approval with the step that it is about."""
    steps: dict[str, Step] = {}
    for execution_id in dict.fromkeys(approval.execution_id for approval in approvals):
        steps.update((step.step_id, step) for step in await operator.steps(execution_id))
    return [(approval, steps.get(approval.step_id)) for approval in approvals]
