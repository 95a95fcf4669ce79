"""Agents and API keys as one replica knows them: read from the store, and kept for a moment."""

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import Final, Generic, TypeVar

import uuid_utils

from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.journal.records import BOUND, OF_BOUND, AgentRow, ApiKeyRow
from rebuno.journal.served import ServedStore
from rebuno.kernel.core.names import check_name, check_person
from rebuno.kernel.served.joined import JoinedReads

T = TypeVar("T")

# For how long what was read is believed, in seconds.
FRESH: Final = 1.0
SHORTEST_LEASE: Final = 10.0
# Keys that are not revoked.
MOST_KEYS: Final = 10_000
# What an agent says of itself in a header, and others in a path.
_ID: Final = re.compile(r"[A-Za-z0-9](?:[!-.0-~ ]*[!-.0-~])?", re.ASCII)
_LONGEST_LEASE: Final = 86_400.0
_MOST_KEPT: Final = 10_000


class Cached(Generic[T]):
    """What was read a moment ago."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[T | None, float]] = {}
        self._reads: JoinedReads[T | None] = JoinedReads()
        self._changes = 0

    def get(self, key: object) -> tuple[T | None] | None:
        """The value in a tuple, or None where it must be read."""
        found = self._kept.get(key)
        return (found[0],) if found is not None and monotonic() - found[1] < FRESH else None

    def put(self, key: object, value: T | None) -> T | None:
        """Keeps a value that was just read."""
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[key] = (value, monotonic())
        return value

    async def read(self, key: object, read: Callable[[], Awaitable[T | None]]) -> T | None:
        """What `read` gives, which is kept then."""
        return await self._reads.join(key, partial(self._read, key, read))

    async def _read(self, key: object, read: Callable[[], Awaitable[T | None]]) -> T | None:
        changes = self._changes
        value = await read()
        # Where something has changed meanwhile, it may be of before that.
        return self.put(key, value) if changes == self._changes else value

    def forget(self) -> None:
        """Something has changed."""
        self._changes += 1
        self._kept.clear()
        self._reads.forget()


class Registry:
    """Agents and API keys. Every method may raise a `StoreError`."""

    def __init__(self, store: ServedStore, *, max_keys: int = MOST_KEYS) -> None:
        self._store = store
        self._max_keys = max_keys
        self._agents: Cached[AgentRow] = Cached()
        self._keys: Cached[ApiKeyRow] = Cached()

    # ---------------------------------------------------------------- agents

    async def put_agent(self, agent_id: str, *, webhook_url: str, secret: str, lease: float) -> AgentRow:
        """Registers an agent or changes it. Raises `ValidationError`."""
        for what, text in (("agent's id", agent_id), ("webhook's URL", webhook_url), ("agent's secret", secret)):
            if not text.strip():
                raise ValidationError(f"the {what} is blank")
        check_name("agent's id", agent_id)
        if not _ID.fullmatch(agent_id):
            raise ValidationError(
                f"the agent's id `{agent_id}` cannot stand in a path and in a header; use ASCII letters, digits and"
                " marks but `/`, and begin with a letter or a digit"
            )
        if lease and not SHORTEST_LEASE <= lease <= _LONGEST_LEASE:
            raise ValidationError(f"the lease {lease:g} is not from {SHORTEST_LEASE:g} to {_LONGEST_LEASE:g} seconds")
        agent = await self._store.put_agent(AgentRow(agent_id, webhook_url, secret, lease))
        self._agents.forget()
        return agent

    async def agents(self) -> list[AgentRow]:
        """Every agent by its id."""
        return await self._store.agents()

    async def agent(self, agent_id: str) -> AgentRow:
        """The agent, else `NotFoundError`."""
        kept = self._agents.get(agent_id)
        if kept is None:
            agent = await self._agents.read(agent_id, partial(self._store.agent, agent_id))
        else:
            (agent,) = kept
        if agent is None:
            raise NotFoundError(f"there is no agent `{agent_id}`")
        return agent

    async def delete_agent(self, agent_id: str) -> None:
        """Forgets an agent, else `NotFoundError`."""
        self._agents.forget()
        if not await self._store.delete_agent(agent_id):
            raise NotFoundError(f"there is no agent `{agent_id}`")

    async def describe(
        self, agent_id: str, description: str | None, input_schema: str | None, output_schema: str | None
    ) -> None:
        """Keeps what an agent says of itself, else `NotFoundError`."""
        if not await self._store.describe_agent(agent_id, description, input_schema, output_schema):
            raise NotFoundError(f"there is no agent `{agent_id}`")
        self._agents.forget()

    # ---------------------------------------------------------------- keys

    async def create_key(self, name: str, scopes: Sequence[str], agents: Sequence[str] = ()) -> tuple[ApiKeyRow, str]:
        """A new key and its token. It is bound to these agents, or to none. Raises `ValidationError`, and
        `ConflictError` where there are as many keys as there may be."""
        if not name.strip():
            raise ValidationError("the key's name is blank")
        check_name("key's name", name)
        # Who answers with the key and says nothing else is named so.
        check_person(name)
        for agent_id in agents:
            check_name("agent's name", agent_id or " ")
        if agents:
            bound = dict.fromkeys(f"{BOUND}{agent_id}" for agent_id in agents)
            scopes = (*(f"{OF_BOUND}{scope}" for scope in scopes), *bound)
        token = _token()
        key = ApiKeyRow(str(uuid_utils.uuid7()), name, tuple(scopes), _hash(token), self._store.now())
        if await self._live_keys() >= self._max_keys:
            raise self._too_many_keys()
        await self._store.put_key(key)
        # INVARIANT: of callers at once the last to write sees the keys of all others, so that no more are left than may
        # be. Those that meet at the last place may all be refused.
        if await self._live_keys() > self._max_keys:
            await self._store.put_key(replace(key, revoked_at=self._store.now()))
            raise self._too_many_keys()
        return key, token

    async def keys(self) -> list[ApiKeyRow]:
        """Every key, oldest first."""
        return await self._store.keys()

    async def key(self, token: str) -> ApiKeyRow | None:
        """The key of a token, unless it was revoked."""
        hashed = _hash(token)
        kept = self._keys.get(hashed)
        key = kept[0] if kept is not None else self._keys.put(hashed, await self._store.api_key(hashed))
        return key if key is not None and not key.revoked_at else None

    async def rotate_key(self, key_id: str) -> tuple[ApiKeyRow, str]:
        """A new token for a key. Raises `NotFoundError`, and `ConflictError` for a revoked one."""
        key = await self._find(key_id)
        if key.revoked_at:
            raise ConflictError(f"the key `{key_id}` is revoked; create another one")
        token = _token()
        key = replace(key, token_hash=_hash(token))
        await self._store.put_key(key)
        self._keys.forget()
        return key, token

    async def revoke_key(self, key_id: str) -> None:
        """Makes a key useless, else `NotFoundError`."""
        key = await self._find(key_id)
        if not key.revoked_at:
            await self._store.put_key(replace(key, revoked_at=self._store.now()))
        self._keys.forget()

    async def _live_keys(self) -> int:
        return sum(not key.revoked_at for key in await self._store.keys())

    def _too_many_keys(self) -> ConflictError:
        return ConflictError(
            f"there are as many keys as there may be ({self._max_keys}); revoke one, or raise `--max-keys`"
            " (REBUNO_MAX_KEYS)"
        )

    async def _find(self, key_id: str) -> ApiKeyRow:
        for key in await self._store.keys():
            if key.id == key_id:
                return key
        raise NotFoundError(f"there is no key `{key_id}`")


def _token() -> str:
    return f"rebuno_{secrets.token_urlsafe(32)}"


def _hash(token: str) -> bytes:
    return sha256(token.encode(errors="surrogatepass")).digest()
