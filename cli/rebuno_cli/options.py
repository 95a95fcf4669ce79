"""Options and arguments that several commands take, as decorators; each says which parameter it fills."""

import math
from typing import Any

import click

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
db = click.option("--db", metavar="PATH", help="The store's file, or its URL; else REBUNO_DB_URL.")
url = click.option("--url", metavar="URL", help="A server, in the place of a store; else REBUNO_URL.")
agent = click.argument("agent", metavar="AGENT", help="The agent's id.")
layers = click.option(
    "--layer",
    multiple=True,
    metavar="FILE",
    help="A bundle that stands before every other one; may be given again.",
)
execution = click.argument(
    "ref", metavar="ID", help="The execution's id, at least 4 characters of its beginning, or your own id."
)
key = click.argument("ref", metavar="ID", help="The key's id, or at least 4 characters of its beginning.")


class Number(click.FloatRange):
    """A finite number within bounds. The base class takes `nan`, which lies outside of no bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; `BadParameter` where there is none."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number within bounds.", param, ctx)
        return number
