"""Fills templates. Every value is escaped by the template engine; the filters here make texts short and visible too."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from rebuno.console import static
from rebuno.console.values import plain, pretty
from rebuno.model.visible import escape, spelled

# Characters of a text that stands in a line.
SHORT: Final = 200


@cache
def environment() -> Environment:
    """The templates of this package."""
    made = Environment(
        loader=PackageLoader("rebuno.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    made.filters |= {
        "shown": lambda text, limit=SHORT: escape(text, limit),
        "lines": lambda text, limit=4000: [escape(line, None) for line in _cut(text or "", limit).split("\n")],
        "named": lambda text, limit=80: spelled(text or "", limit),
        "pretty": pretty,
        "plain": plain,
        "moment": moment,
        "iso": lambda at: _utc(at).isoformat(timespec="seconds") if at else "",
        "span": span,
        "words": lambda text: str(text).replace("_", " "),
        "plural": plural,
    }
    made.globals["asset"] = lambda name: f"/console/static/{name}?v={static.version(name)}"
    return made


def render(template: str, values: Mapping[str, Any]) -> str:
    """The text of a template with these values."""
    return environment().get_template(template).render(values)


def moment(at: float | datetime | None) -> str:
    """A time, in seconds since 1970, as people write it."""
    return _utc(at).strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""


def _utc(at: float | datetime) -> datetime:
    return at.astimezone(UTC) if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)


def span(seconds: float | None) -> str:
    """A length of time in its two largest units."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, size, below, less in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // less
            return f"{whole // size} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{whole} s"


def plural(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def _cut(text: str, limit: int) -> str:
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]}… (+{left:,} characters)"
