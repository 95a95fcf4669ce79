"""Shows the changed decisions of another policy, rule by rule, with example steps."""

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.model.decision import Verdict
from rebuno.policy import Backtest, BacktestExample, BacktestGroup, BundleDiff
from rebuno_cli.render.diagnostics import counted
from rebuno_cli.render.escape import escape, spelled, value
from rebuno_cli.render.layout import hanging
from rebuno_cli.render.trace import VERDICT_STYLE

_SIGNS: Final = {
    "added": ("+ ", "green"),
    "removed": ("- ", "red"),
    "changed": ("~ ", "yellow"),
    "moved": ("^ ", "dim"),
}


def changes(found: BundleDiff) -> Iterator[RenderableType]:
    """A line for each rule and definition that tells two bundles apart."""
    for what, (sign, style) in _SIGNS.items():
        for name in getattr(found, what):
            yield hanging(sign, Text(f"{escape(name)} {_WORDS[what]}"), style=style)
    if not found:
        yield Text("the two say the same", "dim")


_WORDS: Final = {
    "added": "is new",
    "removed": "is gone",
    "changed": "is changed",
    "moved": "stands further up",
}


def backtest(result: Backtest, *, executions: int | None) -> Iterator[RenderableType]:
    """A block for each pair of rules, and the sums. `executions` is None where cases were asked about."""
    for group in result.groups:
        yield Text()
        yield _head(group)
        for example in group.examples:
            yield _example(example)
        if group.count > len(group.examples):
            yield Text(f"  and {group.count - len(group.examples):,} more", "dim")
    if result.groups:
        yield Text()
    yield _sums(result, executions)


def _head(group: BacktestGroup) -> Text:
    line = Text("WIDER " if group.wider else "", "bold red")
    for verdict, rule, joint in (
        (group.old, group.old_rule, " -> "),
        (group.new, group.new_rule, f": {group.count:,}"),
    ):
        line.append(_said(verdict), VERDICT_STYLE[verdict])
        line.append(f" by {escape(rule, 60)}{joint}", "not bold default")
    return line


def _example(example: BacktestExample) -> RenderableType:
    line = Text(f"{example.kind} ")
    line.append(spelled(example.target), "bold")
    line.append(f" {value(example.args, 120)}")
    if example.reason:
        line.append(f", because {escape(example.reason)}", "dim")
    line.append(f" [{escape(example.where)}]", "dim")
    return hanging("  ", line)


def _said(verdict: Verdict) -> str:
    return verdict.value.replace("_", " ")


def _sums(result: Backtest, executions: int | None) -> Text:
    if executions is None:
        judged = counted(result.steps, "case")
    else:
        judged = f"{counted(result.steps, 'recorded step')} of {counted(executions, 'execution')}"
    if result.by_kernel:
        judged += f" ({result.by_kernel:,} more decided by the kernel itself)"
    said = f"{judged}: {result.differing:,} decided differently"
    if result.widened:
        said += f", {result.widened:,} of them wider"
    return Text(said, "bold red" if result.differing else "bold green")
