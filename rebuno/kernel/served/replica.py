"""One replica of a served kernel: its parts, what it remembers of attempts, and what it does without being asked."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rebuno.errors import ForbiddenError
from rebuno.journal.records import ExecutionRow, Lease
from rebuno.journal.served import ServedStore
from rebuno.kernel.core.sealed import opened
from rebuno.kernel.lifecycle.sweep import Swept
from rebuno.kernel.served.attempt import ServedAttempt, check_owner
from rebuno.kernel.served.dispatcher import Dispatcher, Send, Settings
from rebuno.kernel.served.follow_up import FollowUp
from rebuno.kernel.served.observer import Observer
from rebuno.kernel.served.policies import Policies
from rebuno.kernel.served.readiness import Readiness
from rebuno.kernel.served.registry import Registry
from rebuno.kernel.served.streams import Streams
from rebuno.policy import Layer, Source

# How many attempts one replica knows at once.
MOST_ATTEMPTS: Final = 1000


@dataclass(frozen=True, slots=True)
class Dispatched:
    """Which delivery an agent acts under: the dispatch's id and its attempt, as the webhook told them."""

    id: str
    attempt: int

    @property
    def owner(self) -> str:
        """Whose the lease of an execution is that this delivery started."""
        return f"{self.id}/{self.attempt}"


class Replica:
    """What the three sides of `Serving` share."""

    def __init__(
        self,
        store: ServedStore,
        *,
        layers: Sequence[Source] = (),
        shadows: Sequence[Layer] = (),
        permissive: bool = False,
        settings: Settings | None = None,
        observer: Observer | None = None,
    ) -> None:
        """`layers` are bundles for all agents, the outermost first. An agent without a bundle of its own may do what
        the layers allow where `permissive`, else nothing. `shadows` are tried beside the policy of every agent. Raises
        `BundleError`."""
        self._store = store
        self._settings = settings or Settings()
        self._observer = observer or Observer()
        self._policies = Policies(store, layers, permits=permissive, shadows=shadows)
        self._registry = Registry(store, max_keys=self._settings.max_keys)
        self._streams = Streams(store)
        self._readiness = Readiness(store)
        self._follow_up = FollowUp(store, self._wake, self._observer)
        self._dispatcher = Dispatcher(
            store,
            self._policies,
            self._settings,
            observer=self._observer,
            ended=self._follow_up.ended,
        )
        # The attempts that this replica answered last, by execution and owner.
        self._attempts: OrderedDict[tuple[str, str], ServedAttempt] = OrderedDict()
        self._loading: dict[tuple[str, str], asyncio.Task[ServedAttempt]] = {}

    async def run(self, send: Send) -> None:
        """Delivers what is due, sweeps, and hands on what steps publish, until it is cancelled."""
        tasks = [
            asyncio.create_task(self._dispatcher.run(send)),
            asyncio.create_task(self._follow_up.keep(self._settings.sweep, self._settings.retention)),
            asyncio.create_task(self._streams.run()),
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def sweep(self, retention: float | None = None) -> Swept:
        """Does at once what is due in the store, as `run` does from time to time. `retention` is for how many seconds
        ended executions are kept; None: as the settings say."""
        return await self._follow_up.sweep(self._settings.retention if retention is None else retention)

    def _wake(self) -> None:
        self._dispatcher.wake()

    async def _own(self, agent_id: str, execution_id: str) -> ExecutionRow:
        execution = await self._store.execution(execution_id)
        _check_agent(execution, agent_id)
        return execution

    async def _attempt(self, agent_id: str, execution_id: str, dispatch: Dispatched) -> ServedAttempt:
        """The attempt of a delivery, under today's policy.

        Raises:
            NotFoundError, ForbiddenError, Terminated, LeaseSuperseded, BundleError, StoreError
        """
        key = (execution_id, dispatch.owner)
        attempt = self._attempts.get(key)
        if attempt is not None:
            _check_agent(attempt.execution, agent_id)
            if attempt.policy is await self._policies.of(attempt.execution):
                self._attempts.move_to_end(key)
                return attempt
        loading = self._loading.get(key)
        if loading is None:
            loading = self._loading[key] = asyncio.create_task(self._load(agent_id, key))
            loading.add_done_callback(lambda _: self._loading.pop(key, None))
        attempt = await asyncio.shield(loading)
        _check_agent(attempt.execution, agent_id)
        return attempt

    async def _load(self, agent_id: str, key: tuple[str, str]) -> ServedAttempt:
        execution = await self._own(agent_id, key[0])
        lease = Lease(execution.id, execution.attempt, key[1])
        check_owner(execution, lease)
        policy = await self._policies.of(execution)
        store = await opened(self._store, execution, policy)
        if execution.seal:
            execution = await store.execution(execution.id)
        attempt = await ServedAttempt.load(store, policy, execution, lease)
        attempt.asks_for = self._settings.approvals
        self._attempts[key] = attempt
        while len(self._attempts) > MOST_ATTEMPTS:
            self._attempts.popitem(last=False)
        return attempt

    def _forget(self, execution_id: str, dispatch: Dispatched) -> None:
        self._attempts.pop((execution_id, dispatch.owner), None)


def _check_agent(execution: ExecutionRow, agent_id: str) -> None:
    if execution.agent_id != agent_id:
        raise ForbiddenError(f"the execution `{execution.id}` is not one of `{agent_id}`")
