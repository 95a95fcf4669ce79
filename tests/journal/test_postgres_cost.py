"""What a step costs the server does not grow with what is in the journal."""

import psycopg

from rebuno.journal.postgres import PostgresStore
from rebuno.journal.records import StepWrite
from rebuno.model.step import StepStatus
from tests.journal.builders import batch, event, in_loop, started, step, written

STEPS = 100


@in_loop
async def test_a_step_is_found_without_looking_at_the_others(postgres: str) -> None:
    """In a new store too, whose tables the server has not analyzed yet."""
    store = await PostgresStore.open(postgres)
    try:
        lease = await started(store)
        for n in range(STEPS):
            begun, ended = step(f"s{n}"), step(f"s{n}", status=StepStatus.SUCCEEDED, result="1")
            await written(store, batch("e1", event(n=n), steps=(StepWrite(begun, 0, 0),), lease=lease))
            await written(store, batch("e1", event(n=n), steps=(StepWrite(ended, settled=0),), lease=lease))
    finally:
        # What its connections have counted is there to read once they end.
        await store.close()
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(ENDED)
        row = connection.execute(FETCHED).fetchone()
    assert row is not None
    # The row to end, and one that the insert of the next may meet.
    assert STEPS <= row[0] <= 3 * STEPS


ENDED = """DO $$ BEGIN
    WHILE EXISTS (SELECT FROM pg_stat_activity
                  WHERE application_name = 'rebuno' AND datname = current_database() AND pid <> pg_backend_pid())
    LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP;
END $$"""

FETCHED = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE relid = 'rebuno.steps'::regclass"
