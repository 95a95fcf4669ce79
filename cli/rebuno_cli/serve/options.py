"""The shared options and startup of `rebuno dev` and `rebuno server`."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from rebuno.errors import ValidationError

if TYPE_CHECKING:
    from rebuno.server.config import Config

Db: TypeAlias = Annotated[str, typer.Option("--db", metavar="URL", envvar="REBUNO_DB_URL", help="The store.")]
Token: TypeAlias = Annotated[
    str,
    typer.Option(
        "--bearer-token", metavar="TOKEN", envvar="REBUNO_BEARER_TOKEN", help="Who sends it may do everything."
    ),
]
Host: TypeAlias = Annotated[str, typer.Option("--host", metavar="HOST", help="Where to listen.")]
Port: TypeAlias = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0: any free port.")]
Layers: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--layer", metavar="FILE", help="A bundle for all agents, before their own; may be given again."),
]
Manifest: TypeAlias = Annotated[
    str, typer.Option("--config", metavar="FILE", help="A manifest of agents and their policies.")
]
Webhooks: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-webhook",
        metavar="URL",
        help="Agents may be below this URL only (`https://*.example.com` too); may be given again.",
    ),
]
Attempts: TypeAlias = Annotated[
    int,
    typer.Option(
        "--max-attempts",
        metavar="N",
        min=1,
        envvar="REBUNO_DISPATCH_MAX_ATTEMPTS",
        help="So many deliveries without a new outcome end an execution.",
    ),
]


def serve(config: "Config", started: Callable[[str], None], handler: logging.Handler, level: int) -> int:
    """Serves until it is told to stop, its log going to `handler`.

    Raises:
        RebunoError, OSError: as `rebuno.server.run.run`.
    """
    config.check()
    import uvloop

    from rebuno.server.run import run

    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    # What these libraries say of their own work is of no use to an operator, unless it is a warning.
    for name in ("uvicorn", "httpx2", "httpcore2", "asyncio", "psycopg"):
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run(config, started))
    finally:
        root.removeHandler(handler)
    return 0


def level_of(name: str) -> int:
    """The level of a log by its name; `ValidationError` where there is none."""
    levels = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
    if name.lower() not in levels:
        raise ValidationError(f"`{name}` is no level of a log; one of {', '.join(levels)}")
    return levels[name.lower()]
