"""Shows what servers say of their tools."""

import json
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from rich.console import RenderableType
from rich.text import Text

from rebuno.model import identity
from rebuno.types import ToolDefinition
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows

# What is shown of a description in a table, in characters.
_SHOWN = 60
_LONGEST = 200


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
    """A YAML list of the digests, server and name in a comment behind each; where a tool has several definitions, with
    what each has changed. Nothing that a server says stands outside a comment, or on a line of its own."""
    lines = ["# The definitions of tools that were reviewed: `let reviewed = file` reads this."]
    for before, row in zip((None, *rows), rows, strict=False):
        if before is not None and (before.server, before.name) == (row.server, row.name):
            lines.append("# Another definition of the same tool, which differs from the one above:")
            lines += [f"#   {line}" for line in _changed(before, row)]
        named = " ".join(escape(part, _LONGEST) for part in (row.server, row.name) if part)
        lines.append(f'- "{row.digest}"  # {named}')
    return "\n".join(lines if rows else [*lines, "[]"])


def _changed(before: ToolDefinition, after: ToolDefinition) -> list[str]:
    lines = list(unified_diff(_said(before), _said(after), lineterm="", n=0))
    return [line for line in lines[2:] if not line.startswith("@@")]


def _said(row: ToolDefinition) -> list[str]:
    said = {name: getattr(row, name) for name in ("description", "input_schema", "output_schema")}
    try:
        return json.dumps(said, indent=1, sort_keys=True).splitlines()
    except ValueError:  # Python's own writer gives up on integers of thousands of digits
        return [f"{name}: {escape(identity.canonical(value), None)}" for name, value in said.items()]
