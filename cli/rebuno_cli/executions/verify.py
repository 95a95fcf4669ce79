"""`rebuno exec verify`: verifies an execution's log."""

from typing import Annotated

import typer

from rebuno_cli import connection, options


def verify(
    ref: options.Ref,
    head: Annotated[
        str, typer.Option("--head", metavar="HASH", help="The hash that the newest event must have, kept elsewhere.")
    ] = "",
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """Recompute the hashes of an execution's events, steps and outcomes, and print the newest.

    Exit code 0, or 1 where something was changed or is missing, or where the newest hash is not --head.
    """
    from rebuno_cli.render import output
    from rebuno_cli.render.escape import escape

    found = connection.ask(db, lambda operator: operator.verify(ref, head=head))
    if as_json:
        output.write_json(found.to_json())
    elif found.fault:
        output.write_text(f"execution {found.execution_id}: {escape(found.fault, None)}")
    else:
        output.write_text(f"execution {found.execution_id}: {found.head_seq} events and {found.steps} steps are sound")
        output.write_text(f"head {found.head_hash}")
    return 1 if found.fault else 0
