"""The statements of `queries.sql` and `served.sql` by their names."""

from typing import Final

from rebuno.journal.migrate import queries

SQL: Final = queries(__package__) | queries(__package__, "served.sql")
