"""Shows what has changed since the definitions of tools were reviewed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from rebuno_cli.render.escape import escape

if TYPE_CHECKING:
    from rebuno.mcp_proxy.locks import Comparison

_NAME = 200


def as_json(result: "Comparison", path: str) -> dict[str, Any]:
    """The same as JSON."""

    def changes(found: Any) -> list[dict[str, Any]]:
        return [{"tool": one.target, "digest": one.digest, "difference": [*one.lines]} for one in found]

    return {
        "lock": path,
        "same": result.same,
        "approved": changes(result.approved),
        "open": changes(result.open),
        "gone": [*result.gone],
    }


def shown(result: "Comparison", path: str) -> Iterator[RenderableType]:
    """What was written, what waits for a look, and the command that approves it."""
    for word, found in (("approved", result.approved), ("not approved", result.open)):
        for one in found:
            what = "changed" if one.lines else "new"
            yield Text(f"{what}, {word}: {escape(one.target, _NAME)}")
            for line in one.lines:
                yield Text(f"  {escape(line, None)}")
    for name in result.gone:
        yield Text(f"no longer listed: {escape(name, _NAME)}")
    yield Text(f"{result.same + len(result.approved)} pinned, {len(result.open)} to be reviewed: {path}")
    if result.open:
        yield Text(f"approve one: rebuno mcp pin --config … --approve {escape(result.open[0].target, _NAME)}")
