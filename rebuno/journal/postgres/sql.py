"""The statements of `queries.sql` by their names."""

from typing import Final

from rebuno.journal.migrate import queries

SQL: Final = queries(__package__)
