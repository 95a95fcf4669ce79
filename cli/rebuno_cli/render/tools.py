"""Shows what servers say of their tools."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import RenderableType
from rich.text import Text

from rebuno.mcp_proxy.locks import HEAD, difference, entry
from rebuno.model.definition import Definition, define
from rebuno.types import ToolDefinition
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows

# What is shown of a description in a table, in characters.
_SHOWN = 60


def tools(rows: Sequence[ToolDefinition]) -> Iterator[RenderableType]:
    """A table of definitions."""
    if not rows:
        yield Text("no tools")
        return
    yield Rows(
        ("server", "tool", "digest", "what it says"),
        [
            (escape(row.server, 40) or "-", escape(row.name, 60), row.digest[:12], escape(row.description, _SHOWN))
            for row in rows
        ],
    )


def pinned(rows: Sequence[ToolDefinition]) -> str:
    """The text of a lock file with these definitions; where a tool has several, with what each has changed."""
    lines = [HEAD]
    for before, row in pairwise([None, *map(_definition, rows)]):
        if row is None:
            continue
        if before is not None and (before.server, before.name) == (row.server, row.name):
            lines.append("# Another definition of the same tool, which differs from the one above:")
            lines += [f"#   {line}" for line in difference(before, row)]
        lines += entry(row)
    return "\n".join(lines if rows else [*lines, "[]"])


def _definition(row: ToolDefinition) -> Definition:
    return define(
        row.server,
        row.name,
        description=row.description,
        input_schema=row.input_schema,
        output_schema=row.output_schema,
    )
