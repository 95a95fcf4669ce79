"""Maps SQLite's errors to typed errors, and says whether to retry."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import apsw

from rebuno.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreUnreachable

_KINDS: Final[tuple[tuple[type[apsw.Error], type[StoreError], str], ...]] = (
    (apsw.BusyError, StoreBusy, "is locked by another process; try again, or find who keeps a transaction open"),
    (apsw.LockedError, StoreBusy, "is locked within this process; try again"),
    (apsw.FullError, StoreFull, "cannot grow: the disk is full; free some space"),
    (apsw.ReadOnlyError, StoreReadOnly, "cannot be written; check the permissions of the file and its folder"),
    (apsw.PermissionsError, StoreReadOnly, "cannot be written; check the permissions of the file and its folder"),
    (apsw.NotADBError, StoreCorrupt, "is not an SQLite file; name another one"),
    (apsw.CorruptError, StoreCorrupt, "is damaged; restore a copy"),
    (apsw.CantOpenError, StoreUnreachable, "cannot be opened; check that its folder can be entered and written"),
    (apsw.IOError, StoreError, "cannot be read or written: the disk answers with an error"),
)

# What Python says of a value that SQLite does not take, or of one from a damaged row.
UNFIT: Final = (ValueError, OverflowError, TypeError, KeyError)


def unfit(error: Exception, path: str) -> StoreError:
    """Our error for a value that the store at `path` cannot hold."""
    return StoreError(f"the store `{path}` cannot take a value: {error}", path=path)


def typed(error: apsw.Error, path: str) -> StoreError:
    """Our error for one of SQLite's, naming the store at `path`."""
    for kind, ours, why in _KINDS:
        if isinstance(error, kind):
            return ours(f"the store `{path}` {why} ({error})", path=path)
    return StoreError(f"the store `{path}` refused a statement: {error}", path=path)


@contextmanager
def named(path: str) -> Iterator[None]:
    """Raises SQLite's errors as ours."""
    try:
        yield
    except apsw.Error as error:
        raise typed(error, path) from error
