"""Says whether an execution's log is whole, and its rows what the log says."""

import asyncio
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rebuno.errors import ConflictError, SealBroken, SealErased, SealKeyMissing, ValidationError
from rebuno.journal.data_keys import ALL
from rebuno.journal.records import ExecutionRow
from rebuno.journal.sealed.kept import KeptPayloads, raw
from rebuno.journal.store import Store
from rebuno.kernel.core.sealed import opened, seals_of
from rebuno.kernel.history.audit import Audit
from rebuno.kernel.history.external import held
from rebuno.model.definition import digest_of, recorded
from rebuno.policy import texts_make_policy
from rebuno.types import CheckedHistory

_PAGE: Final = 1000
# How often a log that grows meanwhile is read again.
_TRIES: Final = 20
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check of one execution came to: `fault` is the first thing that is wrong, in words, or empty. `head_seq`
    and `head_hash` (hex) are the number and the hash of its newest event. `seal` is the key of the ring that it is
    sealed under, or empty; `erased` says how many of its payloads were erased."""

    execution_id: str
    head_seq: int
    head_hash: str
    steps: int
    fault: str = ""
    seal: str = ""
    erased: int = 0

    def view(self) -> CheckedHistory:
        """The check as the public model."""
        return CheckedHistory(
            execution_id=self.execution_id,
            valid=not self.fault,
            fault=self.fault or None,
            events=self.head_seq,
            steps=self.steps,
            head_hash=self.head_hash,
            seal_key=self.seal or None,
            erased=self.erased,
        )

    def to_json(self) -> dict[str, Any]:
        """The check as JSON data."""
        return self.view().model_dump(mode="json")


async def check(store: Store, execution_id: str, *, head: str = "") -> Verified:
    """Recomputes the chain of an execution's events and every hash that they hold, and compares the newest with `head`
    (64 hexadecimal digits), the one that was kept elsewhere.

    Raises:
        NotFoundError: there is no such execution.
        ValidationError: `head` is no hash.
        ConflictError: a live process writes faster than this reads.
        StoreError
    """
    if head and not _HASH.match(head):
        raise ValidationError(f"the head `{head}` is no hash; give 64 digits, as `exec verify` prints them")
    for _ in range(_TRIES):
        execution = await store.execution(execution_id)
        try:
            found = await _audited(store, execution, head)
        except SealBroken as broken:
            newest, why = execution.head_hash.hex(), str(broken)
            found = Verified(execution.id, execution.head_seq, newest, 0, why, execution.seal)
        # What a live process added meanwhile is no fault.
        if not found.fault or (await store.execution(execution_id)).head_seq == execution.head_seq:
            return found
    raise ConflictError(f"the execution `{execution_id}` is being written all the time; ask again later")


async def _audited(store: Store, execution: ExecutionRow, head: str) -> Verified:
    audit = Audit(execution)
    digests = {execution.digest: None}
    defined: dict[str, None] = {}
    known = 0
    after = 0
    while after < execution.head_seq and (page := await store.events(execution.id, after=after, limit=_PAGE)):
        page = [event for event in page if event.event_seq <= execution.head_seq]
        audit.events(page)
        named = (recorded(event.payload.get("definition")) for event in page)
        defined |= dict.fromkeys(one.digest for one in named if one is not None)
        known = next((event.event_seq for event in page if head and event.hash.hex() == head), known)
        if audit.fault or not page:
            break
        after = page[-1].event_seq
    after = 0
    while not audit.fault and (rows := await store.steps(execution.id, after=after, limit=_PAGE)):
        for step in rows:
            audit.step(step)
            digests[step.digest] = None
        after = rows[-1].decided_seq
    if not audit.fault:
        for approval in await store.approvals(execution_id=execution.id, limit=sys.maxsize):
            audit.approval(approval)
            digests[approval.digest] = None
        for turn in await store.turns(execution.id):
            if turn.event_seq <= execution.head_seq:
                audit.turn(turn)
        audit.root(await store.root(execution.id))
        audit.external(await held(store, execution.id))
        audit.end()
    found = execution.head_hash.hex()
    kept, erased = await _kept(store, execution) if execution.seal and not audit.fault else ("", 0)
    fault = audit.fault or kept or await _bundles_fault(store, digests) or await _definitions_fault(store, defined)
    if head and not fault and head != found:
        fault = f"the log has gone on since: that is the hash of event {known}" if known else "the head is another one"
    return Verified(execution.id, execution.head_seq, found, audit.steps, fault, execution.seal, erased)


async def _kept(store: Store, execution: ExecutionRow) -> tuple[str, int]:
    """What is wrong with what the store holds of a sealed execution, and how many of its payloads were erased."""
    key = await store.data_key(execution.id)
    if key is None:
        return "its data key is missing", 0
    keyed = await _identity_fault(store, execution)
    if key.covers != ALL:
        return keyed, len(await store.sealed_beginning(execution.id, "")) if key.wrapped is None else 0
    inner, kept, after = raw(store), KeptPayloads(), 0
    while after < execution.head_seq and (page := await inner.events(execution.id, after=after, limit=_PAGE)):
        kept.events(event for event in page if event.event_seq <= execution.head_seq)
        after = page[-1].event_seq
    after = 0
    kept.execution(await inner.execution(execution.id))
    while rows := await inner.steps(execution.id, after=after, limit=_PAGE):
        for step in rows:
            kept.step(step)
        after = rows[-1].decided_seq
    for turn in await inner.turns(execution.id):
        kept.turn(turn)
    kept.root(await inner.root(execution.id))
    return keyed or kept.fault, kept.payloads if key.wrapped is None else 0


async def _identity_fault(store: Store, execution: ExecutionRow) -> str:
    """What is wrong with the ids of the steps of a sealed execution, which are keyed: looked at where the key is at
    hand."""
    try:
        view = await opened(store, execution)
    except (SealKeyMissing, SealErased):
        return ""
    seals, after = seals_of(view), 0
    while seals is not None and (rows := await view.steps(execution.id, after=after, limit=_PAGE)):
        for step in rows:
            scope = step.parent_id or step.execution_id
            named = seals.step_id(scope, step.kind, step.target, step.args_hash, step.occurrence)
            if (seals.args_hash(step.args), named) != (step.args_hash, step.step_id):
                return f"the step `{step.step_id}` (event {step.decided_seq}): its id is not the one of what it does"
        after = rows[-1].decided_seq
    return ""


async def _bundles_fault(store: Store, digests: Iterable[str]) -> str:
    """What is wrong with the texts of the policies that decided: a trace and a replay under `pin` rest on them."""
    for digest in filter(None, digests):
        sources = await store.bundle(digest)
        if sources is not None and await asyncio.to_thread(texts_make_policy, digest, sources) is False:
            return f"the bundle kept under the digest `{digest[:12]}` is not the one that decided"
    return ""


async def _definitions_fault(store: Store, digests: Iterable[str]) -> str:
    """What is wrong with the kept definitions of tools: what a person reads under a digest is what it stands for."""
    for digest in filter(None, digests):
        text = await store.definition(digest)
        if text is not None and digest_of(text) != digest:
            return f"the definition kept under the digest `{digest[:12]}` is not the one that was told"
    return ""
