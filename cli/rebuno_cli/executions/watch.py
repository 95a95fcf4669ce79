"""`rebuno exec watch`: follows an execution until it ends."""

from typing import TYPE_CHECKING, Final

import click

from rebuno_cli import connection, failures, options

if TYPE_CHECKING:
    from rebuno.types import Execution, Step
    from rebuno_cli.backend import Backend


_ENDED: Final = ("step.succeeded", "step.failed")


@click.command("watch")
@options.execution
@click.option(
    "--every",
    type=options.Number(min=0.05, max=3600),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
@options.db
@options.url
@options.as_json
def watch(ref: str, every: float, db: str | None, url: str | None, as_json: bool) -> int:
    """Follow an execution until it ends: its events as they come, and what it waits for.

    Exit code 0 where it completes, 1 where it fails or is cancelled. With --json one event a line.
    """
    import asyncio

    from rebuno_cli.render.following import Follower

    async def follow(backend: "Backend") -> "Execution":
        row = await backend.execution(ref)
        seen, head = 0, ""
        steps: dict[str, Step] = {}
        with Follower(row, as_json=as_json) as shown:
            while True:
                new = await backend.events(row.id, after=seen)
                ids = {event.payload.get("step_id") for event in new} - {None}
                # What has ended is read again, for its result.
                if not ids <= steps.keys() or any(event.type in _ENDED for event in new):
                    steps = {step.step_id: step for step in await backend.steps(row.id)}
                for event in new:
                    shown.event(event, steps)
                    seen, head = event.event_seq, event.hash
                # INVARIANT: the log was read after the row, so that what ended it has been shown.
                if row.status.terminal:
                    return row
                row = await backend.again(row.id)
                if row.head_hash == head:
                    shown.state(row, steps.values())
                    await asyncio.sleep(every)

    ended = connection.work(db, url, follow)
    return failures.YES if ended.status.value == "completed" else failures.NO
