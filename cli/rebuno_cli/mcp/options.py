"""What the commands of `rebuno mcp` share."""

from collections.abc import Coroutine
from typing import Any, TypeVar

import click

T = TypeVar("T")

config = click.option("--config", required=True, metavar="FILE", help="The proxy's configuration, a YAML file.")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end. One error that comes out of a group of tasks is raised by itself."""
    import asyncio

    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
