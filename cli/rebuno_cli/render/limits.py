"""Shows what is taken from limits."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.types import UsedLimit
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows
from rebuno_cli.render.records import moment, window

# How much of the digest of a value is shown.
_DIGEST: Final = 12


def limits(pots: Sequence[UsedLimit]) -> Iterator[RenderableType]:
    """A table of pots."""
    if not pots:
        yield Text("nothing was taken from a limit by amount, by value, by session or with a name")
        return
    yield Rows(
        ("limit", "counts", "for", "taken", "left", "steps", "within", "next frees"),
        [
            (
                named(pot),
                ", ".join(map(escape, pot.of)) or "steps",
                whom(pot),
                f"{pot.taken} of {pot.number}" + (f", {pot.asked} asked" if Decimal(pot.asked or 0) else ""),
                format(max(Decimal(pot.number) - Decimal(pot.taken), Decimal(0)), "f"),
                str(pot.steps),
                window(pot.window) if pot.window else f"one {pot.scope}",
                moment(pot.frees_at),
            )
            for pot in pots
        ],
    )


def named(pot: UsedLimit) -> str:
    """The limit, or the rule that has it alone, and the bundle."""
    name = escape(pot.name) if pot.name else f"rule {escape(pot.rule_id or '')}"
    return f"{name} ({escape(pot.bundle)})"


def whom(pot: UsedLimit) -> str:
    """Whom it counts for."""
    owner = pot.owner or ""
    match pot.scope:
        case "global":
            return "all agents"
        case "key":
            return f"value {owner[:_DIGEST]}…"
        case scope:
            return f"{scope} {escape(owner, 40)}"
