"""Shows resources and their checkpoints."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from rebuno.kernel import ResourceView
from rebuno.types import ForkPoints
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows, hanging

# Of a reference, and of a driver's error, in characters.
_REF = 80
_ERROR = 300


def points(found: ForkPoints) -> Iterator[RenderableType]:
    """Where a fork may begin."""
    yield Text(f"a fork begins at any event from 1 to {found.latest_seq}")
    for key, number in found.resources.items():
        yield Text(f"resource {escape(key)} is registered by event {number}")
    if found.checkpoints:
        yield Rows(
            ("resource", "from event", "up to", "generation", "checkpoint"),
            [
                (
                    escape(one.key),
                    str(one.covered_seq),
                    "now" if one.invalidated_seq is None else str(one.invalidated_seq - 1),
                    str(one.generation),
                    escape(one.checkpoint_ref, _REF),
                )
                for one in found.checkpoints
            ],
        )


def story(resources: Sequence[ResourceView]) -> Iterator[RenderableType]:
    """The resources of an execution in its story."""
    if resources:
        yield Text()
        yield Text("resources", "bold")
    for one in resources:
        held = "covered" if one.covered else "not covered"
        line = Text(f"{escape(one.key)} ", "not dim")
        what = f"of {escape(one.driver_id)}, generation {one.generation}, {one.checkpoints} checkpoints, {held}"
        line.append(what, "dim")
        yield hanging("", line, margin=2)
        for why in one.failures:
            yield hanging("! ", Text(f"no checkpoint: {escape(why, _ERROR)}", "yellow"), margin=4, style="yellow")


def restored(restoration: dict[str, dict[str, Any]] | None) -> Iterator[str]:
    """What the resources of a new fork begin with."""
    for key, said in (restoration or {}).items():
        ref, seq = said.get("checkpoint_ref"), said.get("checkpoint_seq")
        if ref is None:
            yield f"resource {escape(key)} begins anew: there is no checkpoint of it"
        elif said.get("covered"):
            yield f"resource {escape(key)} begins with checkpoint {escape(str(ref), _REF)}"
        else:
            yield f"resource {escape(key)} begins with an earlier checkpoint, of event {seq}: {escape(str(ref), _REF)}"
