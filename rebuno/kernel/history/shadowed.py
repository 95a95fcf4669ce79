"""What bundles that were tried beside the policy said of recorded steps."""

from typing import Final

from rebuno.journal.records import ExecutionRow
from rebuno.journal.store import Store
from rebuno.kernel.core.loading import load
from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.policy import ShadowedStep

_VERDICTS: Final = frozenset(verdict.value for verdict in Verdict)


async def shadowed(store: Store, execution: ExecutionRow) -> list[ShadowedStep]:
    """Each step of an execution with each bundle that was tried at it, in the order of the log. Raises a `StoreError`
    where the store does."""
    steps, _ = await load(store, execution.id)
    found: list[ShadowedStep] = []
    after = 0
    while page := await store.events(execution.id, after=after):
        after = page[-1].event_seq
        for event in page:
            step = steps.get(str(event.payload.get("step_id", "")))
            said = event.payload.get("shadow")
            if step is None or not isinstance(said, list):
                continue
            found += [
                ShadowedStep(
                    f"{execution.id} {step.step_id[:12]}",
                    step.kind.value,
                    step.target,
                    identity.parse(step.args),
                    Verdict(step.verdict),
                    step.rule_id,
                    one,
                )
                for one in said
                # A log that came from elsewhere may say anything.
                if isinstance(one, dict) and one.get("verdict") in _VERDICTS
            ]
    return found
