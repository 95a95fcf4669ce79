"""Shows how often each rule has decided."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rebuno.kernel import RuleStats
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows


def counts(counted: RuleStats) -> Iterator[RenderableType]:
    """A table of rules."""
    lines = [
        (
            escape(one.bundle, 40),
            escape(one.rule_id, 60),
            one.verdict.replace("_", " "),
            f"{one.yes:,}",
            f"{one.maybe:,}",
            f"{one.granted:,}",
            f"{one.denied:,}",
        )
        for one in counted.counts()
    ]
    yield Text(f"{counted.steps:,} steps of {counted.executions:,} executions")
    if lines:
        yield Rows(("bundle", "rule", "verdict", "on yes", "on maybe", "granted", "denied"), lines)
