"""`rebuno exec fork` and `retry`: a new execution that begins where another one stood."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from rebuno_cli import ages, connection, options

if TYPE_CHECKING:
    from rebuno.types import Execution

_Key: TypeAlias = Annotated[
    str | None, typer.Option("--id", metavar="NAME", help="Your own id for the new execution; it needs none.")
]
_KeepPolicy: TypeAlias = Annotated[
    bool,
    typer.Option("--keep-policy", help="Judge it to its end by the policy that the first one began under."),
]
_Deadline: TypeAlias = Annotated[
    str | None, typer.Option("--deadline", metavar="AGE", help="Cancel it so long from now, such as 30m or 12h.")
]


def fork(
    ref: options.Ref,
    at: Annotated[
        int | None, typer.Option("--at", metavar="SEQ", help="The number of the event; the newest if not given.")
    ] = None,
    key: _Key = None,
    session: Annotated[
        str, typer.Option(metavar="NAME", help="A new session for it to begin; of a served execution only.")
    ] = "",
    keep_policy: _KeepPolicy = False,
    deadline: _Deadline = None,
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
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
    return _show(made, as_json)


def retry(
    ref: options.Ref,
    key: _Key = None,
    keep_policy: _KeepPolicy = False,
    deadline: _Deadline = None,
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """Fork a failed or cancelled execution right before what made it fail.

    The failed one stays as it is. The new one is judged by the policy of today. Exit code 4 where the execution has not
    failed and was not cancelled.
    """
    ends = _after(deadline)
    made = connection.ask(db, lambda operator: operator.retry(ref, key=key, keep_policy=keep_policy, deadline=ends))
    return _show(made, as_json)


def _after(deadline: str | None) -> float | None:
    return None if deadline is None else ages.seconds("--deadline", deadline)


def _show(made: "Execution", as_json: bool) -> int:
    from rebuno_cli.render import output

    if as_json:
        output.write_json(made.model_dump(mode="json"))
    else:
        output.write_text(f"execution {made.id} forked from {made.forked_from} at event {made.fork_seq}")
        if made.served is False:
            output.write_text("run its handler with that id to go on")
    return 0
