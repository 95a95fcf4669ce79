"""`rebuno exec get`: one execution."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rebuno_cli import options, target

if TYPE_CHECKING:
    from rebuno.journal.records import Execution, Step
    from rebuno_cli.desk import Desk


def get(ref: options.Ref, db: options.Db = None, url: options.Url = None, as_json: options.Json = False) -> int:
    """Show one execution: its state, input, output and policy."""
    from rebuno_cli.render import console, output, records

    async def look(desk: "Desk") -> "tuple[Execution, Sequence[Step]]":
        found = await desk.execution(ref)
        return found, await desk.steps(found.id)

    execution, steps = target.work(db, url, look)
    if as_json:
        output.write_json(records.execution_json(execution))
    else:
        console.write(records.execution(execution, steps))
    return 0
