"""Copies a store's file while others use it: SQLite's own online backup, which reads the store and writes nothing."""

from pathlib import Path
from typing import Final

import apsw

from rebuno.journal.own_files import make_file
from rebuno.journal.sqlite.connection import Patience, connect_unchanged
from rebuno.journal.sqlite.failures import named

# Pages that are copied at once.
_PAGES: Final = 10_000
# In seconds.
_PATIENCE: Final = 5.0


def copy_store(path: str | Path, to: Path) -> None:
    """Copies the store at `path` to the new file `to`, as it stands at one moment. It blocks.

    Raises:
        StoreUnreachable, StoreForeign, StoreReadOnly, StoreCorrupt, SchemaTooNew, StoreBusy, StoreFull: as they say.
    """
    shown = str(path)
    source = connect_unchanged(shown, patience=Patience(_PATIENCE))
    try:
        with named(str(to)):
            make_file(to)
            copy = apsw.Connection(str(to))
        try:
            with named(shown), copy.backup("main", source, "main") as backup:
                # INVARIANT: one transaction reads all of it: what others write meanwhile is not seen.
                source.execute("BEGIN")
                next(source.execute("SELECT count(*) FROM sqlite_master"))
                while not backup.done:
                    backup.step(_PAGES)
        finally:
            copy.close()
    finally:
        source.close()
