"""The table of events, partitioned by time as `docs/scale.md` says, under a store that is open."""

import psycopg

import rebuno
from rebuno.policy import compile_text
from tests.docs.pages import blocks
from tests.journal.builders import in_loop

(STATEMENTS,) = (block.body for block in blocks("docs/scale.md") if block.file == "partitions.sql")
COUNT = "SELECT (SELECT count(*) FROM rebuno.events_before), (SELECT count(*) FROM rebuno.events_from_2027)"


@rebuno.tool
async def note(text: str) -> str:
    """Notes something."""
    return f"noted {text}"


async def agent(text: str) -> object:
    """Notes it twice."""
    await note(text)
    return await note(f"{text} again")


@in_loop
async def test_events_go_to_the_partition_of_their_executions_time(postgres: str) -> None:
    """The open store goes on, what was there is whole, and an empty partition can be dropped."""
    # Of a year that is over, whenever this is run: every new execution is in the second partition.
    statements = STATEMENTS.replace("2027-01-01", "2020-01-01").encode()
    async with rebuno.open(postgres, policy=compile_text("bundle t\ndefault allow\n")) as kernel:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(statements)
            assert connection.execute(COUNT).fetchone() == (0, 0)
            ended = await kernel.run(agent, {"text": "milk"}, id="monday")
            assert (ended.status, ended.output) == ("completed", "noted milk again")
            events = len(await kernel.operator.events(ended.id))
            assert connection.execute(COUNT).fetchone() == (0, events)
            assert not (await kernel.operator.verify(ended.id)).fault
            connection.execute("DROP TABLE rebuno.events_before")
        assert (await kernel.run(agent, {"text": "bread"}, id="tuesday")).status == "completed"


@in_loop
async def test_events_that_were_there_stay_readable(postgres: str) -> None:
    """They are in the first partition, and a run that was under way goes on."""
    # Of a year to come.
    statements = STATEMENTS.replace("2027-01-01", "2120-01-01").encode()
    async with rebuno.open(postgres, policy=compile_text("bundle t\ndefault allow\n")) as kernel:
        before = await kernel.run(agent, {"text": "milk"}, id="monday")
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(statements)
        after = await kernel.run(agent, {"text": "bread"}, id="tuesday")
        for one in (before, after):
            assert (one.status, (await kernel.operator.verify(one.id)).fault) == ("completed", "")
        with psycopg.connect(postgres) as connection:
            counted = connection.execute(COUNT).fetchone()
        assert counted is not None
        assert (counted[0] > 0, counted[1]) == (True, 0)
