"""`rebuno exec fork` and `retry`: a new execution that begins where another one stood."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from rebuno_cli import options, target

if TYPE_CHECKING:
    from rebuno.journal.records import Execution

_Key: TypeAlias = Annotated[
    str | None, typer.Option("--id", metavar="NAME", help="Your own id for the new execution; it needs none.")
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
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Make a new execution of the steps that another one had settled by one of its events.

    It is run by its id, with the same handler; a served one is delivered to its agent. What was settled is replayed;
    every at_most_once step that runs anew needs an approval.
    """
    made = target.work(db, url, lambda desk: desk.fork(ref, at_seq=at, key=key, session=session))
    return _show(made, as_json)


def retry(ref: options.Ref, key: _Key = None, db: options.Db = None, as_json: options.Json = False) -> int:
    """Fork a failed or cancelled execution right before what made it fail.

    The failed one stays as it is. Exit code 4 where the execution has not failed and was not cancelled.
    """
    return _show(target.ask(db, lambda operator: operator.retry(ref, key=key)), as_json)


def _show(made: "Execution", as_json: bool) -> int:
    from rebuno_cli.render import output, records

    if as_json:
        output.write_json(records.execution_json(made))
    else:
        output.write_text(f"execution {made.id} forked from {made.forked_from} at event {made.fork_seq}")
        if not made.served:
            output.write_text("run its handler with that id to go on")
    return 0
