"""`rebuno exec get`: one execution."""

from typing import TYPE_CHECKING

from rebuno_cli import options, target

if TYPE_CHECKING:
    from rebuno.journal.records import Execution, Step
    from rebuno.kernel.operator import Operator


def get(ref: options.Ref, db: options.Db = None, as_json: options.Json = False) -> int:
    """Show one execution: its state, input, output and policy."""
    from rebuno_cli.render import console, output, records

    async def look(operator: "Operator") -> "tuple[Execution, list[Step]]":
        found = await operator.execution(ref)
        return found, await operator.steps(found.id)

    execution, steps = target.ask(db, look)
    if as_json:
        output.write_json(records.execution_json(execution))
    else:
        console.write(records.execution(execution, steps))
    return 0
