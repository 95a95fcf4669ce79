"""`rebuno exec sweep`: ends what is overdue in a store, and removes what is old."""

import click

from rebuno_cli import ages, connection, options


@click.command("sweep")
@click.option("--older-than", metavar="AGE", help="Remove executions that ended so long ago, such as 30d or 12h.")
@options.db
@options.url
@options.as_json
def sweep(older_than: str | None, db: str | None, url: str | None, as_json: bool) -> int:
    """Cancel executions past their deadlines, let overdue questions expire, let go of what dead processes ran.

    With --older-than it also removes ended executions, for good: what is left of each is its id, how it ended and the
    hashes of its output and its log. Exit code 1 where an execution could not be swept.
    """
    from rebuno_cli.render.show import show

    retention = None if older_than is None else ages.seconds("--older-than", older_than)
    done = connection.work(db, url, lambda backend: backend.sweep(older_than=retention))
    said = [f"{done.overdue} overdue, {done.expired} questions expired, {done.released} let go, {done.removed} removed"]
    if done.failed:
        said.append(f"{done.failed} could not be swept")
    show(as_json, lambda: done.model_dump(mode="json"), lambda: said)
    return 1 if done.failed else 0
