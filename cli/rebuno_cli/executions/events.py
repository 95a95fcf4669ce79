"""`rebuno exec events`: an execution's log."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Event, Step
    from rebuno_cli.backend import Backend


@click.command("events")
@options.execution
@click.option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="SEQ",
    help="Only those after this number.",
)
@options.db
@options.url
@options.as_json
def events(ref: str, after: int, db: str | None, url: str | None, as_json: bool) -> None:
    """List the events of an execution, the oldest first."""
    from rebuno_cli.render import events
    from rebuno_cli.render.show import show

    async def look(backend: "Backend") -> "tuple[Sequence[Event], Sequence[Step]]":
        row = await backend.execution(ref)
        return await backend.events(row.id, after=after), await backend.steps(row.id)

    found, steps = connection.work(db, url, look)
    show(
        as_json,
        lambda: {"events": [event.model_dump(mode="json") for event in found]},
        lambda: events.events(found, {step.step_id: step for step in steps}),
    )
