"""Why a step was decided so: its trace, computed again on the facts of then, under the bundle of then and today's."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rebuno.errors import BundleError, NotFoundError
from rebuno.journal.records import StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core import facts
from rebuno.kernel.core.heavy import LONG, LONG_FOR_ALL, beside, read
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.origins import background
from rebuno.policy import ALL_STEP_FACTS, Facts, Policy, explain_decision, restore_policy


async def explained(store: Store, execution_id: str, step_id: str, today: Policy | None = None) -> dict[str, Any]:
    """What was `recorded` of the decision, and the traces of `then` and `today`, as JSON data; None where a bundle's
    texts make no policy here. Without a policy of `today` it is the one of the newest run. A step whose arguments an
    approver has changed is explained as it ran; `step_id` may be the beginning of the id.

    Raises:
        NotFoundError: there is no such step, or several begin so.
        StoreError
    """
    execution = await store.execution(execution_id)
    steps, approvals = await load(store, execution.id, ALL_STEP_FACTS)
    named = [one for one in steps.values() if step_id and one.step_id.startswith(step_id)]
    if len(named) != 1:
        many = f"{len(named)} steps begin with" if named else "there is no step"
        raise NotFoundError(f"{many} `{step_id[:100]}` in the execution `{execution.id}`")
    (step,) = named
    known, input = await background(store, execution), await read(execution.input)
    past = facts.history(steps.values(), approvals.values())

    def looked_at() -> Facts:
        return facts.of_known(step, agent=execution.agent_id, input=input, past=past, background=known)

    then = await _kept(store, step.digest)
    if today is None:
        today = await _kept(store, await _newest(store, execution_id) or step.digest)

    def work() -> tuple[Any, Any]:
        return _trace(then, looked_at), _trace(today, looked_at)

    size = len(execution.input) + sum(len(one.args) + len(one.result or "") for one in steps.values())
    old, new = work() if size <= LONG else await beside(work, long=size > LONG_FOR_ALL)
    return {
        "recorded": _recorded(step),
        "then": old,
        "today": new,
        "today_digest": None if today is None else today.digest,
    }


def _recorded(step: StepRow) -> dict[str, Any]:
    return {
        "step_id": step.step_id,
        "kind": step.kind.value,
        "target": step.target,
        "decision": str(step.verdict),
        "rule_id": step.rule_id,
        "bundle": step.bundle,
        "reason": step.reason or None,
        "digest": step.digest,
        "doubt": step.doubt or None,
    }


def _trace(policy: Policy | None, looked_at: Callable[[], Facts]) -> dict[str, Any] | None:
    return None if policy is None else explain_decision(policy, looked_at()).to_json()


async def _kept(store: Store, digest: str) -> Policy | None:
    with suppress(BundleError):
        return restore_policy(digest, await store.bundle(digest) or ())
    return None


async def _newest(store: Store, execution_id: str) -> str:
    """The digest of the policy of the newest run."""
    digest, after = "", 0
    while page := await store.events(execution_id, after=after):
        for event in page:
            if event.type == "execution.started":
                digest = str(event.payload.get("digest", ""))
        after = page[-1].event_seq
    return digest
