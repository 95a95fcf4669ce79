"""What definitions of tools tell: that a tool only reads, and the few values that an argument takes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rebuno.policy.analysis.tool_schemas import argument_schema, names_at, read_tools
from rebuno.policy.suggest import words
from rebuno.policy.suggest.text import Path
from rebuno.policy.syntax.tree import Key


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What the definition of one tool tells. `read_only` is None where it says nothing."""

    read_only: bool | None = None
    options: Mapping[Path, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of tools beside what they did."""

    tools: Mapping[str, ToolHints] = field(default_factory=dict)

    def looks(self, tool: str) -> bool:
        """Whether a tool only looks: its definition says so, or where that says nothing its name does."""
        said = self.tools.get(tool, ToolHints()).read_only
        return words.looks(tool) if said is None else said

    def options(self, tool: str, path: Path) -> tuple[Any, ...]:
        """The values that the definition lists for an argument; none where it does not."""
        return self.tools.get(tool, ToolHints()).options.get(path, ())


def read_hints(data: Any) -> Hints:
    """The hints in definitions of tools, as `tools/list` of MCP and the APIs of models give them.

    Raises:
        ValidationError: the data are no definitions of tools.
    """
    found = {}
    annotated = dict(_annotations(data))
    for tool in read_tools(data):
        options: dict[Path, tuple[Any, ...]] = {}
        for name in names_at(tool, ()):
            schema = argument_schema(tool, [Key(name)], apart=True)
            if schema is not None and not isinstance(schema, str) and schema.options:
                scalars = [one for one in schema.options if isinstance(one, str | int | float)]
                options[name,] = tuple(scalars)
        found[tool.name] = ToolHints(annotated.get(tool.name), options)
    return Hints(found)


def _annotations(data: Any) -> Iterable[tuple[str, bool]]:
    for key in ("result", "tools", "functions"):
        if isinstance(data, dict) and key in data:
            data = data[key]
    for entry in data if isinstance(data, list) else []:
        if isinstance(entry, dict) and isinstance(said := entry.get("annotations"), dict):
            hint = said.get("readOnlyHint")
            if isinstance(hint, bool) and isinstance(entry.get("name"), str):
                yield entry["name"], hint
