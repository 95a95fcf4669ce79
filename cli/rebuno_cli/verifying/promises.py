"""The promises in their order, and the run of all of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Final

from rebuno.errors import RebunoError
from rebuno_cli.verifying import closed, decisions, grants, kills, limits, records
from rebuno_cli.verifying.bench import Bench
from rebuno_cli.verifying.outcome import DoesNotApplyError, Findings, PromiseOutcome

# How long one promise may be tried, in seconds.
LIMIT: Final = 300.0

# INVARIANT: the last one destroys the copy of the store.
PROMISES: Final[dict[str, tuple[str, Callable[[Bench, Findings], Awaitable[None]]]]] = {
    "denied": ("A denied step does not run.", decisions.denied_does_not_run),
    "asked": ("A step that needs an approval waits for it, and runs once after it.", decisions.asked_waits),
    "stopped": ("What is stopped does not run until that is lifted.", decisions.stopped_does_not_run),
    "at-most-once": ("A step that is at_most_once does not run again after a kill -9.", kills.at_most_once),
    "replay": ("A replay gives the recorded results and runs nothing.", kills.replay_gives_what_is_recorded),
    "expired-grant": ("A grant that is too old does not hold.", grants.expired_grant),
    "foreign-grant": ("A grant for another step, other arguments or another run does not hold.", grants.foreign_grant),
    "other-bundle": ("A grant for all steps of a rule ends with its bundle.", grants.grant_under_another_bundle),
    "limits": ("Limits hold under parallel calls.", limits.limits_hold),
    "budgets": ("Budgets hold under parallel calls.", limits.budgets_hold),
    "chain": ("The hash chain of every execution verifies.", records.chains_verify),
    "changed-row": ("A changed row is noticed.", records.changed_rows_are_noticed),
    "broken-bundle": ("Nothing runs under a broken bundle.", closed.broken_bundle),
    "store-gone": ("Nothing runs while the store is gone.", closed.store_gone),
}


async def verify(bench: Bench, only: Collection[str] = (), *, limit: float = LIMIT) -> AsyncIterator[PromiseOutcome]:
    """Tries the promises one by one (those of these ids; none named: all), and says of each what became of it. One that
    was not tried within `limit` seconds fails."""
    for id, (promise, check) in PROMISES.items():
        if only and id not in only:
            continue
        found = Findings()
        outcome, why = "holds", ""
        try:
            async with asyncio.timeout(limit):
                await check(bench, found)
        except DoesNotApplyError as error:
            outcome, why = "does_not_apply", str(error)
        except TimeoutError:
            found.faults.append(f"the check did not end within {limit:g} seconds")
        except (RebunoError, OSError) as error:
            found.faults.append(f"the check ended with {type(error).__name__}: {error}")
        if found.faults:
            outcome, why = "fails", ""
        yield PromiseOutcome(id, promise, outcome, why, tuple(found.tried), tuple(found.faults))
