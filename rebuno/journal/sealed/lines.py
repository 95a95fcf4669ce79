"""What a sealed store tells of many rows at once: the short texts in it are opened as rows are."""

from collections.abc import Awaitable, Iterable
from dataclasses import replace
from typing import Any

from rebuno.errors import NotFoundError
from rebuno.journal.overview import SHORTEST, RunLine, StepLine
from rebuno.journal.records import ApprovalRow, EventRow, ExecutionRow
from rebuno.journal.sealed.log import opened_event
from rebuno.journal.sealed.rows import opened_approval, opened_step
from rebuno.journal.sealed.seal import Seal
from rebuno.journal.served import ServedStore


class SealedLines:
    """The part of `SealingStore` that stands in front of `Overview`. The beginning of a ciphertext does not open: the
    whole row is read for each line of a sealed execution."""

    inner: ServedStore

    async def execution(self, execution_id: str) -> ExecutionRow:
        """As `SealingStore`."""
        raise NotImplementedError

    async def _seal(self, execution_id: str, named: str | None = None) -> Seal:
        raise NotImplementedError

    async def run_lines(self, wanted: Any, **asked: Any) -> list[RunLine]:
        """As the inner store's."""
        return await self._runs(self.inner.run_lines(wanted, **asked))

    async def child_lines(self, execution_id: str, **asked: Any) -> list[RunLine]:
        """As the inner store's."""
        return await self._runs(self.inner.child_lines(execution_id, **asked))

    async def _runs(self, found: Awaitable[Iterable[RunLine]]) -> list[RunLine]:
        return [await self._run(line) for line in await found]

    async def _run(self, line: RunLine) -> RunLine:
        if not (await self._seal(line.id)).all:
            return line
        try:
            row = await self.execution(line.id)
        except NotFoundError:
            # It was removed in the meantime.
            return replace(line, input="null", failure_reason="")
        return replace(line, input=row.input[:SHORTEST], failure_reason=row.failure_reason[:SHORTEST])

    async def step_lines(self, execution_id: str, **asked: Any) -> list[StepLine]:
        """As the inner store's."""
        lines = await self.inner.step_lines(execution_id, **asked)
        seal = await self._seal(execution_id)
        return [await self._step_line(line, seal) for line in lines] if seal.all else lines

    async def _step_line(self, line: StepLine, seal: Seal) -> StepLine:
        try:
            row = opened_step(await self.inner.step(line.step_id), seal)
        except NotFoundError:
            return replace(line, args="null", error=None)
        return replace(line, args=row.args[:SHORTEST], error=None if row.error is None else row.error[:SHORTEST])

    async def attempt_events(self, execution_id: str, **asked: Any) -> list[EventRow]:
        """As the inner store's. Raises `SealBroken` where an event does not open."""
        found = await self.inner.attempt_events(execution_id, **asked)
        seal = await self._seal(execution_id)
        return [opened_event(one, seal) for one in found] if seal.all else found

    async def answers_before(self, bundle: str, rule_id: str, **asked: Any) -> list[ApprovalRow]:
        """As the inner store's."""
        made: list[ApprovalRow] = []
        for row in await self.inner.answers_before(bundle, rule_id, **asked):
            seal = await self._seal(row.execution_id)
            made.append(opened_approval(row, seal) if seal.all else row)
        return made
