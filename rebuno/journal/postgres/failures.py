"""Maps PostgreSQL's errors to typed errors, and says whether to retry."""

from typing import Final

import psycopg

from rebuno.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreUnreachable

# By SQLSTATE, or by the two characters of its class; the longer one counts.
_KINDS: Final[dict[str, tuple[type[StoreError], str]]] = {
    "25P03": (StoreUnreachable, "has ended a transaction in which it heard nothing; try again"),
    "08": (StoreUnreachable, "cannot be reached; check that the server runs"),
    "57P": (StoreUnreachable, "cannot be reached: the server is stopping or starting; try again"),
    "25006": (StoreReadOnly, "may not be written; name the primary server, or look at `default_transaction_read_only`"),
    "42501": (StoreReadOnly, "may not be written by this role; grant it the right"),
    "3D000": (StoreUnreachable, "does not exist; make the database first"),
    "28": (StoreUnreachable, "refuses this role; check the user and the password"),
    "40": (StoreBusy, "keeps getting in the way of others; try again"),
    "55P03": (StoreBusy, "is locked by another transaction; try again, or find who keeps one open"),
    "57014": (StoreBusy, "took longer than the server allows; look at `statement_timeout`"),
    "53300": (StoreBusy, "has no connection left; raise `max_connections`, or use fewer"),
    "53100": (StoreFull, "cannot grow: the server's disk is full; free some space"),
    "53": (StoreBusy, "has run out of memory or of another resource; try again"),
    "58": (StoreError, "cannot be read or written: the server's disk answers with an error"),
    "XX00": (StoreCorrupt, "is damaged; restore a copy"),
    "3F": (StoreCorrupt, "has lost its schema; restore a copy"),
    "42P01": (StoreCorrupt, "has lost a table; restore a copy"),
    "42703": (StoreCorrupt, "has lost a column; restore a copy"),
}

# What Python says of a value that the server does not take, or of one from a damaged row.
UNFIT: Final = (ValueError, OverflowError, TypeError, KeyError)


def lost(error: psycopg.Error) -> bool:
    """Whether the connection went with it, so that nobody knows what became of the statement."""
    state = error.sqlstate or ""
    # 25P03: this process was silent within a transaction for too long.
    ended = state[:2] == "08" or state[:3] == "57P" or state == "25P03"
    return ended or (not state and isinstance(error, psycopg.OperationalError))


def conflict(error: psycopg.Error) -> bool:
    """Whether the transaction gave way to another one and is to be repeated."""
    return error.sqlstate in ("40001", "40P01")


def settled(error: psycopg.Error) -> bool:
    """Whether `write` failed by its division: a row to be put has settled."""
    return error.sqlstate == "22012"


def known(error: psycopg.Error) -> bool:
    """Whether a row to be added is there. Of a change of steps that is a step: while it has the execution's row locked,
    nobody adds an event of its number."""
    return error.sqlstate == "23505"


def typed(error: psycopg.Error, name: str) -> StoreError:
    """Our error for one of PostgreSQL's, naming the store."""
    state = error.sqlstate or ""
    said = first_line(error)
    for length in (5, 4, 3, 2):
        if state[:length] in _KINDS:
            kind, why = _KINDS[state[:length]]
            return kind(f"the store `{name}` {why} ({said})", path=name)
    if state.startswith("22") or isinstance(error, psycopg.DataError):
        return StoreError(f"the store `{name}` cannot take a value: {said}", path=name)
    if lost(error):
        return unreachable(error, name)
    return StoreError(f"the store `{name}` refused a statement: {said}", path=name)


def unreachable(error: psycopg.Error, name: str) -> StoreError:
    """Our error where there was no connection, or no longer. The client library tells the reason in words only."""
    said = first_line(error)
    if "too many clients" in said or "connection slots" in said or "too many connections" in said:
        return StoreBusy(
            f"the store `{name}` has no connection left; raise `max_connections`, or use fewer ({said})", path=name
        )
    return StoreUnreachable(
        f"the store `{name}` cannot be reached; check the address, the user and the password ({said})", path=name
    )


def unfit(error: Exception, name: str) -> StoreError:
    """Our error for a value that the store cannot hold."""
    return StoreError(f"the store `{name}` cannot take a value: {error}", path=name)


def damaged(error: Exception, name: str) -> StoreCorrupt:
    """Our error for a row that cannot be read."""
    return StoreCorrupt(f"the store `{name}` is damaged: a row cannot be read: {error}; restore a copy", path=name)


def first_line(error: psycopg.Error) -> str:
    """What the server or the client library said, on one line and not longer than a few."""
    return next((line.strip()[:300] for line in str(error).splitlines() if line.strip()), "no reason given")
