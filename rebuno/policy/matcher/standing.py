"""What a `known` stands on: the sets that it names as sources, and those that the `where` of its sources asks for."""

from collections.abc import Iterator, Mapping

from rebuno.policy.syntax import tree


def with_named(known: tree.Known, sets: Mapping[str, tree.Known]) -> Iterator[tuple[tree.Known, tree.KnownSource]]:
    """The sources of a set without names of sets: the sources of those stand in their place, each set once. Each comes
    with the `known` that it is written in. The sets must not depend on themselves."""
    seen = {known.name.text}
    stack = [(known, source) for source in reversed(known.sources)]
    while stack:
        owner, source = stack.pop()
        named = named_set(source, sets)
        if named is None:
            yield owner, source
        elif named.name.text not in seen:
            seen.add(named.name.text)
            stack += [(named, inner) for inner in reversed(named.sources)]


def named_set(source: tree.KnownSource, sets: Mapping[str, tree.Known]) -> tree.Known | None:
    """The set that a source names; None for any other source."""
    name = source.value if isinstance(source, tree.ListSource) else None
    return sets.get(name.text) if isinstance(name, tree.Name) else None


def asked_names(source: tree.KnownSource) -> list[tree.Name]:
    """The names on the right sides in the `where` of a source."""
    where = source.where if isinstance(source, tree.ResultSource) else None
    return [] if where is None else [test.right for test in tests_in(where) if isinstance(test.right, tree.Name)]


def stands_on(known: tree.Known, sets: Mapping[str, tree.Known]) -> list[tree.Known]:
    """The set itself and all that it stands on, each once."""
    found = {known.name.text: known}
    waiting = [known]
    while waiting:
        for source in waiting.pop().sources:
            named = named_set(source, sets)
            asked = [sets[name.text] for name in asked_names(source) if name.text in sets]
            for one in [*([named] if named else []), *asked]:
                if one.name.text not in found:
                    found[one.name.text] = one
                    waiting.append(one)
    return list(found.values())


def asks_what_grows(source: tree.KnownSource, sets: Mapping[str, tree.Known]) -> bool:
    """Whether the `where` of a source asks for what grows: for a set, or for the user's turns."""
    where = source.where if isinstance(source, tree.ResultSource) else None
    return where is not None and (
        any(name.text in sets for name in asked_names(source))
        or any(path.root == "turns" for test in tests_in(where) for path in paths_of(test))
    )


def paths_of(test: tree.Test) -> tuple[tree.Path, ...]:
    """The paths on both sides of a test."""
    return test.operand.paths + (test.right.paths if isinstance(test.right, tree.Operand) else ())


def tests_in(where: tree.Expr) -> Iterator[tree.Test]:
    """The tests of a `where`, with those in blocks."""
    waiting = [where]
    while waiting:
        expr = waiting.pop()
        match expr:
            case tree.And(items) | tree.Or(items):
                waiting += items
            case tree.Not(item):
                waiting.append(item)
            case tree.Test(block=block):
                yield expr
                waiting += [] if block is None else [block]
            case _:
                pass  # the checker allows no other expression there
