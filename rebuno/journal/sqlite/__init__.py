"""The store for one machine: one SQLite file that several processes may share."""

from rebuno.journal.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
