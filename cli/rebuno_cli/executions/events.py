"""`rebuno exec events`: an execution's log."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Event, Step
    from rebuno_cli.backend import Backend


def events(
    ref: options.Ref,
    after: Annotated[int, typer.Option(metavar="SEQ", min=0, help="Only those after this number.")] = 0,
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """List the events of an execution, the oldest first."""
    from rebuno_cli.render import console, events, output

    async def look(backend: "Backend") -> "tuple[Sequence[Event], Sequence[Step]]":
        row = await backend.execution(ref)
        return await backend.events(row.id, after=after), await backend.steps(row.id)

    found, steps = connection.work(db, url, look)
    if as_json:
        output.write_json({"events": [event.model_dump(mode="json") for event in found]})
    else:
        console.write(events.events(found, {step.step_id: step for step in steps}))
    return 0
