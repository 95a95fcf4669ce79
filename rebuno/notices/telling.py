"""Tells each target of questions until it has taken every notice: at least once, one at a time."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import httpx2

from rebuno.errors import NotFoundError, RebunoError
from rebuno.journal.notices import NoticeRow, NoticeStage
from rebuno.journal.served import ServedStore
from rebuno.kernel import Operator
from rebuno.notices.config import Notices, NoticeTarget, read_notices
from rebuno.notices.message import compose
from rebuno.notices.ways import tell

logger: Final = logging.getLogger("rebuno")

# In seconds: how often targets look for something new, how long before now everything is taken for seen, the longest
# pause between two tries, after how long nobody tries any more, and how long a notice on its way has at the end.
_POLL: Final = 0.5
_MARGIN: Final = 600.0
_LONGEST_PAUSE: Final = 300.0
_GIVE_UP: Final = 7 * 24 * 3600.0
_GRACE: Final = 2.0
# How much longer than a try a process is the only one that tells a target.
_SPARE: Final = 5.0


@asynccontextmanager
async def telling(store: ServedStore, notices: Notices) -> AsyncIterator[None]:
    """Tells the targets while the context is open; what is on its way at the end has a moment to arrive."""
    closing = asyncio.Event()
    # No proxy and no credentials of the environment, as with deliveries.
    async with httpx2.AsyncClient(timeout=None, follow_redirects=False, trust_env=False) as http:
        told = [_TargetTeller(store, notices, target, http) for target in notices.targets]
        tasks = [asyncio.create_task(one.run(closing)) for one in told]
        try:
            yield
        finally:
            closing.set()
            await asyncio.wait(tasks, timeout=_GRACE)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def told_by(
    notify: str | Path | Notices, public_url: str
) -> Callable[[ServedStore], AbstractAsyncContextManager[None]]:
    """What tells the targets of a file of a store's questions; raises as `read_notices`, and `TypeError`."""
    if not isinstance(notify, str | Path | Notices):
        raise TypeError("`notify` is the path of a file of targets, or what `rebuno.notices.read_notices` made of one")
    notices = notify if isinstance(notify, Notices) else read_notices(notify, public_url)
    return lambda store: telling(store, notices)


class _TargetTeller:
    """One target. INVARIANT: only the process that leads it tells it, one notice at a time, and marks each before the
    next: a kill repeats one notice at most."""

    def __init__(self, store: ServedStore, notices: Notices, target: NoticeTarget, http: httpx2.AsyncClient) -> None:
        self._store = store
        self._operator = Operator(store)
        self._base = notices.public_url
        self._target = target
        self._http = http
        self._leads_until = 0.0

    async def run(self, closing: asyncio.Event) -> None:
        """Tells it until `closing` is set."""
        while not closing.is_set():
            busy = False
            try:
                busy = await self._leads() and await self._round()
            except RebunoError as error:
                logger.warning("notices to `%s` stopped for a moment: %s", self._target.name, error)
            except Exception:
                # INVARIANT: a fault here stops neither the kernel nor the next notice.
                logger.exception("notices to `%s` failed", self._target.name)
            if not busy:
                try:
                    await asyncio.wait_for(closing.wait(), _POLL)
                except TimeoutError:
                    continue

    async def _leads(self) -> bool:
        needed = self._target.timeout + _SPARE
        if self._leads_until - time.monotonic() < needed:
            since = time.monotonic()
            if not await self._store.lead(f"notices {self._target.name}", 2 * needed):
                return False
            self._leads_until = since + 2 * needed
        return True

    async def _round(self) -> bool:
        """Whether there was something to tell."""
        name, now = self._target.name, self._store.now()
        seen = await self._store.notices_seen(name)
        owed = await self._store.notices_owed(name)
        moved = None
        if seen is None:
            moved = now
        elif not owed and seen < now - 2 * _MARGIN:
            # Not until now: another process may still be writing what it stamped a moment ago.
            moved = now - _MARGIN
        if owed or moved is not None:
            await self._store.add_notices(name, owed, moved)
        due = await self._store.notice_due(name)
        if due is not None:
            await self._tell(due)
        return due is not None

    async def _tell(self, due: NoticeRow) -> None:
        try:
            sent = self._target.wants(due.stage) and await self._send(due)
        except NotFoundError:
            # Retention has removed the question.
            await self._settle(due, done=True)
        except RebunoError as error:
            await self._failed(due, error)
        else:
            await self._settle(replace(due, attempts=due.attempts + sent), done=True)

    async def _send(self, due: NoticeRow) -> bool:
        """Whether there was still something to tell."""
        asked = await self._operator.approval(due.approval_id)
        execution = await self._store.execution(asked.execution_id)
        agent, with_args = execution.agent_id, self._target.args
        if execution.seal and self._store.seals_whole(execution.id):
            # Nothing of what is encrypted leaves the store in the clear; the console shows it.
            asked.message, asked.rationale, with_args = "", "", False
        if due.stage in (NoticeStage.HALF, NoticeStage.NEARLY) and asked.status != "pending":
            return False
        target = self._target
        notice = compose(due, asked, agent, template=target.text, base=self._base, with_args=with_args)
        await tell(self._http, target, notice)
        return True

    async def _failed(self, due: NoticeRow, error: RebunoError) -> None:
        tried = replace(due, attempts=due.attempts + 1)
        logger.warning(
            "notice of question `%s` to `%s`: try %d failed: %s",
            due.approval_id,
            due.target,
            tried.attempts,
            error,
        )
        if over := self._store.now() - due.created_at > _GIVE_UP:
            logger.error("notice of question `%s` to `%s`: given up", due.approval_id, due.target)
        await self._settle(tried, done=over)

    async def _settle(self, row: NoticeRow, *, done: bool) -> None:
        now = self._store.now()
        pause = min(_LONGEST_PAUSE, self._target.pause * 2.0 ** min(row.attempts - 1, 20)) * random.uniform(0.8, 1.2)
        settled = replace(row, done_at=now) if done else replace(row, due_at=now + pause)
        await self._store.settle_notice(settled)
