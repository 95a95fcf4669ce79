"""Shows grants that outlive a run."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from rebuno.model import identity
from rebuno.types import StandingGrant
from rebuno_cli.render.escape import escape, spelled, stored
from rebuno_cli.render.layout import Rows
from rebuno_cli.render.records import moment

_VALUE = 60


def grants(rows: Sequence[StandingGrant]) -> Iterator[RenderableType]:
    """A table of grants: for which steps, by whom, until when."""
    if not rows:
        yield Text("no grants")
        return
    yield Rows(
        ("id", "agent", "step", "rule", "with", "by", "until"),
        [
            (
                row.id,
                escape(row.agent_id, 40),
                spelled(f"{row.kind} {row.target}", 60),
                escape(row.rule_id, 40),
                _matches(row.matches),
                escape(", ".join(row.granted_by), 60),
                f"revoked by {escape(row.revoked_by, 40)}" if row.revoked_by else moment(row.expires_at),
            )
            for row in rows
        ],
    )


def _matches(matches: Any) -> str:
    parts = [f"{escape(name)} = {stored(identity.canonical(value), _VALUE)}" for name, value in matches["args"].items()]
    parts += [f"{escape(name)} in {escape(known)}" for name, known in matches["known"].items()]
    parts += [f"any {escape(name)}" for name in matches["free"]]
    return ", ".join(parts) or "no arguments"
