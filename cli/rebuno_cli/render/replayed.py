"""Shows how a handler replayed a recording: the divergence, and the recorded steps that did not come again."""

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.kernel import Replayed, SeenStep
from rebuno.model import identity
from rebuno.policy import Backtest
from rebuno_cli.render.backtest import backtest
from rebuno_cli.render.escape import escape, spelled, value
from rebuno_cli.render.layout import hanging

# What of a step's arguments is shown, in characters, and how much of it may stand before the first that differs.
_ROOM: Final = 160
_BEFORE: Final = 40
_MOST: Final = 20


def replayed(found: Replayed, judged: Backtest | None) -> Iterator[RenderableType]:
    """The verdict, the first divergence, the steps that did not come (up to twenty), and what a policy says of them."""
    came, was = found.came, found.instead_of
    line = Text("the same way" if found.same else "another way", "bold green" if found.same else "bold red")
    line.append(f": {found.visited:,} of {found.steps:,} recorded steps came again", "not bold default")
    yield line
    if came is not None:
        start = _apart(came, was) if was is not None else 0
        yield hanging("came        ", _step(came, start), style="red")
        if was is not None:
            yield hanging("instead of  ", _step(was, start), style="green")
        else:
            yield hanging("instead of  ", Text("nothing: no more was recorded there"), style="green")
    if found.ended:
        yield hanging("ended       ", Text(escape(found.ended, 1000)), style="red")
        yield hanging("instead of  ", Text(escape(found.recorded or "going on", 1000)), style="green")
    for step in found.unvisited[:_MOST]:
        yield hanging("not again   ", _step(step, 0), style="yellow")
    if len(found.unvisited) > _MOST:
        yield Text(f"and {len(found.unvisited) - _MOST:,} more; `--json` lists them all", "yellow")
    if judged is not None:
        yield Text()
        yield from backtest(judged, executions=1)


def _step(step: SeenStep, start: int) -> Text:
    line = Text(f"{step.kind} ")
    line.append(spelled(step.target), "bold")
    line.append(f" {'…' if start else ''}{escape(_args(step)[start:], _ROOM)}")
    line.append(f" [{step.step_id[:12]}]", "dim")
    return line


def _apart(one: SeenStep, other: SeenStep) -> int:
    """Where to begin, so that the first difference of long arguments is seen."""
    a, b = _args(one), _args(other)
    first = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return first - _BEFORE if first > _ROOM - _BEFORE else 0


def _args(step: SeenStep) -> str:
    return value(identity.parse(step.args), None)
