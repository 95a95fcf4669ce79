"""Which fields of the rows are sealed. A step's kind and target, verdicts, times, ids and names stay in the clear."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from rebuno.journal.records import (
    ApprovalRow,
    ApprovalWrite,
    Batch,
    Copied,
    ExecutionRow,
    ExecutionWrite,
    NewEvent,
    StepRow,
    StepWrite,
)
from rebuno.journal.resource_records import CheckpointRow, ResourceChanges, ResourceRow, ResourceRows
from rebuno.journal.sealed.log import sealed_event
from rebuno.journal.sealed.seal import WORDS, Seal, kept_hash
from rebuno.journal.words import RootRow, TurnRow, TurnWrite
from rebuno.model import identity

Kept = dict[int, dict[str, str]]
_REASON = "reason"


def sealed_batch(batch: Batch, seal: Seal) -> Batch:
    """A batch as the store holds it; it is answered as the one that was given. Raises as `Seal.opened_key`."""
    made = copy(batch)
    kept: Kept = {}
    made.steps = tuple(_step_write(write, seal, kept) for write in batch.steps)
    made.approvals = tuple(ApprovalWrite(_approval(w.approval, seal), w.requested, w.resolved) for w in batch.approvals)
    made.turns = tuple(TurnWrite(_turn(write.turn, seal, kept, write.said), write.said) for write in batch.turns)
    if batch.external is not None:
        made.external = _resource_changes(batch.external, seal)
    if batch.execution is not None:
        made.execution = _execution_write(batch.execution, seal, kept, len(batch.events) - 1)
    made.events = sealed_events(batch.events, seal, kept)
    return made


def sealed_events(events: Sequence[NewEvent], seal: Seal, kept: Kept) -> tuple[NewEvent, ...]:
    """The events as the store holds them; `kept` are the hashes that each is to say, by its place."""
    return tuple(sealed_event(event, seal, kept.get(place, {})) for place, event in enumerate(events))


def sealed_start(
    execution: ExecutionRow, events: Sequence[NewEvent], copied: Copied, seal: Seal
) -> tuple[ExecutionRow, tuple[NewEvent, ...], Copied]:
    """A new execution with its first events and rows as the store holds them. Raises as `Seal.opened_key`."""
    kept: Kept = {}
    row = replace(
        execution,
        input=_noted(seal.json(execution.input, "input"), kept, 0, "input"),
        output=seal.maybe(execution.output, "output"),
        state=seal.maybe(execution.state, "state"),
        failure_reason=seal.text(execution.failure_reason, "failure_reason"),
    )
    steps = tuple(_step(step, seal, kept, step.decided_seq - 1, step.outcome_seq - 1) for step in copied.steps)
    approvals = tuple(_approval(approval, seal) for approval in copied.approvals)
    turns = tuple(_turn(turn, seal, kept, turn.event_seq - 1) for turn in copied.turns)
    root = None if copied.root is None else _root(copied.root, seal, kept)
    if copied.external is not None:
        rows = copied.external
        resources = tuple(_resource(one, seal) for one in rows.resources)
        checkpoints = tuple(_checkpoint(one, seal) for one in rows.checkpoints)
        copied = replace(copied, external=ResourceRows(resources, checkpoints))
    made = replace(copied, steps=steps, approvals=approvals, turns=turns, root=root, data_key=seal.row)
    return row, sealed_events(events, seal, kept), made


def root_text(root: RootRow) -> str:
    """What the hash of the row of a root is made of."""
    return identity.canonical([root.input, root.turns, root.read_args])


def _noted(stored: str, kept: Kept, place: int, name: str) -> str:
    if place >= 0:
        kept.setdefault(place, {})[name] = kept_hash(stored)
    return stored


def _step_write(write: StepWrite, seal: Seal, kept: Kept) -> StepWrite:
    decided = -1 if write.decided is None else write.decided
    settled = -1 if write.settled is None else write.settled
    return StepWrite(_step(write.step, seal, kept, decided, settled), write.decided, write.started, write.settled)


def _step(step: StepRow, seal: Seal, kept: Kept, decided: int, settled: int) -> StepRow:
    made = copy(step)
    made.args = _noted(seal.json(step.args, f"step:{step.step_id}:args"), kept, decided, "args")
    if step.result is not None:
        made.result = _noted(seal.json(step.result, f"step:{step.step_id}:result"), kept, settled, "result")
    if step.error is not None:
        made.error = step.error
        if not _says_a_word(step.error):
            made.error = seal.json(step.error, f"step:{step.step_id}:error")
        _noted(made.error, kept, settled, "error")
    made.reason = seal.text(step.reason, f"step:{step.step_id}:reason")
    return made


def _says_a_word(error: str) -> bool:
    """Whether an error is the kernel's own and holds nothing else."""
    if len(error) > 200:
        return False
    said = identity.parse(error)
    return isinstance(said, dict) and set(said) <= {_REASON, "rule_id"} and said.get(_REASON) in WORDS


