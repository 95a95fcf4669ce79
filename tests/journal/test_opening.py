"""What names a store, and what only looks as if it did."""

import asyncio

import pytest

from rebuno.errors import StoreUnreachable
from rebuno.journal.opening import open_store


@pytest.mark.parametrize(
    "where",
    [
        "mysql://ana:secret@host/db",  # another database
        "postgresql:/ana:secret@host/db",  # a slash is missing
        "postgres:ana:secret@host/db",  # two are
        "Postgresql:ana:secret@host/db",  # whatever the case
        "host=localhost password=secret",  # the driver's other way of naming one
        "password = secret dbname=x",  # in another order
    ],
)
def test_no_file_is_made_of_what_was_meant_for_a_server(where: str) -> None:
    """It is refused with a hint, and what may be a password is not repeated."""
    with pytest.raises(StoreUnreachable, match="postgresql://") as caught:
        asyncio.run(open_store(where))
    assert "secret" not in str(caught.value)
