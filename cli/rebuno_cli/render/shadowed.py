"""Shows what a bundle that was tried beside a policy would have done, rule by rule."""

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.policy import ShadowedStep, ShadowReport
from rebuno_cli.render.diagnostics import counted
from rebuno_cli.render.escape import escape, spelled, value
from rebuno_cli.render.layout import hanging

_SAID: Final = {
    "wider": ("WIDER ", "bold red", "would have let through more"),
    "asked": ("", "yellow", "would have asked"),
    "stopped": ("", "yellow", "would have stopped"),
    "same": ("", "dim", "as it was"),
}


def shadowed(result: ShadowReport, *, executions: int) -> Iterator[RenderableType]:
    """A block for each rule and what it would have done, and the sums."""
    for group in result.groups:
        sign, style, said = _SAID[group.effect]
        line = Text(sign, style)
        line.append(f"rule {escape(group.rule_id, 60)} {said}: {group.count:,}", "not bold default")
        verdicts = f"{group.recorded.value.replace('_', ' ')} -> {group.verdict.value.replace('_', ' ')}"
        line.append(f" ({verdicts})" if group.effect != "same" else "", "dim")
        line.append(f", {group.doubtful:,} on doubt" if group.doubtful else "")
        line.append(f", {group.limited:,} with a limit to ask" if group.limited else "")
        yield line
        if group.effect != "same":
            for sample in group.samples:
                yield hanging("  ", _sample(sample))
            if group.count > len(group.samples):
                yield Text(f"  and {group.count - len(group.samples):,} more", "dim")
    tried = f"tried at {counted(result.steps, 'step')} of {counted(executions, 'execution')}"
    parts = [tried, f"{result.wider:,} wider"]
    if result.others:
        parts.append(f"{result.others:,} more with another version of the bundle")
    if result.by_kernel:
        parts.append(f"{result.by_kernel:,} more decided by the kernel itself")
    yield Text(", ".join(parts), "bold red" if result.wider else "bold green")


def _sample(step: ShadowedStep) -> Text:
    line = Text(f"{step.kind} ")
    line.append(spelled(step.target), "bold")
    line.append(f" {value(step.args, 120)}")
    if "doubt" in step.said:
        line.append(f", on doubt of {escape(str(step.said['doubt']), 80)}", "dim")
    line.append(f" [{escape(step.where)}]", "dim")
    return line
