"""Which policy an agent is judged by: the layers of the server and its own bundle, compiled once a version."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Final

from rebuno.errors import BundleError
from rebuno.journal.records import ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.kernel.core.sealed import check_ring
from rebuno.kernel.served.joined import JoinedReads
from rebuno.policy import (
    Layer,
    Policy,
    Source,
    compile_policy,
    compile_text,
    permissive_policy,
    restore_policy,
    without_key_ring,
)

# For how long a bundle may be judged by after it was changed, in seconds.
FRESH: Final = 1.0
_YAML: Final = re.compile(r"^(\{|rules\s*:|['\"]rules['\"]\s*:)", re.MULTILINE)
# Pinned policies are few.
_MOST_PINNED: Final = 100
_NOTHING: Final = 'bundle no_bundle\ndefault deny because "the agent has no bundle"\n'


@dataclass(frozen=True, slots=True)
class _Held:
    text: str | None
    policy: Policy
    read_at: float


class Policies:
    """The policies of one replica's agents."""

    def __init__(
        self, store: ServedStore, layers: Sequence[Source], *, permits: bool, shadows: Sequence[Layer] = ()
    ) -> None:
        """`shadows` are tried beside the policy of every agent. Raises `BundleError` where the layers make no
        policy."""
        self._store = store
        self._shadows = tuple(shadows)
        self._layers = tuple(layers)
        self._permits = permits
        self._held: dict[str, _Held] = {}
        self._pinned: dict[str, Policy] = {}
        self._without = self._none().with_shadows(self._shadows)
        check_ring(self._without, store)
        # How many bundles were changed here: what was read before one may be of before it.
        self._changes = 0
        # One is compiled at a time.
        self._turn = asyncio.Lock()
        self._reads: JoinedReads[Policy] = JoinedReads()

    def _none(self) -> Policy:
        if self._layers and self._permits:
            return compile_policy(self._layers)
        if self._permits:
            return permissive_policy()
        nothing = compile_text(_NOTHING)
        return compile_policy([*self._layers, *nothing.sources]) if self._layers else nothing

    async def compiled(self, text: str) -> Policy:
        """The policy of an agent's bundle, `.rbp` or YAML, in the layers. Raises `BundleError` with all that is
        wrong."""
        async with self._turn:
            return await self._compiled(text)

    async def _compiled(self, text: str) -> Policy:
        path = "bundle.yaml" if _YAML.search(text) else "bundle.rbp"
        # A large bundle takes seconds, in which heartbeats and everybody else are answered.
        policy = await asyncio.to_thread(compile_policy, [*self._layers, Source(text, path, "bundle")])
        if self._store.ring is None and (found := without_key_ring(policy)):
            raise BundleError(found)
        return policy.with_shadows(self._shadows)

    async def of(self, execution: ExecutionRow) -> Policy:
        """The policy that an execution is judged by today. Raises `BundleError` where there is none."""
        if not execution.pinned:
            return await self.today(execution.agent_id)
        policy = self._pinned.get(execution.digest)
        if policy is None:
            policy = restore_policy(execution.digest, await self._store.bundle(execution.digest) or ())
            policy = policy.with_shadows(self._shadows)
            if len(self._pinned) >= _MOST_PINNED:
                self._pinned.clear()
            self._pinned[execution.digest] = policy
        return policy

    async def today(self, agent_id: str) -> Policy:
        """The policy of an agent, as it was `FRESH` seconds ago at most. Raises `BundleError` where there is none."""
        held = self._held.get(agent_id)
        now = monotonic()
        if held is not None and now - held.read_at < FRESH:
            return held.policy
        return await self._reads.join(agent_id, partial(self._read, agent_id))

    async def _read(self, agent_id: str) -> Policy:
        held, now = self._held.get(agent_id), monotonic()
        changes = self._changes
        row = await self._store.policy(agent_id)
        text = row.text if row is not None else None
        if held is None or held.text != text:
            async with self._turn:
                # Others may have waited for the same.
                held = self._held.get(agent_id)
                if held is not None and held.text == text:
                    policy = held.policy
                else:
                    policy = self._without if text is None else await self._compiled(text)
                    await self.keep(policy)
        else:
            policy = held.policy
        if changes == self._changes:
            self._held[agent_id] = _Held(text, policy, now)
        return policy

    async def keep(self, policy: Policy) -> None:
        """Keeps the sources of a policy, and of what is tried beside it, under their digests."""
        for one in (policy, *policy.shadows):
            await self._store.save_bundle(one.digest, [(source.path, source.text) for source in one.sources])

    def forget(self, agent_id: str) -> None:
        """The bundle of an agent has changed."""
        self._changes += 1
        self._held.pop(agent_id, None)
        self._reads.forget()

    def took(self, agent_id: str, text: str, policy: Policy) -> None:
        """The bundle of an agent has changed to this one."""
        self.forget(agent_id)
        self._held[agent_id] = _Held(text, policy, monotonic())
