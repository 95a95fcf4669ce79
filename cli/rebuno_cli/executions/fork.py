"""`rebuno exec fork` and `retry`: a new execution that begins where another one stood."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import ages, connection, options

if TYPE_CHECKING:
    from rebuno.types import Execution

_key = click.option("--id", "key", metavar="NAME", help="Your own id for the new execution; it needs none.")
_keep_policy = click.option(
    "--keep-policy", is_flag=True, help="Judge it to its end by the policy that the first one began under."
)
_deadline = click.option("--deadline", metavar="AGE", help="Cancel it so long from now, such as 30m or 12h.")


@click.command("fork")
@options.execution
@click.option("--at", type=int, metavar="SEQ", help="The number of the event; the newest if not given.")
@_key
@click.option(
    "--session", default="", metavar="NAME", help="A new session for it to begin; of a served execution only."
)
@_keep_policy
@_deadline
@options.db
@options.url
@options.as_json
def fork(
    ref: str,
    at: int | None,
    key: str | None,
    session: str,
    keep_policy: bool,
    deadline: str | None,
    db: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Make a new execution of the steps that another one had settled by one of its events.

    It is run by its id, with the same handler; a served one is delivered to its agent. What was settled is replayed;
    every at_most_once step that runs anew needs an approval. It is judged by the policy of today, and its steps have
    the places in limits that they had; a server asks for the scope policies:write where it is to keep the policy.
    """
    ends = _after(deadline)
    made = connection.work(
        db,
        url,
        lambda backend: backend.fork(ref, at_seq=at, key=key, session=session, keep_policy=keep_policy, deadline=ends),
    )
    _show(made, as_json)


@click.command("retry")
@options.execution
@_key
@_keep_policy
@_deadline
@options.db
@options.url
@options.as_json
def retry(
    ref: str,
    key: str | None,
    keep_policy: bool,
    deadline: str | None,
    db: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Fork a failed or cancelled execution right before what made it fail.

    The failed one stays as it is. The new one is judged by the policy of today. Exit code 4 where the execution has not
    failed and was not cancelled.
    """
    ends = _after(deadline)
    made = connection.work(db, url, lambda backend: backend.retry(ref, key=key, keep_policy=keep_policy, deadline=ends))
    _show(made, as_json)


def _after(deadline: str | None) -> float | None:
    return None if deadline is None else ages.seconds("--deadline", deadline)


def _show(made: "Execution", as_json: bool) -> None:
    from rebuno_cli.render.resources import restored
    from rebuno_cli.render.show import show

    said = [f"execution {made.id} forked from {made.forked_from} at event {made.fork_seq}"]
    if made.served is False:
        said.append("run its handler with that id to go on")
    said += restored(made.restoration)
    show(as_json, lambda: made.model_dump(mode="json"), lambda: said)
