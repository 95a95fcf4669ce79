"""Shows what became of the promises of the kernel."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import hanging
from rebuno_cli.verifying.outcome import PromiseOutcome

_SIGNS: Final = {"holds": ("holds  ", "green"), "fails": ("FAILS  ", "bold red"), "does_not_apply": ("-      ", "dim")}
_FAULTS: Final = 5


def verified(outcomes: Sequence[PromiseOutcome], data: dict[str, Any]) -> Iterator[RenderableType]:
    """What was tried, a line for each promise with what it was tried on or why it does not apply, and the sums."""
    yield Text(_head(data))
    for one in outcomes:
        sign, style = _SIGNS[one.outcome]
        line = Text(one.promise)
        if one.outcome == "holds" and one.tried:
            line.append(f" ({len(one.tried)} tried)", "dim")
        yield hanging(sign, line, style=style)
        said = [one.why] if one.why else one.faults[:_FAULTS]
        for text in said:
            yield hanging("       ", Text(escape(text, 300)))
        if len(one.faults) > _FAULTS:
            yield hanging("       ", Text(f"and {len(one.faults) - _FAULTS} more; `--json` tells them all"))
    counts = {name: sum(one.outcome == name for one in outcomes) for name in _SIGNS}
    said_all = f"{counts['holds']} hold, {counts['fails']} fail, {counts['does_not_apply']} do not apply"
    yield Text(said_all, "bold red" if counts["fails"] else "bold green")


def _head(data: dict[str, Any]) -> str:
    policy, store, steps = data["policy"], data["store"], data["steps"]
    where = f"a copy of {escape(store['path'], None)}" if store["path"] else "an empty store"
    found = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in steps.items())
    head = f"bundle {escape(policy['name'], 100)} ({policy['digest'][:12]}) on {where}; steps to try: {found}"
    if store["database"]:
        head += "\na database is not copied; `rebuno exec verify` checks its executions one by one"
    return head
