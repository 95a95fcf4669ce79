"""Shows the agents of a server."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rebuno.types import Agent
from rebuno_cli.render.escape import escape, value
from rebuno_cli.render.layout import Rows, fields
from rebuno_cli.render.records import moment, span


def agents(rows: Sequence[Agent]) -> Iterator[RenderableType]:
    """A table of agents."""
    if not rows:
        yield Text("no agents")
        return
    yield Rows(
        ("id", "webhook", "policy", "lease", "registered"),
        [
            (
                named(row),
                place(row),
                "its own" if row.policy_bundle is not None else "",
                span(row.lease_timeout_seconds) if row.lease_timeout_seconds else "",
                moment(row.registered_at),
            )
            for row in rows
        ],
    )


def agent(row: Agent) -> Iterator[RenderableType]:
    """One agent with all that is known of it."""
    yield from fields(
        ("agent", named(row)),
        ("webhook", place(row)),
        ("lease", span(row.lease_timeout_seconds) if row.lease_timeout_seconds else ""),
        ("since", moment(row.registered_at)),
        ("says", escape(row.description, 1000)),
        ("takes", value(row.input_schema, None) if row.input_schema is not None else ""),
        ("gives", value(row.output_schema, None) if row.output_schema is not None else ""),
        ("policy", "none of its own" if row.policy_bundle is None else ""),
    )
    for line in (row.policy_bundle or "").splitlines():
        yield Text("  " + escape(line, None))


def named(row: Agent) -> str:
    """Its id."""
    return escape(row.id, 80)


def place(row: Agent) -> str:
    """Where it is told of executions."""
    return escape(row.webhook_url)
