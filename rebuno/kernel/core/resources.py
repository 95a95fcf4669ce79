"""Resources: which steps may change one, which checkpoints of it hold, and what is written about that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.journal.records import NewEvent, StepWrite
from rebuno.journal.resource_records import (
    CheckpointRow,
    CheckpointWrite,
    ResourceChanges,
    ResourceRow,
    ResourceWrite,
)
from rebuno.journal.store import Store
from rebuno.model import identity
from rebuno.model.resource import Captured, RegisteredResource, Registration, StepResource
from rebuno.model.step import Kind, StepStatus

if TYPE_CHECKING:
    from rebuno.journal.records import StepRow
    from rebuno.kernel.core.attempt import Attempt
    from rebuno.kernel.core.effects import Identified, Routed

# What is kept of a driver's error, and of a key that names nothing, in characters.
_LONGEST_ERROR: Final = 1000
_LONGEST_KEY: Final = 128
# A step that is not final in these was not carried out; where it ended so, it counts.
_CARRIED_OUT: Final = (StepStatus.SUCCEEDED, StepStatus.FAILED)
_STARTS: Final = (StepStatus.ALLOWED, StepStatus.EXECUTING)

Known = Mapping[str, ResourceRow]


async def load(store: Store, execution_id: str) -> dict[str, ResourceRow]:
    """The resources of an execution by their keys, as they stand: what settled a step from outside of its attempt has
    not written that it is no writer any more."""
    found = {}
    for row in await store.resources(execution_id):
        for step_id in row.writers:
            row = _without(row, await store.step(step_id))
        found[row.key] = row
    return found


def _without(row: ResourceRow, step: StepRow) -> ResourceRow:
    if step.status is StepStatus.EXECUTING:
        return row
    writers = tuple(writer for writer in row.writers if writer != step.step_id)
    return replace(row, writers=writers, count=row.count + (step.status in _CARRIED_OUT))


def view(row: ResourceRow) -> RegisteredResource:
    """A resource as its handler is told of it."""
    registration = Registration(
        row.key, row.driver_id, row.configuration, row.coverage_reuse, row.every_steps, row.on_completion
    )
    return RegisteredResource(
        registration, row.registered_seq, row.generation, row.count, row.binding, row.checkpoint_ref, row.covered
    )


# ---------------------------------------------------------------- what handlers say of them


def registered(
    execution_id: str, known: ResourceRow | None, asked: Registration
) -> tuple[ResourceRow, tuple[NewEvent, ...], ResourceChanges | None]:
    """A resource after its registration, and what that writes (None: nothing).

    Raises:
        ValidationError: the registration is malformed.
        ConflictError: the resource is registered with another driver, configuration or reuse.
    """
    asked.check()
    every, last = asked.every_steps, asked.captures_last
    if known is None:
        row = ResourceRow(
            execution_id, asked.key, asked.driver_id, asked.configuration, asked.coverage_reuse, every, last
        )
        return row, (registration(row),), ResourceChanges((ResourceWrite(row, registered=0),))
    for name, was, wanted in (
        ("driver", known.driver_id, asked.driver_id),
        ("configuration", known.configuration, asked.configuration),
        ("coverage_reuse", known.coverage_reuse, asked.coverage_reuse),
    ):
        if was != wanted:
            raise ConflictError(f"the resource `{asked.key}` is registered with another {name}; use another key")
    if known.every_steps or not asked.every_steps:
        return known, (), None
    row = replace(known, every_steps=every, on_completion=last)
    return row, (registration(row),), ResourceChanges((ResourceWrite(row),))


def bound(known: ResourceRow | None, key: str, binding: str) -> tuple[tuple[NewEvent, ...], ResourceChanges | None]:
    """What it writes that a resource is bound; None: it is bound so already.

    Raises:
        ValidationError: the binding is null.
        NotFoundError: nothing is registered under this key.
        ConflictError: it is bound otherwise.
    """
    if binding == "null":
        raise ValidationError(f"the binding of the resource `{key[:_LONGEST_KEY]}` is null")
    if known is None:
        raise NotFoundError(f"there is no resource `{key[:_LONGEST_KEY]}`; register it first")
    if known.binding is not None:
        if known.binding != binding:
            raise ConflictError(f"the resource `{key}` is bound already; open what it is bound to")
        return (), None
    return (binding_of(key, binding),), ResourceChanges((ResourceWrite(replace(known, binding=binding)),))


def registration(row: ResourceRow) -> NewEvent:
    """`resource.registered`."""
    said = {
        "key": row.key,
        "driver_id": row.driver_id,
        "configuration": identity.parse(row.configuration),
        "coverage_reuse": row.coverage_reuse,
        "every_steps": row.every_steps,
        "on_completion": row.on_completion,
    }
    return NewEvent("resource.registered", said)


def binding_of(key: str, binding: str) -> NewEvent:
    """`resource.bound`."""
    return NewEvent("resource.bound", {"key": key, "binding": identity.parse(binding)})


def inherited(
    execution_id: str, rows: Iterable[ResourceRow], first: int = 0
) -> tuple[list[NewEvent], list[ResourceWrite]]:
    """What an execution begins with whose session had these resources: their registrations and bindings, from the
    event `first` of its batch on, and no checkpoint."""
    events: list[NewEvent] = []
    writes = []
    for row in rows:
        new = replace(
            row, execution_id=execution_id, registered_seq=0, generation=0, count=0, checkpoint_ref="", writers=()
        )
        new = replace(new, covered=False)
        writes.append(ResourceWrite(new, registered=first + len(events)))
        events.append(registration(new))
        if new.binding is not None:
            events.append(binding_of(new.key, new.binding))
    return events, writes


# ---------------------------------------------------------------- checkpoints


def captured(
    known: Known, captures: Captured, *, covers: int, at: int, settles: str = ""
) -> tuple[list[NewEvent], tuple[CheckpointWrite, ...]]:
    """What a driver's checkpoints of the event `covers` come to, which is event `at` of the batch (-1: the newest
    before it). `settles` is the step that the batch settles. None is an error: what is refused is recorded so."""
    events = [_failed(one.key, one.generation, one.error) for one in captures.failures]
    writes: dict[str, CheckpointWrite] = {}
    seen: set[str] = set()
    for one in captures.captures:
        row = known.get(one.key)
        why = _refusal(row, one.generation, one.checkpoint_ref, twice=one.key in seen, settles=settles)
        seen.add(one.key)
        if row is None or why:
            events.append(_failed(one.key, one.generation, why))
            continue
        made = CheckpointRow(row.execution_id, one.key, covers, one.generation, one.checkpoint_ref)
        writes[one.key] = CheckpointWrite(made, at)
        events.append(checkpointed(made))
    return events, tuple(writes.values())


def _refusal(row: ResourceRow | None, generation: int, ref: str, *, twice: bool, settles: str) -> str:
    if row is None:
        return "unknown_resource"
    if not ref:
        return "missing_checkpoint_ref"
    if twice:
        return "duplicate_capture"
    if generation != row.generation:
        return "stale_generation"
    return "writers_active" if any(writer != settles for writer in row.writers) else ""


def _failed(key: str, generation: int, error: str) -> NewEvent:
    said = {"key": key[:_LONGEST_KEY], "generation": generation, "error": error[:_LONGEST_ERROR]}
    return NewEvent("resource.checkpoint_failed", said)


def checkpointed(row: CheckpointRow) -> NewEvent:
    """`resource.checkpointed`. One that is copied may be invalidated already."""
    over = {"invalidated_seq": row.invalidated_seq} if row.invalidated_seq else {}
    said = {
        "key": row.key,
        "generation": row.generation,
        "checkpoint_ref": row.checkpoint_ref,
        "covered_seq": row.covered_seq,
        **over,
    }
    return NewEvent("resource.checkpointed", said)


# ---------------------------------------------------------------- steps


def check_declared(attempt: Attempt, step: Identified, known: StepRow | None) -> None:
    """Raises `ValidationError` where a step that may start declares a resource that is not registered."""
    if attempt.blocked if known is None else known.status not in _STARTS:
        return
    for key in step.resources:
        if key not in attempt.resources:
            raise ValidationError(f"the resource `{key[:_LONGEST_KEY]}` is not registered; call `resource` first")


def touch(attempt: Attempt, step: Identified, routed: Routed) -> None:
    """Has a start write which resources the step may change, and the answer say so."""
    effects = routed.effects
    if effects is None:
        return
    affected = _affected(step.kind, step.resources)
    touched = [_begun(row, step.step_id, affected) for row in _touched(attempt.resources, affected)]
    if not touched:
        return
    started = effects.steps[0].started or 0
    event = effects.events[started]
    said = {"resources": list(affected), "generations": {row.key: row.generation for row in touched}}
    effects.events = (
        *effects.events[:started],
        NewEvent(event.type, {**payload_of(event), **said}),
        *effects.events[started + 1 :],
    )
    effects.external = ResourceChanges(tuple(ResourceWrite(row, invalidated=started) for row in touched))
    # What is written later would come after a checkpoint that it invalidates.
    effects.held = False
    routed.answer.resources = _told(touched, affected)


def _begun(row: ResourceRow, step_id: str, affected: Sequence[str]) -> ResourceRow:
    """A resource that a step may change from now on."""
    others = tuple(writer for writer in row.writers if writer != step_id)
    writers = (*others, step_id) if row.key in affected else others
    return replace(row, generation=row.generation + 1, covered=False, writers=writers)


def told_again(attempt: Attempt, declared: Sequence[str], step: StepRow) -> tuple[StepResource, ...]:
    """What `touch` has told about a step that executes, and has `declared` these."""
    affected = _affected(step.kind, declared)
    return _told(_touched(attempt.resources, affected), affected)


def _affected(kind: Kind, declared: Sequence[str]) -> tuple[str, ...]:
    return () if kind is Kind.LLM else tuple(dict.fromkeys(declared))


def _touched(known: Known, affected: Sequence[str]) -> list[ResourceRow]:
    """What a step may change that declares the `affected`: those, and what is not known to stay as it is."""
    return [row for row in known.values() if row.key in affected or not row.coverage_reuse]


def _told(rows: Iterable[ResourceRow], affected: Sequence[str]) -> tuple[StepResource, ...]:
    return tuple(
        StepResource(
            row.key,
            row.generation,
            row.key in affected and row.every_steps > 0 and (row.count + 1) % row.every_steps == 0,
        )
        for row in rows
    )


def settled(known: Known, steps: Iterable[StepWrite], external: ResourceChanges | None) -> ResourceChanges | None:
    """`external` with what it changes about resources that these steps do not execute any more."""
    changed: dict[str, ResourceRow] = {}
    for write in steps:
        for row in known.values():
            if write.step.step_id in row.writers:
                new = _without(changed.get(row.key, row), write.step)
                if new is not row:
                    changed[row.key] = new
    if not changed:
        return external
    more = tuple(ResourceWrite(row) for row in changed.values())
    return ResourceChanges(more, () if external is None else external.checkpoints)


def after(known: Known, external: ResourceChanges) -> dict[str, ResourceRow]:
    """The resources once a change is written."""
    rows = {**known, **{write.row.key: write.row for write in external.resources}}
    for write in external.checkpoints:
        rows[write.row.key] = replace(rows[write.row.key], covered=True)
    return rows


def payload_of(event: NewEvent) -> dict[str, Any]:
    """The payload of an event that is not written yet."""
    payload: dict[str, Any] = identity.parse(event.payload) if isinstance(event.payload, str) else event.payload
    return payload
