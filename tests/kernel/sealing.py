"""Stores with a key ring, and scenarios in which something is sealed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from rebuno.journal.records import StepRow
from rebuno.journal.sealed.store import SealingStore
from rebuno.journal.served import ServedStore
from rebuno.kernel.history import archive
from rebuno.kernel.history.timeline import tell
from rebuno.kernel.history.verify import check
from rebuno.kernel.operator import Operator
from rebuno.model.answer import AnswerKind
from rebuno.model.clock import FixedClock
from rebuno.policy import Policy, compile_text
from rebuno.sealing import KeyRing
from rebuno.sealing.files import create
from tests.kernel.support import Bench, Opener, bench

HEAD = "bundle shop\ndefault allow\n"
SECRETS = HEAD + (
    'secret tool "login" at args.password, result.token\n'
    'secret tool "read_vault" at result[].password\n'
    "secret input.pin\n"
)
PASSWORD, TOKEN, STORED, PIN = "s3cret-pw", "tok-12345678-abc", "hunter2-77-long", "1234"
ALL = (PASSWORD, TOKEN, STORED)

Scenario = Callable[[Bench], Awaitable[None]]


def new_ring() -> KeyRing:
    """A ring with one key, of which no file is left."""
    with TemporaryDirectory() as folder:
        return create(Path(folder) / "ring", now=0.0)


def with_ring(store: ServedStore, ring: KeyRing | None, *, encrypt: bool = False) -> ServedStore:
    """The store as it is opened with a ring."""
    return cast(ServedStore, SealingStore(store, ring, encrypt=encrypt))


def opening(opener: Opener, ring: KeyRing, *, encrypt: bool = False) -> Opener:
    """Opens stores with a ring."""

    @asynccontextmanager
    async def opened(clock: FixedClock) -> AsyncIterator[ServedStore]:
        async with opener(clock) as store:
            yield with_ring(store, ring, encrypt=encrypt)

    return opened


class Sealed:
    """Plays scenarios on a store of each kind that is opened with a ring."""

    def __init__(self, opener: Opener, *, encrypt: bool) -> None:
        self.ring = new_ring()
        self.encrypt = encrypt
        self._opener = opening(opener, self.ring, encrypt=encrypt)

    def __call__(self, scenario: Scenario) -> None:
        async def whole() -> None:
            async with bench(self._opener) as b:
                await scenario(b)

        asyncio.run(whole())


def under(also: str = "", text: str = SECRETS) -> Policy:
    return compile_text(text + also)


async def act(b: Bench, target: str, args: object = None, value: object = "done") -> StepRow:
    """A step whose body runs and gives a value; its row as people read it."""
    answer = await b.submit(target=target, args=args)
    assert answer.kind is AnswerKind.PROCEED, answer
    await b.succeed(answer, value)
    return await b.store.step(answer.step_id)


async def login(b: Bench) -> StepRow:
    return await act(b, "login", {"user": "bob", "password": PASSWORD}, {"token": TOKEN})


async def vault(b: Bench) -> StepRow:
    return await act(b, "read_vault", {}, [{"name": "db", "password": STORED}, {"name": "x", "password": "short"}])


def marked(b: Bench, value: Any) -> dict[str, str]:
    assert b.attempt.seals is not None
    return {"secret": b.attempt.seals.mark(value)}


def part(b: Bench, value: Any) -> str:
    return f'{{"secret": "{marked(b, value)["secret"]}"}}'


async def shown(b: Bench) -> str:
    """All that anybody is shown of the execution."""
    operator, ref = Operator(b.store), b.attempt.execution.id
    story = await tell(b.store, ref)
    recording = await archive.record(b.store, ref)
    seen = [
        await operator.execution(ref),
        await operator.steps(ref),
        await operator.events(ref),
        await operator.approvals(execution_id=ref),
        await operator.judged(ref),
        story,
        *archive.lines(recording),
    ]
    return "\n".join(map(repr, seen))


async def nothing_shows(b: Bench, *values: str) -> None:
    found = await shown(b)
    assert [one for one in values or ALL if one in found] == []
    assert (await check(b.store, b.attempt.execution.id)).fault == ""
