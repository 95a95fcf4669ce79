"""`rebuno top`: what runs and what waits, as it changes."""

from typing import TYPE_CHECKING, Final

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno_cli.backend import Backend
    from rebuno_cli.render.live import Frame

_LIVE: Final = ("running", "blocked", "pending")
# So many executions of each state are looked at.
_MOST: Final = 200


@click.command("top")
@click.option(
    "--every",
    type=options.Number(min=0.2, max=3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
@click.option("--once", is_flag=True, help="Look once, and leave. So it is where the output is no terminal.")
@options.db
@options.url
@options.as_json
def top(every: float, once: bool, db: str | None, url: str | None, as_json: bool) -> None:
    """Show the live executions, the questions that wait for a person, and how many events come a second.

    Ctrl-C ends it. With --json each look is one line.
    """
    import asyncio
    import sys
    from contextlib import suppress
    from time import monotonic

    from rebuno_cli.render import live

    async def watch(backend: "Backend") -> None:
        before = await _look(backend, monotonic())
        with live.Screen(as_json=as_json, once=once or not (sys.stdout.isatty() or as_json)) as screen:
            screen.show(before, None)
            while not screen.once:
                await asyncio.sleep(every)
                now = await _look(backend, monotonic())
                screen.show(now, before)
                before = now

    with suppress(KeyboardInterrupt):
        connection.work(db, url, watch)


async def _look(backend: "Backend", at: float) -> "Frame":
    from rebuno_cli.render.live import Frame

    rows = [row for status in _LIVE for row in await backend.executions(agent_id=None, status=status, limit=_MOST)]
    asked = await backend.approvals(status="pending", execution=None)
    return Frame(at, backend.now(), rows, asked)
