"""The statements of the `.sql` files of this package by their names."""

from typing import Final

from rebuno.journal.migrate import queries


def _terse(query: str) -> str:
    """Without comments and layout: apsw finds a statement that it has prepared by hashing the whole text."""
    return " ".join(" ".join(line for line in query.split("\n") if not line.startswith("--")).split())


_FILES: Final = (
    *("queries.sql", "served.sql", "facts.sql", "pots.sql", "resources.sql", "sealing.sql", "overview.sql"),
    "notices.sql",
)
_WRITTEN: Final = {name: text for file in _FILES for name, text in queries(__package__, file).items()}
SQL: Final = {name: _terse(query) for name, query in _WRITTEN.items()}
