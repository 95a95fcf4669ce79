"""Claims due dispatches, and claims them again if the answer to the first claim was lost."""

import random
from typing import Final

from rebuno.journal import rows
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.sql import SQL
from rebuno.journal.postgres.texts import row_told
from rebuno.journal.records import Dispatch

# By so much at most the times differ until which two calls take dispatches, in seconds: a float has millions there.
_APART: Final = 1.0


class Claims:
    """What one store takes.

    INVARIANT: the time until which a call takes dispatches is its own. What bears that of a call whose answer never
    came was told to nobody, whenever the server carried it out, and is taken by the next one.
    """

    def __init__(self) -> None:
        self._unsure: list[float] = []

    def due(self, connection: PreparedConnection, now: float, again: float, limit: int) -> list[Dispatch]:
        """Takes dispatches whose time has come, until about `again`. To be called again after a lost connection."""
        own = again + random.uniform(0, _APART)
        # Those whose time is over are due for everybody.
        self._unsure = [until for until in self._unsure if until > now]
        self._unsure.append(own)
        values = {"now": now, "again": own, "unsure": self._unsure[:-1], "limit": limit}
        found = connection.execute(SQL["dispatches-due"], values).fetchall()
        self._unsure.remove(own)
        return [rows.dispatch(row_told(row)) for row in found]
