"""Shows the gaps in a bundle's cases: rules that decided none, and tests with only one answer."""

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.policy import Coverage, CoveredTest
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import hanging

_MOST: Final = 12


def coverage(seen: Coverage) -> Iterator[RenderableType]:
    """A line for the rules that no case reaches, one for each test that was not seen to hold and to fail, up to twelve,
    and the sums."""
    if seen.unexercised:
        yield Text(f"no case reaches: {', '.join(map(escape, seen.unexercised))}", "yellow")
    left = [test for test in seen.tests if not test.both]
    for test in left[:_MOST]:
        body = Text(f"{escape(test.path, None)} line {test.line}: ".lstrip())
        body.append(escape(test.text, 100))
        yield hanging(f"{_never(test):<17}", body, style="yellow")
    if len(left) > _MOST:
        yield Text(f"and {len(left) - _MOST} more tests; `--json` lists them all", "yellow")
    if seen.whole:
        reached = sum(rule.cases > 0 for rule in seen.rules)
        said = f"{reached} of {len(seen.rules)} rules, {seen.reached - reached} of {2 * len(seen.tests)} answers"
        yield Text(f"coverage {int(seen.percent)} %: {said}", "dim")


def _never(test: CoveredTest) -> str:
    if test.yes or test.no:
        return "never no" if test.yes else "never yes"
    return "never yes or no" if test.maybe else "never asked"
