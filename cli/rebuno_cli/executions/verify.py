"""`rebuno exec verify`: verifies an execution's log."""

import click

from rebuno_cli import connection, options


@click.command("verify")
@options.execution
@click.option("--head", default="", metavar="HASH", help="The hash that the newest event must have, kept elsewhere.")
@options.db
@options.url
@options.as_json
def verify(ref: str, head: str, db: str | None, url: str | None, as_json: bool) -> int:
    """Recompute the hashes of an execution's events, steps and outcomes, and print the newest.

    Exit code 0, or 1 where something was changed or is missing, or where the newest hash is not --head.
    """
    from rebuno_cli.render.escape import escape
    from rebuno_cli.render.show import show

    found = connection.work(db, url, lambda backend: backend.verify(ref, head=head))
    if found.fault:
        said = [f"execution {found.execution_id}: {escape(found.fault, None)}"]
    else:
        sound = f"{found.events} events and {found.steps} steps are sound"
        said = [f"execution {found.execution_id}: {sound}", f"head {found.head_hash}"]
        if found.seal_key is not None:
            what = f"{found.erased} payloads were erased" if found.erased else "it is encrypted"
            said.append(f"{what}, under the key {escape(found.seal_key, 80)}")
    show(as_json, lambda: found.model_dump(mode="json"), lambda: said)
    return 1 if found.fault else 0
