"""The statements of `queries.sql`, `served.sql` and `facts.sql` by their names."""

from typing import Final

from rebuno.journal.migrate import queries


def _terse(query: str) -> str:
    """Without comments and layout: apsw finds a statement that it has prepared by hashing the whole text."""
    return " ".join(" ".join(line for line in query.split("\n") if not line.startswith("--")).split())


_WRITTEN: Final = queries(__package__) | queries(__package__, "served.sql") | queries(__package__, "facts.sql")
SQL: Final = {name: _terse(query) for name, query in _WRITTEN.items()}