def _approval(approval: ApprovalRow, seal: Seal) -> ApprovalRow:
    place = f"approval:{approval.id}"
    votes = tuple(
        replace(vote, rationale=seal.text(vote.rationale, f"{place}:vote:{vote.decided_by}")) for vote in approval.votes
    )
    message, rationale = seal.text(approval.message, f"{place}:message"), seal.text(approval.rationale, f"{place}:why")
    edited = seal.text(approval.edited, f"{place}:edited")
    return replace(approval, message=message, rationale=rationale, votes=votes, edited=edited)


def _turn(turn: TurnRow, seal: Seal, kept: Kept, said: int) -> TurnRow:
    # As JSON: what a person says is sealed also where it is one of the kernel's words.
    return replace(turn, text=_noted(seal.json(turn.text, f"turn:{turn.number}"), kept, said, "text"))


def _root(root: RootRow, seal: Seal, kept: Kept) -> RootRow:
    made = replace(
        root,
        input=seal.json(root.input, "root:input"),
        turns=seal.json(root.turns, "root:turns"),
        read_args=seal.maybe(root.read_args, "root:read_args"),
    )
    _noted(root_text(made), kept, 0, "root")
    return made


def _resource_changes(changes: ResourceChanges, seal: Seal) -> ResourceChanges:
    return ResourceChanges(
        tuple(replace(write, row=_resource(write.row, seal)) for write in changes.resources),
        tuple(replace(write, row=_checkpoint(write.row, seal)) for write in changes.checkpoints),
    )


def _resource(row: ResourceRow, seal: Seal) -> ResourceRow:
    place = f"resource:{row.key}"
    return replace(
        row,
        configuration=seal.json(row.configuration, f"{place}:configuration"),
        binding=seal.maybe(row.binding, f"{place}:binding"),
        checkpoint_ref=seal.text(row.checkpoint_ref, f"{place}:checkpoint_ref"),
    )


def _checkpoint(row: CheckpointRow, seal: Seal) -> CheckpointRow:
    return replace(row, checkpoint_ref=seal.text(row.checkpoint_ref, f"checkpoint:{row.key}"))


def _execution_write(write: ExecutionWrite, seal: Seal, kept: Kept, last: int) -> ExecutionWrite:
    output, state = seal.maybe(write.output, "output"), seal.maybe(write.state, "state")
    for name, stored in (("output", output), ("state", state)):
        if stored is not None:
            _noted(stored, kept, last, name)
    return replace(write, output=output, state=state, failure_reason=seal.text(write.failure_reason, "failure_reason"))


# ---------------------------------------------------------------- out of the store


def opened_execution(row: ExecutionRow, seal: Seal) -> ExecutionRow:
    """An execution's row with what it says, placeholders where it cannot be opened."""
    return replace(
        row,
        input=seal.shown_json(row.input, "input"),
        output=seal.shown_maybe(row.output, "output"),
        state=seal.shown_maybe(row.state, "state"),
        failure_reason=seal.shown_text(row.failure_reason, "failure_reason"),
    )


def opened_step(row: StepRow, seal: Seal) -> StepRow:
    """The same of a step."""
    made = copy(row)
    made.args = seal.shown_json(row.args, f"step:{row.step_id}:args")
    made.result = seal.shown_maybe(row.result, f"step:{row.step_id}:result")
    if row.error is not None and not _says_a_word(row.error):
        made.error = seal.shown_json(row.error, f"step:{row.step_id}:error")
    made.reason = seal.shown_text(row.reason, f"step:{row.step_id}:reason")
    return made


def opened_approval(row: ApprovalRow, seal: Seal) -> ApprovalRow:
    """The same of a question."""
    place = f"approval:{row.id}"
    votes = tuple(
        replace(vote, rationale=seal.shown_text(vote.rationale, f"{place}:vote:{vote.decided_by}"))
        for vote in row.votes
    )
    message, why = seal.shown_text(row.message, f"{place}:message"), seal.shown_text(row.rationale, f"{place}:why")
    edited = seal.shown_text(row.edited, f"{place}:edited")
    return replace(row, message=message, rationale=why, votes=votes, edited=edited)


def opened_turn(row: TurnRow, seal: Seal) -> TurnRow:
    """The same of what the user wrote."""
    return replace(row, text=seal.shown_json(row.text, f"turn:{row.number}"))


def opened_root(row: RootRow, seal: Seal) -> RootRow:
    """The same of what the user wrote to the root."""
    return replace(
        row,
        input=seal.shown_json(row.input, "root:input"),
        turns=seal.shown_json(row.turns, "root:turns"),
        read_args=seal.shown_maybe(row.read_args, "root:read_args"),
    )


def opened_resource(row: ResourceRow, seal: Seal) -> ResourceRow:
    """The same of a resource."""
    place = f"resource:{row.key}"
    return replace(
        row,
        configuration=seal.shown_json(row.configuration, f"{place}:configuration"),
        binding=seal.shown_maybe(row.binding, f"{place}:binding"),
        checkpoint_ref=seal.shown_text(row.checkpoint_ref, f"{place}:checkpoint_ref"),
    )


def opened_checkpoint(row: CheckpointRow, seal: Seal) -> CheckpointRow:
    """The same of a checkpoint."""
    return replace(row, checkpoint_ref=seal.shown_text(row.checkpoint_ref, f"checkpoint:{row.key}"))
