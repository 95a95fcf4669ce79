"""Writes pieces of a tree as they stand in a bundle."""

from rebuno.policy.syntax import tree as s


def shown_path(path: s.Path) -> str:
    """A path as it is written."""
    out = path.root
    for part in path.parts:
        match part:
            case s.Key(name, quoted):
                out += f'["{name}"]' if quoted else f".{name}"
            case s.Index(position):
                out += f"[{position}]"
            case s.Each():
                out += "[]"
            case s.Values():
                out += ".*"
    return out
