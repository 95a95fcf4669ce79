"""Resources and checkpoints are stored with the events that tell of them, and go with their execution."""

from dataclasses import replace

import pytest

from rebuno.errors import LeaseSuperseded, Stale
from rebuno.journal.records import Batch, Copied, Lease, Tombstone
from rebuno.journal.resource_records import (
    CheckpointRow,
    CheckpointWrite,
    ResourceChanges,
    ResourceRow,
    ResourceRows,
    ResourceWrite,
)
from rebuno.model.execution import ExecutionStatus
from tests.journal.builders import Opener, batch, ending, event, execution, in_loop, started, written

ROW = ResourceRow("e1", "box", "test", '{"a":"\\u0000"}', False, 2, True)
CHECKPOINT = CheckpointRow("e1", "box", 0, 0, "nul \0 and \x1a ü")


def changing(*writes: ResourceWrite | CheckpointWrite, **more: object) -> Batch:
    """A batch of one event that changes resources."""
    changes = ResourceChanges(
        tuple(one for one in writes if isinstance(one, ResourceWrite)),
        tuple(one for one in writes if isinstance(one, CheckpointWrite)),
    )
    return batch("e1", event("resource.registered"), external=changes, **more)


@in_loop
async def test_rows_come_back_with_the_numbers_of_their_events(opener: Opener) -> None:
    """Any text, and whether a checkpoint of this generation holds."""
    async with opener() as store:
        await started(store)
        await written(store, changing(ResourceWrite(ROW, registered=0)))
        (found,) = await store.resources("e1")
        assert found == replace(ROW, registered_seq=2)
        await written(store, changing(CheckpointWrite(CHECKPOINT, -1)))
        await written(store, changing(CheckpointWrite(CHECKPOINT, 0)))
        assert await store.checkpoints("e1") == [replace(CHECKPOINT, covered_seq=2), replace(CHECKPOINT, covered_seq=4)]
        assert (await store.resources("e1"))[0].covered
        changed = replace(
            found, generation=1, count=3, binding='"b\\u0000"', checkpoint_ref="r\0", writers=("s1", "s2")
        )
        await written(store, changing(ResourceWrite(changed, invalidated=0)))
        assert await store.resources("e1") == [changed]
        assert [one.invalidated_seq for one in await store.checkpoints("e1")] == [5, 5]
        late = replace(CHECKPOINT, generation=1)
        await written(store, changing(CheckpointWrite(late, 0)))
        assert await store.resources("e1") == [replace(changed, covered=True)]
        assert [one.invalidated_seq for one in await store.checkpoints("e1")] == [5, 5, 0]
        assert (await store.resources("e2"), await store.checkpoints("e2")) == ([], [])


@in_loop
async def test_what_fails_leaves_nothing(opener: Opener) -> None:
    """Neither a change that rests on an older log, nor one under a lease that is lost."""
    async with opener() as store:
        await started(store)
        for refused, error in (
            (changing(ResourceWrite(ROW, registered=0), base=7), Stale),
            (changing(ResourceWrite(ROW, registered=0), lease=Lease("e1", 9, "somebody")), LeaseSuperseded),
        ):
            with pytest.raises(error):
                await written(store, refused)
        assert await store.resources("e1") == []


@in_loop
async def test_they_come_and_go_with_the_execution(opener: Opener) -> None:
    """Copied with a new one, and removed with an old one."""
    async with opener() as store:
        row = replace(ROW, registered_seq=1, binding="[1]", writers=("s1",))
        kept = replace(CHECKPOINT, covered_seq=1)
        copied = Copied(external=ResourceRows((row,), (kept,)))
        assert await store.create(execution("e1"), [event("resource.registered")], copied)
        assert await store.resources("e1") == [replace(row, covered=True)]
        assert await store.checkpoints("e1") == [kept]
        await written(store, ending())
        assert await store.bury(Tombstone("e1", "agent", None, ExecutionStatus.COMPLETED, "", bytes(32), 9.0))
        assert (await store.resources("e1"), await store.checkpoints("e1")) == ([], [])
