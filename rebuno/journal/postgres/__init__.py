"""The store for many machines: a PostgreSQL database that several processes share."""

from rebuno.journal.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
