"""Shows what became of the claims of a bundle, and a step that breaks one as a case."""

import json
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rebuno.policy import ClaimResult, Violation
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import hanging


def tried(results: Sequence[ClaimResult]) -> Iterator[RenderableType]:
    """A line for each claim, and under a broken one the step."""
    for result in results:
        sign, style = ("ok    ", "green") if result.passed else ("FAIL  ", "bold red")
        line = Text(f"{escape(result.claim.text, 200)} ", "")
        line.append(f"(line {result.claim.line}", "dim")
        line.append(f", tried on {result.tried:,} steps)" if result.passed else ")", "dim")
        yield hanging(sign, line, style=style)
        if result.violation is not None:
            yield from step(result.claim.text, result.violation)


def step(name: str, found: Violation) -> Iterator[RenderableType]:
    """The step that breaks a claim."""
    yield hanging("      ", Text(f"{broken(found)}; as a case:"))
    yield hanging("      ", Text(as_case(name, found)))


def broken(found: Violation) -> str:
    """What the policy decides on the step."""
    decision = found.decision
    return f"{decision.verdict.value.replace('_', ' ')} by {escape(decision.rule_id, 60)}"


def as_case(name: str, found: Violation) -> str:
    """The step as an element of `cases`, on one line. JSON is YAML too."""
    return f"- {json.dumps({'name': name, **found.to_json()}, ensure_ascii=True)}"
