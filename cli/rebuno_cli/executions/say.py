"""`rebuno exec say`: adds what the user wrote to an execution."""

import sys

import click

from rebuno_cli import connection, options


@click.command("say")
@options.execution
@click.argument("text", metavar="TEXT", help="What the user wrote; - is standard input.")
@click.option("--as", "who", default="", metavar="NAME", help="Who says it; if not given, your login name.")
@options.db
@options.url
@options.as_json
def say(ref: str, text: str, who: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Add what the user wrote after an execution began. Rules ask for it as `turns`.

    It counts for the steps that are submitted after it. Exit code 4 where the execution has ended.
    """
    from rebuno_cli.render.show import show

    said = text if text != "-" else sys.stdin.read()
    now = connection.work(db, url, lambda backend: backend.say(ref, said, by=who))
    show(as_json, lambda: now.model_dump(mode="json"), lambda: f"execution {now.id} has {_turns(len(now.turns or ()))}")


def _turns(count: int) -> str:
    return f"{count} turn{'s' if count != 1 else ''} of the user"
