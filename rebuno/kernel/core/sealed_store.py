"""The store as a sealed execution uses it: what it writes is written with marks, and what it reads is clear.

Everything that shows something reads the store itself, and finds marks.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rebuno.journal.data_keys import SealedText
from rebuno.journal.records import (
    ApprovalWrite,
    Batch,
    Commit,
    Copied,
    ExecutionRow,
    ExecutionWrite,
    NewEvent,
    StepRow,
    StepWrite,
)
from rebuno.journal.sealed.rows import root_text
from rebuno.journal.success_page import SuccessPage
from rebuno.journal.words import RootRow, TurnRow, TurnWrite
from rebuno.kernel.core.sealed_texts import (
    OF_EXECUTION,
    OF_ROOT,
    OF_STEP,
    PLACES,
    VALUES,
    opened_execution,
    opened_step,
    step_slot,
    value_of,
    value_slot,
)
from rebuno.kernel.core.seals import SealedValue, Seals, sealed_slots
from rebuno.model import identity
from rebuno.policy import SealedPlaces

if TYPE_CHECKING:
    from rebuno.journal.served import ServedStore


class SealedStore:
    """One sealed execution's view of a store: reads and writes of other executions, and all else, pass through.

    `plain` is the store itself, `seals` what is sealed.
    """

    def __init__(self, plain: "ServedStore", seals: Seals) -> None:
        self.plain = plain
        self.seals = seals
        self._id = seals.execution_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    # ------------------------------------------------------------ writing

    def write(self, batch: Batch) -> None:
        """As `Store.write`. The batch stays as it is: its writer goes on with what is clear."""
        if batch.execution_id != self._id:
            self.plain.write(batch)
            return
        sealed: list[tuple[str, str]] = []
        for write in batch.steps:
            # First, so that nothing beside it is written with what it seals.
            self.seals.result(write.step)
        steps = [self._step(write, sealed) for write in batch.steps]
        turns = tuple(self._turn(write, sealed) for write in batch.turns)
        row = None if batch.execution is None else self._row(batch.execution, sealed)
        told = _Spoken(
            self.seals,
            {write.step.step_id: (write.step, made.step) for write, made in zip(batch.steps, steps, strict=True)},
            {write.turn.number: (write.turn, made.turn) for write, made in zip(batch.turns, turns, strict=True)},
        )
        if batch.execution is not None and row is not None:
            told.output = batch.execution.output, row.output
        events = tuple(map(told.event, batch.events))
        asked = tuple(self._question(write, steps) for write in batch.approvals)
        values = self.seals.take()
        # Answered as the one that was given.
        inner = copy(batch)
        inner.events, inner.steps, inner.approvals = events, tuple(steps), asked
        inner.execution, inner.turns, inner.sealed = row, turns, self._encrypted(sealed, values)
        if values:
            inner.committed.tell(partial(self._committed, values))
        self.plain.write(inner)

    def _committed(self, values: list[SealedValue], committed: Commit) -> None:
        if committed.cancelled() or committed.exception() is not None:
            self.seals.give_back(values)

    async def create(self, execution: ExecutionRow, events: Sequence[NewEvent], copied: Copied | None = None) -> bool:
        """As `Store.create`."""
        given = copied or Copied()
        sealed: list[tuple[str, str]] = []
        places = identity.canonical(self.seals.places.to_json())
        row = replace(
            execution,
            input=self._kept("input", execution.input, self.seals.input(execution.input), sealed),
            output=None if execution.output is None else self._json("output", execution.output, sealed),
            state=None if execution.state is None else self._json("state", execution.state, sealed),
            failure_reason=self._text("failure_reason", execution.failure_reason, sealed),
        )
        steps = [self._step(StepWrite(step, 0, 0, 0), sealed).step for step in given.steps]
        turns = [replace(turn, text=self._text(f"turn:{turn.number}", turn.text, sealed)) for turn in given.turns]
        root = None if given.root is None else self.seals.root(given.root)
        for name in OF_ROOT if root is not None else ():
            clear = getattr(given.root, name)
            if clear is not None:
                self._kept(f"root:{name}", clear, getattr(root, name), sealed)
        told = _Spoken(
            self.seals,
            {step.step_id: (step, made) for step, made in zip(given.steps, steps, strict=True)},
            {turn.number: (turn, made) for turn, made in zip(given.turns, turns, strict=True)},
            (execution.input, row.input),
        )
        if given.root is not None and root is not None:
            told.root = given.root, root
        made = [told.event(event) for event in events]
        asked = tuple(
            replace(one, message=self.seals.text(one.message), rationale=self.seals.text(one.rationale))
            for one in given.approvals
        )
        inner = replace(
            given,
            steps=tuple(steps),
            approvals=asked,
            turns=tuple(turns),
            root=root,
            sealed=self._encrypted([*sealed, (PLACES, places)], self.seals.take()),
        )
        return await self.plain.create(row, made, inner)

    def _encrypted(self, sealed: Iterable[tuple[str, str]], values: Iterable[SealedValue]) -> tuple[SealedText, ...]:
        known = [value_slot(self.seals, one) for one in values]
        slots = [*sealed, *known]
        if not slots:
            return ()
        return tuple(SealedText(slot, self.seals.key.encrypt(text.encode(), slot)) for slot, text in slots)

    def _kept(self, slot: str, clear: str, written: str, sealed: list[tuple[str, str]]) -> str:
        if written != clear:
            sealed.append((slot, clear))
        return written

    def _json(self, slot: str, clear: str, sealed: list[tuple[str, str]]) -> str:
        return self._kept(slot, clear, self.seals.json(clear), sealed)

    def _text(self, slot: str, clear: str, sealed: list[tuple[str, str]]) -> str:
        return self._kept(slot, clear, self.seals.text(clear), sealed)

    def _step(self, write: StepWrite, sealed: list[tuple[str, str]]) -> StepWrite:
        if self.seals.quiet:
            return write
        written = self.seals.written(write.step)
        # Arguments do not change once they are written.
        sealed += sealed_slots(write.step, written, fresh=write.decided is not None)
        return StepWrite(written, write.decided, write.started, write.settled)

    def _turn(self, write: TurnWrite, sealed: list[tuple[str, str]]) -> TurnWrite:
        turn = write.turn
        return replace(write, turn=replace(turn, text=self._text(f"turn:{turn.number}", turn.text, sealed)))

    def _row(self, write: ExecutionWrite, sealed: list[tuple[str, str]]) -> ExecutionWrite:
        return replace(
            write,
            output=None if write.output is None else self._json("output", write.output, sealed),
            state=None if write.state is None else self._json("state", write.state, sealed),
            failure_reason=self._text("failure_reason", write.failure_reason, sealed),
        )

    def _question(self, write: ApprovalWrite, steps: Sequence[StepWrite]) -> ApprovalWrite:
        asked = write.approval
        if write.requested is None:
            return write
        args = next((one.step.args for one in steps if one.step.step_id == asked.step_id), "")
        message = self.seals.named(self.seals.text(asked.message), args)
        return replace(write, approval=replace(asked, message=message))

    # ------------------------------------------------------------ reading

    async def execution(self, execution_id: str) -> ExecutionRow:
        """As `Store.execution`."""
        row = await self.plain.execution(execution_id)
        return row if execution_id != self._id else await self.opened(row)

    async def opened(self, row: ExecutionRow) -> ExecutionRow:
        """The row of the execution with its texts clear."""
        return opened_execution(row, await self._texts(OF_EXECUTION))

    async def steps(
        self, execution_id: str, *, after: int = 0, limit: int = 1000, unread: bool = False
    ) -> list[StepRow]:
        """As `Store.steps`."""
        page = await self.plain.steps(execution_id, after=after, limit=limit, unread=unread)
        return page if execution_id != self._id else await self._clear(page)

    async def successes(self, execution_id: str, *, after: int, limit: int) -> SuccessPage | None:
        """None for the execution itself: what is in its texts must be opened."""
        if execution_id != self._id:
            return await self.plain.successes(execution_id, after=after, limit=limit)
        return None

    async def step(self, step_id: str) -> StepRow:
        """As `Store.step`."""
        step = await self.plain.step(step_id)
        return step if step.execution_id != self._id else (await self._clear([step]))[0]

    async def turns(self, execution_id: str) -> list[TurnRow]:
        """As `Store.turns`."""
        turns = await self.plain.turns(execution_id)
        if execution_id != self._id or not turns:
            return turns
        found = await self._texts([f"turn:{turn.number}" for turn in turns])
        return [replace(turn, text=found.get(f"turn:{turn.number}", turn.text)) for turn in turns]

    async def root(self, execution_id: str) -> RootRow | None:
        """As `Store.root`."""
        root = await self.plain.root(execution_id)
        if execution_id != self._id or root is None:
            return root
        found = await self._texts([f"root:{name}" for name in OF_ROOT])
        return replace(root, **{slot.partition(":")[2]: text for slot, text in found.items()})

    async def _clear(self, page: list[StepRow]) -> list[StepRow]:
        found = await self._texts([step_slot(step.step_id, name) for step in page for name in OF_STEP])
        return [opened_step(step, found) for step in page] if found else page

    async def _texts(self, slots: Sequence[str]) -> dict[str, Any]:
        """What is kept as ciphertext in these slots."""
        found = await self.plain.sealed_texts(self._id, slots)
        return {one.slot: self.seals.key.decrypt(one.text, one.slot).decode() for one in found}

    async def load(self) -> None:
        """Learns what is on record of the places and the values."""
        if (places := (await self._texts([PLACES])).get(PLACES)) is not None:
            self.seals.places |= SealedPlaces.from_json(identity.parse(places))
        found = await self.plain.sealed_beginning(self._id, VALUES)
        self.seals.learn(value_of(self.seals.key.decrypt(one.text, one.slot).decode()) for one in found)


@dataclass(slots=True)
class _Spoken:
    """What events speak of, as it is and as it is written."""

    seals: Seals
    steps: dict[str, tuple[StepRow, StepRow]]
    turns: dict[int, tuple[TurnRow, TurnRow]]
    input: tuple[str, str] | None = None
    output: tuple[str | None, str | None] = (None, None)
    root: tuple[RootRow, RootRow] | None = None

    def event(self, event: NewEvent) -> NewEvent:
        """An event as it is written: its hashes are keyed, and it holds those of what is written."""
        payload = identity.parse(event.payload) if isinstance(event.payload, str) else event.payload
        said = NewEvent(event.type, payload, event.occurred_at)
        step = self.steps.get(str(payload.get("step_id")))
        hashes: dict[str, str] = {}
        kept: dict[str, str | None] = {}
        if event.type == "execution.created" and self.input is not None:
            hashes, kept = self._created(*self.input)
        elif event.type == "execution.completed":
            hashes["output_hash"] = self.seals.digest(self.output[0] or "null")
            kept["output"] = self.output[1]
        elif event.type == "execution.said" and (turn := self.turns.get(payload.get("number", 0))) is not None:
            hashes["hash"] = self.seals.digest(identity.canonical(turn[0].text))
            kept["text"] = turn[1].text
        elif event.type == "approval.requested":
            return self._requested(said, "" if step is None else step[1].args)
        elif step is not None:
            clear, written = step
            if "args_hash" in payload:
                hashes["args_hash"], kept["args"] = clear.args_hash, written.args
            if "outcome_hash" in payload:
                hashes["outcome_hash"] = self.seals.digest(
                    (clear.result if clear.error is None else clear.error) or "null"
                )
                kept |= {"result": written.result, "error": written.error}
        return self.seals.event(said, hashes, kept, set() if step is None else self.seals.own(step[0]))

    def _created(self, clear: str, written: str) -> tuple[dict[str, str], dict[str, str | None]]:
        hashes = {"input_hash": self.seals.digest(clear)}
        kept: dict[str, str | None] = {"input": written}
        if self.root is not None:
            root, made = self.root
            hashes["root_input_hash"] = self.seals.digest(root.input)
            hashes["root_turns_hash"] = self.seals.digest(root.turns)
            hashes["read_hash"] = self.seals.digest(root.read_args or "null")
            kept["root"] = root_text(made)
        return hashes, kept

    def _requested(self, event: NewEvent, args: str) -> NewEvent:
        payload = event.payload
        assert isinstance(payload, dict)
        message = self.seals.named(self.seals.text(str(payload.get("message", ""))), args)
        return NewEvent(event.type, {**payload, "message": message}, event.occurred_at)
