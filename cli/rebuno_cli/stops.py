"""`rebuno stop`: stops agents and tools at once, shows what is stopped, and lifts it."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Stop

_as = click.option(
    "--as", "who", default="", metavar="NAME", help="Who does so; if not given, your login name, or the server's key."
)


@click.group("stop", invoke_without_command=True)
@click.option("--agent", default="", metavar="AGENT", help="Stop this agent.")
@click.option("--tool", default="", metavar="PATTERN", help="Stop the tools of this name; `*`, `?` and `[…]` match.")
@click.option("--all", "everything", is_flag=True, help="Stop everything.")
@click.option("--reason", default="", metavar="TEXT", help="Why; agents and traces are told so.")
@_as
@options.db
@options.url
@options.as_json
@click.pass_context
def stop(
    ctx: click.Context,
    agent: str,
    tool: str,
    everything: bool,
    reason: str,
    who: str,
    db: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Stop an agent, tools or everything: a second later nothing of it starts any more.

    What has started goes on, recorded steps replay, and nothing is lost: runs wait, and go on once the stop is lifted.
    """
    if ctx.invoked_subcommand is not None:
        return
    if bool(agent) + bool(tool) + everything != 1:
        raise click.UsageError("name what to stop: --agent, --tool or --all.")
    _show(
        connection.work(
            db,
            url,
            lambda backend: backend.stop(agent=agent, tool=tool, everything=everything, reason=reason, by=who),
        ),
        "stands",
        as_json,
    )


@stop.command("ls")
@click.option("--lifted", is_flag=True, help="Those that were lifted, too.")
@options.db
@options.url
@options.as_json
def ls(lifted: bool, db: str | None, url: str | None, as_json: bool) -> None:
    """Show what is stopped."""
    from rebuno_cli.render import stops
    from rebuno_cli.render.show import show

    found = connection.work(db, url, lambda backend: backend.stops(lifted=lifted))
    show(as_json, lambda: {"stops": [one.model_dump(mode="json") for one in found]}, lambda: stops.stops(found))


@stop.command("lift")
@click.argument("ref", metavar="ID", help="The stop's id, or at least 4 characters of its beginning.")
@_as
@options.db
@options.url
@options.as_json
def lift(ref: str, who: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Lift a stop: what waits for it goes on."""
    _show(connection.work(db, url, lambda backend: backend.lift(ref, by=who)), "is lifted", as_json)


def _show(one: "Stop", what: str, as_json: bool) -> None:
    from rebuno_cli.render import stops
    from rebuno_cli.render.show import show

    show(as_json, lambda: one.model_dump(mode="json"), lambda: f"stop {one.id} of {stops.whom(one)} {what}")
