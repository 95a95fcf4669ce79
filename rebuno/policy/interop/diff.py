"""Compares two bundles by their rules and definitions, without layout and comments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rebuno.policy.explain.wording import one_line
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Bundle


@dataclass(frozen=True, slots=True)
class BundleDiff:
    """The differences of two bundles: statements that the new one adds, removes and changes. A rule is named by its id,
    another statement by its words (``known `payees` ``, `default`). `moved` names the rules that now come before a rule
    that they came after, since the first rule that matches decides, and files of tables of programs likewise: the last
    one that has a program counts."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.moved)

    def to_json(self) -> dict[str, Any]:
        """`{"added", "removed", "changed", "moved"}`."""
        return {
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": list(self.changed),
            "moved": list(self.moved),
        }


def diff_bundles(old: Bundle, new: Bundle) -> BundleDiff:
    """The differences of two linked bundles."""
    then, now = _named(old), _named(new)
    rules, tables = (
        [name for name, statement in now.items() if isinstance(statement, kind)]
        for kind in (tree.Rule, tree.EffectTables)
    )
    return BundleDiff(
        tuple(name for name in now if name not in then),
        tuple(name for name in then if name not in now),
        tuple(name for name in now if name in then and then[name] != now[name]),
        tuple(
            name
            for names in (rules, tables)
            for name in _moved([one for one in then if one in names], [one for one in names if one in then])
        ),
    )


def _named(bundle: Bundle) -> dict[str, tree.Statement]:
    found: dict[str, tree.Statement] = {}
    for statement in bundle.statements:
        match statement:
            case tree.Rule(id=id):
                found[f"rule `{id.text}`"] = statement
            case tree.Let(name=name) | tree.Known(name=name) | tree.Condition(name=name):
                found[f"{type(statement).__name__.lower()} `{name.text}`"] = statement
            case tree.NamedLimit(name=name):
                found[f"limit `{name.text}`"] = statement
            case tree.Use(path=path):
                found[f"use `{path.value}`"] = statement
            case tree.EffectTables(tree.Literal(path)):
                found[f"effects `{path}`"] = statement
            case tree.EffectTables():
                found["effects"] = statement
            case tree.Never(head_span=head):
                # Two claims may have one head: the later ones are told apart by number.
                claim = f"claim `never {one_line(bundle, head)}`"
                same = sum(one == claim or one.startswith(f"{claim} (") for one in found)
                found[f"{claim} ({same + 1})" if same else claim] = statement
            case tree.Secret(span=place):
                found[f"`{one_line(bundle, place)}`"] = statement
            case _:
                found[type(statement).__name__.lower().removesuffix("line")] = statement
    return found


def _moved(then: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    place = {name: number for number, name in enumerate(then)}
    least = len(then)
    moved = []
    for name in reversed(now):
        if place[name] > least:
            moved.append(name)
        least = min(least, place[name])
    return tuple(reversed(moved))
