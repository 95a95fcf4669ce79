"""Shows a kernel's results for a bundle: a line for each case and each recorded step."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from rebuno.types import Tested, TestedCase
from rebuno_cli.render.escape import escape, spelled
from rebuno_cli.render.layout import Rows


def tested(result: Tested) -> Iterator[RenderableType]:
    """Every case and step, then how many came out otherwise, and the rules that none of them came to."""
    if result.results:
        yield Rows(
            ("case", "target", "decision", "rule", "came out"),
            [
                (
                    escape(one.name, 60),
                    spelled(one.target, 40),
                    escape(one.decision),
                    escape(one.rule_id, 40),
                    _end(one),
                )
                for one in result.results
            ],
        )
    yield Text(f"{len(result.results)} asked, {result.failed} came out otherwise")
    if result.unexercised_rules:
        yield Text(f"no case comes to {', '.join(escape(rule, 60) for rule in result.unexercised_rules)}")


def tested_json(result: Tested) -> dict[str, Any]:
    """The result as JSON data."""
    return {
        "results": [
            {
                "name": one.name,
                "target": one.target,
                "decision": one.decision,
                "rule_id": one.rule_id,
                "reason": one.reason,
                "pass": one.passed,
                "failure": one.failure,
            }
            for one in result.results
        ],
        "failed": result.failed,
        "unexercised_rules": result.unexercised_rules,
    }


def _end(one: TestedCase) -> Text:
    if one.passed is False:
        return Text(escape(one.failure or "otherwise", 200), "red")
    return Text("as expected", "green")
