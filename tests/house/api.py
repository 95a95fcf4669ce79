"""The public names, a line each: what `make api` writes to `api.txt` and a test compares with it.

Modules are read, not imported, so a name is listed as it is written for type checkers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import griffe

from tests.house.project import ROOT

FILE: Final = Path(__file__).with_name("api.txt")
MODULES: Final = ("rebuno", "rebuno.policy", "rebuno.kernel", "rebuno.types", "rebuno.testing", "rebuno.adapters")


def text() -> str:
    """What the file should say: a heading for each module, and below it its public names with their signatures."""
    loader = griffe.GriffeLoader(search_paths=[ROOT])
    loader.load("rebuno")
    loader.resolve_aliases(implicit=True)
    parts = []
    for name in MODULES:
        module = loader.modules_collection[name]
        lines = [line for member in public(module) for line in _lines(member, member.name)]
        parts.append("\n".join([f"# {name}", *lines]))
    return "\n\n".join(parts) + "\n"


def public(module: griffe.Object | griffe.Alias) -> list[griffe.Object | griffe.Alias]:
    """The members that a module's `__all__` lists, sorted; none where it lists none."""
    return [module.members[str(name)] for name in sorted({str(name) for name in module.exports or ()})]


def _lines(member: griffe.Object | griffe.Alias, name: str) -> Iterator[str]:
    if isinstance(member, griffe.Alias):
        try:
            yield from _lines(member.final_target, name)
        except griffe.AliasResolutionError:
            # What another distribution gives: its own signature is its own affair.
            yield f"{name}: from {member.target_path}"
        return
    match member:
        case griffe.Module():
            yield f"module {name}"
        case griffe.Class():
            yield f"class {name}({', '.join(str(base) for base in member.bases)})"
            for inner, one in sorted(member.members.items()):
                if _is_public(inner) and not isinstance(one, griffe.Alias):
                    yield from _lines(one, f"{name}.{inner}")
        case griffe.Function():
            yield f"{_kind(member)}{name}({', '.join(_parameters(member))}) -> {member.returns}"
        case griffe.Attribute():
            annotation = f": {member.annotation}" if member.annotation is not None else ""
            value = f" = {member.value}" if _is_choice(member) else ""
            yield f"{_kind(member)}{name}{annotation}{value}"


def _is_public(name: str) -> bool:
    """Methods that an operator or a `with` calls are public too."""
    return not name.startswith("_") or name in {
        "__init__",
        "__call__",
        "__aenter__",
        "__aexit__",
        "__enter__",
        "__exit__",
    }


def _is_choice(member: griffe.Attribute) -> bool:
    """Whether it is a member of an enumeration, whose value is stored and sent."""
    parent = member.parent
    return isinstance(parent, griffe.Class) and any("Enum" in str(base) for base in parent.bases)


def _kind(member: griffe.Object) -> str:
    known = ("async", "classmethod", "staticmethod", "property")
    return "".join(f"{label} " for label in known if label in member.labels)


def _parameters(function: griffe.Function) -> Iterator[str]:
    kinds = griffe.ParameterKind
    positional_only = starred = False
    for one in function.parameters:
        if positional_only and one.kind is not kinds.positional_only:
            yield "/"
        positional_only = one.kind is kinds.positional_only
        if one.kind is kinds.keyword_only and not starred:
            yield "*"
        starred = starred or one.kind in (kinds.keyword_only, kinds.var_positional)
        star = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(one.kind, "")
        annotation = f": {one.annotation}" if one.annotation is not None else ""
        default = f" = {one.default}" if one.default is not None and not star else ""
        yield f"{star}{one.name}{annotation}{default}"
    if positional_only:
        yield "/"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
