"""`rebuno exec replay`: runs a handler against a recording, without any effect."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection, files, loading, options

if TYPE_CHECKING:
    from rebuno.kernel import Recording
    from rebuno.policy import Backtest


@click.command("replay")
@click.argument("source", metavar="FILE|ID", help="What `exec export` wrote (- is standard input), or an execution.")
@click.option("--handler", required=True, metavar="MODULE:NAME", help="The handler, looked for in this folder too.")
@click.option(
    "--policy", multiple=True, metavar="FILE", help="Judge the recorded steps by this bundle; again for more layers."
)
@options.db
@options.as_json
def replay(source: str, handler: str, policy: tuple[str, ...], db: str | None, as_json: bool) -> int:
    """Run a handler on a recorded input, every step answered with what was recorded. No tool, model or step body runs;
    what the handler does outside of steps it does.

    Exit code 0, or 1 where it takes another way: which step came instead of which, and which did not come.
    """
    import asyncio

    from rebuno.testing import replay as through
    from rebuno_cli.render import replayed
    from rebuno_cli.render.show import show

    run = _handler(handler)
    recording = _recording(source, db)
    judged = _judged(recording, policy) if policy else None
    try:
        found = asyncio.run(through(recording, run))
    except SystemExit:
        # Its code would be taken for ours.
        raise ValidationError(f"`{handler}` ended the interpreter (`sys.exit`); let it return or raise") from None
    show(
        as_json,
        lambda: {**found.to_json(), "policy": None if judged is None else judged.to_json()},
        lambda: replayed.replayed(found, judged),
    )
    return int(not found.same or bool(judged and judged.differing))


def _recording(source: str, db: str | None) -> "Recording":
    from rebuno.kernel import LONGEST_LINE, opened_recording, read_recording

    if source == "-" or os.path.lexists(source):
        read = read_recording(files.lines(source, LONGEST_LINE + 1), name=files.named(source))
        return read if read.data_key is None else opened_recording(read, connection.ring())
    try:
        return connection.ask(db, lambda operator: operator.record(source, sealed=False))
    except ValidationError as error:
        raise ValidationError(f"`{source}` is no file, and {error.message}") from None


def _judged(recording: "Recording", paths: Sequence[str]) -> "Backtest":
    from rebuno.kernel import background_in_rows, facts_of_rows
    from rebuno.policy import BacktestTally, backtest_against_record, compile_policy, read_source

    tally = BacktestTally()
    known = background_in_rows(recording.execution, recording.events[:2], recording.turns, recording.root)
    steps = facts_of_rows(recording.execution, recording.steps, recording.approvals, known, recording.events)
    backtest_against_record(tally, compile_policy([read_source(path) for path in paths]), steps)
    return tally.result()


def _handler(named: str) -> Callable[..., Any]:
    module, colon, name = named.partition(":")
    if not (module and colon and name):
        raise ValidationError(f"`--handler {named}` names no function; write `module:name`, as in `agent:support`")
    option = f"--handler {named}"
    found: Any = loading.load(module, option)
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise loading.cannot(option, error) from None
    if not callable(found):
        raise ValidationError(f"`--handler {named}` is no function")
    function: Callable[..., Any] = found
    return function
