"""`rebuno exec cancel`: ends an execution."""

from typing import Annotated

import typer

from rebuno_cli import connection, options


def cancel(
    ref: options.Ref,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it is recorded. In a store only.")] = None,
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """End an execution: nothing more of it runs, and nobody is asked about it any more.

    A handler that runs is stopped within 10 seconds. Exit code 4 where the execution has ended already.
    """
    from rebuno_cli.render import output

    ended = connection.work(db, url, lambda backend: backend.cancel(ref, reason=reason))
    if as_json:
        output.write_json(ended.model_dump(mode="json"))
    else:
        output.write_text(f"execution {ended.id} cancelled")
    return 0
