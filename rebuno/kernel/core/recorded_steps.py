"""What the journal knows of an execution, read page by page ahead of its handler and forgotten behind it."""

import asyncio
import sys
from collections.abc import Iterable
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.journal.records import ApprovalRow, StepRow
from rebuno.journal.rows import is_sound
from rebuno.journal.store import Store
from rebuno.journal.success_page import Success, SuccessPage
from rebuno.kernel.core import edited, facts, step_facts
from rebuno.kernel.core.effects import Identified
from rebuno.kernel.core.read_ahead import PageAhead
from rebuno.model import identity
from rebuno.model.answer import CallKey
from rebuno.model.step import Idempotency, StepStatus
from rebuno.policy import Evidence, History, HistoryDependencies

# Steps read at once. Two pages stay in memory as they are, whatever the handler does; what else it has not come to yet
# is kept without its texts.
PAGE: Final = 500
# Steps read again at once, where the handler comes to one whose texts were not kept.
_AGAIN: Final = 50
# An attribute of an enum's class is looked up in Python, and this one for every step.
_SUCCEEDED: Final = StepStatus.SUCCEEDED

Content = tuple[str, str, str]


class RecordedSteps:
    """The steps and approvals of one execution, as far as they were read, and the evidence in them.

    `steps` holds those that the attempt may still need: a step that ended is left out once its handler has had it,
    unless an approval is about it. `visited` are those that the handler has come to, `unvisited` those recorded before
    this attempt that it has not come to, in their order; `expected` finds the successes among them by what they did.

    Pages of nothing but successes are not read so far at first: as long as the handler comes to those in them, `ahead`
    holds what a replay needs of them. They are read again where anything else is asked about them, and count as not
    read until then.

    INVARIANT: pages come in the order of decisions, and evidence is handed to `history` only up to the newest decision
    read, so that its numbers never fall although an early step may end late.
    """

    def __init__(
        self,
        store: Store,
        execution_id: str,
        attempt: int,
        approvals: Iterable[ApprovalRow],
        looks_back: HistoryDependencies,
        *,
        base: int,
        digest: str,
        visited: set[str],
        weight: int = 0,
    ) -> None:
        """`attempt` is the number of the one that runs, `base` that of the newest event before it, `digest` that of
        today's policy, `weight` how many characters policies look at besides steps."""
        self.steps: dict[str, StepRow] = {}
        self.approvals = {approval.id: approval for approval in approvals}
        self.history = History()
        self.visited = visited
        self.unvisited: dict[str, CallKey | None] = {}
        self._expected: dict[CallKey, list[StepRow]] = {}
        # The pages that the handler goes through, two at most: what comes after them is not read.
        self.ahead: list[PageAhead] = []
        # The tokens that all steps read so far are known to have used.
        self.tokens = 0
        # Characters that policies may look at: the input, arguments and results as JSON.
        self.weight = weight
        # How many wait for a step that is not in memory.
        self.sought = 0
        # What at_most_once steps did that started, and of which nobody knows how it ended.
        self.unknown: set[Content] = set()
        self._store = store
        self._execution_id = execution_id
        self._attempt = attempt
        self._base = base
        self._digest = digest
        self._looks_back = looks_back
        self._asked = {approval.step_id for approval in self.approvals.values()}
        self._later: list[Evidence] = []
        self._after = 0
        # How many ended steps are kept with their texts.
        self._whole = 0
        self._next: asyncio.Task[list[StepRow] | SuccessPage] | None = None
        # Whether the last page has been read, perhaps as one of those `ahead`.
        self.at_end = False
        # How many pages have come.
        self._pages = 0
        # Whether pages may be read so far only. What a policy looks back on is always read.
        self._briefly = not looks_back
        self._again: dict[str, StepRow] = {}
        self._reading = asyncio.Lock()

    def unsettled(self) -> list[StepRow]:
        """The steps that have no end yet."""
        return [step for step in self.steps.values() if not step.status.terminal]

    def unknown_twin(self, step: Identified) -> bool:
        """Whether an `at_most_once` step of this very content started once and nobody knows how it ended."""
        return (step.kind, step.target, step.args_hash) in self.unknown

    # ------------------------------------------------------------ reading

    @property
    def complete(self) -> bool:
        """Whether all has been read."""
        return self.at_end and not self.ahead

    def begin(self) -> None:
        """The execution is new: there is nothing to read."""
        self.at_end = True

    async def find(self, step_id: str) -> StepRow | None:
        """The step with this id, with its texts; None where the journal does not know it."""
        self.sought += 1
        try:
            while (step := self.steps.get(step_id)) is None:
                if self.complete:
                    return None
                ahead = next((ahead for ahead in self.ahead if ahead.holds(step_id)), None)
                await (self.more() if ahead is None else self._bring(step_id, ahead))
            if not step.args:
                step = await self._read_again(step)
                self._whole += step_id in self.unvisited
            elif not is_sound(step):
                # Its texts were read without a look; the store says what is wrong with the row.
                step = await self._one(step_id)
            self.steps[step_id] = step
            return step
        finally:
            self.sought -= 1

    async def all(self) -> None:
        """Reads whatever was not read yet."""
        self._briefly = False
        while self._pass_over():
            pass
        while not self.complete:
            await self.more()

    async def more(self) -> None:
        """Reads the next page, and has the one after it read meanwhile."""
        pages = self._pages
        async with self._reading:
            if self.complete or self._pages != pages:
                return
            if self.ahead and (self.at_end or not self._briefly or len(self.ahead) > 1):
                self._read_anew()
            # Shielded: what is read meanwhile is not for this caller alone, who may be cancelled.
            page = await (asyncio.shield(self._next) if self._next is not None else self._page(self._after))
            if self.ahead and isinstance(page, list):
                self._read_anew()
                page = await self._page(self._after)
            self._go_on(page)

    def _read_anew(self) -> None:
        """The handler goes another way than through what is ahead."""
        self._briefly = self.at_end = False
        self._after = self.ahead[0].since
        self.ahead.clear()
        self.stop()
        self._next = None

    def _go_on(self, page: list[StepRow] | SuccessPage) -> None:
        self._next = None
        self._pages += 1
        if isinstance(page, list):
            self._take(page)
        else:
            self.ahead.append(PageAhead(page, self._after))
            self._after = page.last
            self.at_end = len(page.rows) < PAGE
        if not self.at_end:
            self._next = asyncio.create_task(self._page(self._after))

    def stop(self) -> None:
        """Reads nothing more."""
        if self._next is not None:
            self._next.cancel()

    async def _page(self, after: int) -> list[StepRow] | SuccessPage:
        if self._briefly:
            page = await self._store.successes(self._execution_id, after=after, limit=PAGE)
            if page is not None and self._fits(page):
                return page
        # What policies look back on is parsed at once; of the rest a replay takes one text, which it parses itself.
        return await self._rows(after, PAGE, unread=not self._looks_back)

    async def _rows(self, after: int, limit: int, *, unread: bool = False) -> list[StepRow]:
        """A page of steps, with what policies ask about them."""
        page = await self._store.steps(self._execution_id, after=after, limit=limit, unread=unread)
        if self._looks_back.needed:
            await step_facts.look_up(self._store, self._execution_id, page, self._looks_back.needed)
        if self._asked:
            edited.attach(page, self.approvals)
        return page

    async def _one(self, step_id: str) -> StepRow:
        step = await self._store.step(step_id)
        if self._looks_back.needed:
            await step_facts.look_up(self._store, self._execution_id, [step], self._looks_back.needed)
        if self._asked:
            edited.attach((step,), self.approvals)
        return step

    def _fits(self, page: SuccessPage) -> bool:
        """Whether the recorded verdicts stand, and nobody has been to the steps in this attempt or was asked about
        them."""
        ids = {success[0] for success in page.rows} if self._asked else ()
        return page.digest == self._digest and page.last <= self._base and self._asked.isdisjoint(ids)

    async def _bring(self, step_id: str, ahead: PageAhead) -> None:
        """Reads one of the steps ahead so that it is known like any other."""
        step = await self._one(step_id)
        if ahead in self.ahead and step_id not in self.steps:
            ahead.take(step_id)
            self._leave_pages()
            self.steps[step_id] = step
            self.unvisited[step_id] = None
            self._whole += 1

    async def _read_again(self, step: StepRow) -> StepRow:
        if step.step_id not in self._again:
            page = await self._rows(step.decided_seq - 1, _AGAIN)
            self._again = {again.step_id: again for again in page}
        return self._again.pop(step.step_id)

    def _take(self, page: list[StepRow]) -> None:
        for step in page:
            self._take_step(step)
        if page:
            self._after = page[-1].decided_seq
        self.at_end = len(page) < PAGE
        self._later.sort(key=_seq)
        ready = len(self._later) if self.at_end else sum(e.seq <= self._after for e in self._later)
        for evidence in self._later[:ready]:
            self.history.append(evidence)
        del self._later[:ready]

    def _take_step(self, step: StepRow) -> None:
        step_id = step.step_id
        self.weight += len(step.args) + len(step.result or "")
        if step.input_tokens or step.output_tokens:
            self.tokens += (step.input_tokens or 0) + (step.output_tokens or 0)
        if self._looks_back and self._looks_back.about(step.kind, step.target):
            granted = self.grants_of(step_id)
            self._later += facts.of_step(step, granted)
            self._later += facts.of_approvals(step, granted)
        ended = step.status is _SUCCEEDED
        if not ended:
            self.note(step)
            ended = step.status.terminal
        self.steps[step_id] = step
        if step.decided_seq > self._base or step_id in self.visited:
            if ended:
                self._forget(step)
            return
        call_key: CallKey | None = None
        if ended and self._whole >= 2 * PAGE:
            self.steps[step_id] = _bare(step)
        elif ended:
            self._whole += 1
            if step.status is _SUCCEEDED:
                call_key = (step.parent_id, step.kind, step.target, step.args)
                if call_key in self._expected:
                    self._expected[call_key].append(step)
                else:
                    self._expected[call_key] = [step]
        self.unvisited[step_id] = call_key

    def take_next(self, call_key: CallKey) -> tuple[Any] | None:
        """What the result of the success reads as that the handler comes to now, if it comes to them in their order and
        said this the first time: then it has come to it. Else None."""
        # What comes may be a page of other steps, and then nothing is ahead.
        while self.ahead or (self._come() and self.ahead):
            ahead = self.ahead[0]
            success = ahead.head
            if success is not None and success[1] == call_key:
                # Where somebody waits for a step, it may be this very one.
                if success[2] != "0" or self.sought:
                    return None
                try:
                    value = identity.reread(success[3])
                except ValidationError:
                    return None
                self.visited.add(success[0])
                ahead.take_head()
                if ahead.head is None:
                    self._leave_pages()
                return (value,)
            if not self._pass_over():
                return None
        return None

    def _pass_over(self) -> bool:
        """Leaves the first step ahead behind if nobody can come to it: it was submitted in a body that has ended."""
        parent_id = self.ahead[0].head[1][0] if self.ahead and self.ahead[0].head is not None else ""
        if not parent_id or parent_id not in self.visited or parent_id in self.steps:
            return False
        self.ahead[0].take_head()
        self._leave_pages()
        return True

    def success(self, call_key: CallKey, number: str) -> Success | None:
        """The success ahead that this was said of, with this number; None where none is."""
        for ahead in self.ahead:
            if (success := ahead.find(call_key, number)) is not None:
                return success
        if len(self.ahead) == 1 and self._come():
            return self.success(call_key, number)
        return None

    def take(self, success: Success) -> None:
        """The handler has come to a success ahead."""
        self.visited.add(success[0])
        ahead = self.ahead[0]
        if ahead.head is success:
            ahead.take_head()
        else:
            next(ahead for ahead in self.ahead if ahead.find(success[1], success[2]) is success).take(success[0])
        if ahead.head is None:
            self._leave_pages()

    def _leave_pages(self) -> None:
        while self.ahead and self.ahead[0].head is None:
            self.tokens += self.ahead.pop(0).page.tokens

    def expected(self, call_key: CallKey) -> StepRow | None:
        """The first of the successes that this was said of and that the handler has not come to; None where none has
        been read."""
        steps = self._expected.get(call_key)
        if steps is None and not self.ahead and self._come():
            steps = self._expected.get(call_key)
        return steps[0] if steps else None

    def _come(self) -> bool:
        """Takes the next page, if it has been read meanwhile and nobody waits for it."""
        if self._next is None or not self._next.done() or self._reading.locked():
            return False
        # The handler has a page to go through yet. A store is quicker than a handler: else all would be in memory.
        if self._whole > PAGE:
            return False
        if self._next.cancelled() or self._next.exception():
            return False
        page = self._next.result()
        if self.ahead and isinstance(page, list):
            return False
        self._go_on(page)
        return True

    # ------------------------------------------------------------ keeping up

    def note(self, step: StepRow) -> None:
        """Learns from a step whether it leaves something unknown."""
        if step.idempotency is Idempotency.ONCE and self._leaves_unknown(step):
            self.unknown.add((step.kind, step.target, step.args_hash))
            if step.ran_args:
                self.unknown.add((step.kind, step.target, identity.args_hash(step.ran_args)))

    def _leaves_unknown(self, step: StepRow) -> bool:
        match step.status:
            case StepStatus.CANCELLED:
                return True
            case StepStatus.EXECUTING:
                # What an earlier attempt started and nobody settled is as unknown as what has been settled as such.
                return step.attempt < self._attempt
            case StepStatus.FAILED:
                error = identity.parse(step.error or "null")
                reason = error.get("reason") if isinstance(error, dict) else None
                return reason in ("indeterminate", "policy_revoked", "cancelled")
            case _:
                return False

    def put(self, step: StepRow) -> None:
        """Takes in a step as this attempt has changed it."""
        self.note(step)
        self.steps[step.step_id] = step
        if step.status.terminal:
            self.tokens += (step.input_tokens or 0) + (step.output_tokens or 0)
            self.unvisited.pop(step.step_id, None)
            self._forget(step)

    def grants_of(self, step_id: str) -> list[ApprovalRow]:
        """The grants of people who were asked about a step before it ran."""
        if step_id not in self._asked:
            return []
        return facts.grants(a for a in self.approvals.values() if a.step_id == step_id).get(step_id, [])

    def put_approval(self, question: ApprovalRow) -> None:
        """Takes in an approval as this attempt has changed it."""
        self.approvals[question.id] = question
        self._asked.add(question.step_id)

    def visit(self, step_id: str) -> None:
        """The handler has come to a recorded step."""
        if step_id not in self.unvisited:
            self.visited.add(step_id)
            return
        call_key, step = self.unvisited[step_id], self.steps.get(step_id)
        if call_key is not None and step is not None:
            self.take_expected(call_key, step)
            return
        self.visited.add(step_id)
        del self.unvisited[step_id]
        if step is not None and step.status.terminal:
            self._whole -= bool(step.args)
            self._forget(step)

    def take_expected(self, call_key: CallKey, step: StepRow) -> None:
        """The handler has come to what was `expected`."""
        step_id = step.step_id
        self.visited.add(step_id)
        del self.unvisited[step_id]
        steps = self._expected[call_key]
        if len(steps) == 1:
            del self._expected[call_key]
        else:
            steps.remove(step)
        self._whole -= 1
        if self._asked:
            self._forget(step)
        else:
            del self.steps[step_id]

    def forget(self) -> None:
        """Lets go of all steps, after the end."""
        self.stop()
        for kept in (self.steps, self.visited, self.unvisited, self.ahead, self._expected, self._again):
            kept.clear()

    def _forget(self, step: StepRow) -> None:
        if step.step_id in self._asked:
            self.steps[step.step_id] = _bare(step)
        else:
            self.steps.pop(step.step_id, None)


def _bare(step: StepRow) -> StepRow:
    """The step without its texts, and with one copy of what many steps share."""
    return StepRow(
        step.step_id,
        step.execution_id,
        step.parent_id,
        step.kind,
        sys.intern(step.target),
        "",
        step.args_hash,
        step.occurrence,
        step.idempotency,
        step.status,
        step.verdict,
        sys.intern(step.rule_id),
        sys.intern(step.bundle),
        sys.intern(step.digest),
        sys.intern(str(step.reason)),
        attempt=step.attempt,
        approval_id=step.approval_id,
        decided_seq=step.decided_seq,
        started_seq=step.started_seq,
        outcome_seq=step.outcome_seq,
        decided_at=step.decided_at,
        definition=step.definition,
    )


def _seq(evidence: Evidence) -> int:
    return evidence.seq
