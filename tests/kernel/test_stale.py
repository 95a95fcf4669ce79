"""`Stale` is a signal between the kernel and its store: no handler, client or reason of a failure ever sees it."""

from dataclasses import replace

import pytest

from rebuno.errors import LeaseSuperseded, Stale
from rebuno.journal.records import Batch, StepWrite
from rebuno.journal.store import Store
from tests.embedded.support import in_loop
from tests.kernel.support import Opener, bench, policy


@in_loop
@pytest.mark.parametrize("same", [True, False], ids=["with the same outcome", "with another one"])
async def test_an_outcome_that_is_stale_never_reaches_the_handler(
    opener: Opener, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step was settled meanwhile: by this very outcome, then it stands; by another, then this attempt has lost."""
    async with bench(opener) as b:
        await b.begin(policy("allow"))
        answer = await b.submit(idempotency="at_most_once")
        write = type(b.store).write

        def overtaken(store: Store, batch: Batch) -> None:
            # What the store says where the row has settled; it was written a moment before.
            (settling,) = batch.steps
            row = settling.step if same else replace(settling.step, result='"of another"')
            first = Batch(batch.execution_id, batch.events, (StepWrite(row, settled=0),))
            write(store, first)
            batch.committed.set_exception(Stale("it has settled meanwhile"))

        monkeypatch.setattr(type(b.store), "write", overtaken)
        if same:
            await b.succeed(answer)
        else:
            with pytest.raises(LeaseSuperseded, match="was settled by another: it is succeeded"):
                await b.succeed(answer)
