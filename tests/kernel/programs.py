"""Random agents for the property tests: trees of steps, what their bodies did, and ways to interrupt them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import strategies as st

import rebuno

Key = tuple[str, int]


@dataclass(frozen=True)
class Call:
    """One effect, submitted `times` times in a row with the same arguments. `inner` is submitted in its body."""

    tool: bool
    once: bool
    does: str
    pause: int
    times: int
    inner: tuple["Call", ...] = ()


@dataclass(frozen=True)
class Together:
    """Branches side by side."""

    branches: tuple[tuple[Call, ...], ...]


Program = tuple[Call | Together, ...]


def _calls(inner: st.SearchStrategy[tuple[Call, ...]]) -> st.SearchStrategy[Call]:
    return st.builds(
        Call,
        tool=st.booleans(),
        once=st.booleans(),
        does=st.sampled_from(["compute", "compute", "random", "fail"]),
        pause=st.integers(0, 2),
        times=st.sampled_from([1, 1, 1, 2]),
        inner=inner,
    )


_leaf = _calls(st.just(()))
_call = _calls(st.lists(_leaf, max_size=2).map(tuple))
programs: st.SearchStrategy[Program] = st.lists(
    st.one_of(
        _call,
        st.builds(
            Together, st.lists(st.lists(_call, min_size=1, max_size=2).map(tuple), min_size=2, max_size=3).map(tuple)
        ),
    ),
    min_size=1,
    max_size=4,
).map(tuple)


@dataclass
class World:
    """What outlives every attempt: how often bodies ran, and where random values come from."""

    bodies: Counter[Key] = field(default_factory=Counter)
    randoms: Callable[[Key], int] = field(default_factory=lambda: _counting())


def _counting() -> Callable[[Key], int]:
    numbers = count()
    return lambda key: next(numbers)


class Attempt:
    """One run of a program's handler. At its `cut`-th moment (0: never) it calls `interrupt`, and does nothing more."""

    def __init__(
        self, world: World, program: Program, cut: int = 0, interrupt: Callable[[], None] = lambda: None
    ) -> None:
        self.seen: dict[Key, Any] = {}
        self._world = world
        self._program = program
        self._cut = cut
        self._moments = 0
        self._interrupt = interrupt

    async def handler(self) -> Any:
        """The agent: every call's arguments hold what was seen before it."""
        values: list[Any] = []
        for i, part in enumerate(self._program):
            if isinstance(part, Call):
                values.append(await self._calls(part, str(i), values[-1:]))
            else:
                values.append(await asyncio.gather(*(self._row(b, f"{i}-{n}") for n, b in enumerate(part.branches))))
        return values

    async def _row(self, calls: tuple[Call, ...], path: str) -> list[Any]:
        values: list[Any] = []
        for i, call in enumerate(calls):
            values.append(await self._calls(call, f"{path}.{i}", values[-1:]))
        return values

    async def _calls(self, call: Call, path: str, before: list[Any]) -> list[Any]:
        return [await self._one(call, (path, n), before) for n in range(call.times)]

    async def _one(self, call: Call, key: Key, before: list[Any]) -> Any:
        await self._moment()

        async def body(path: str, before: list[Any]) -> Any:
            await self._dies()
            self._world.bodies[key] += 1
            await self._moment()
            for _ in range(call.pause):
                await asyncio.sleep(0.0005)
            inner = await self._row(call.inner, f"{path}/{key[1]}")
            await self._moment()
            match call.does:
                case "fail":
                    raise OSError(path)
                case "random":
                    return [self._world.randoms(key), inner]
                case _:
                    return [len(str(before)), inner]

        args = {"path": key[0], "before": before}
        idempotency = "at_most_once" if call.once else "safe_to_retry"
        name = f"{'tool' if call.tool else 'local'}-{idempotency}"
        submitted: Awaitable[Any]
        if call.tool:
            submitted = rebuno.tool(name, idempotency=idempotency)(body)(**args)
        else:
            submitted = rebuno.step(name, body, args, idempotency=idempotency)
        try:
            value = await submitted
        except rebuno.ToolError as error:
            value = {"error": error.error}
        except rebuno.PolicyError as error:
            value = {"denied": error.rule_id}
        self.seen[key] = value
        await self._moment()
        return value

    async def _moment(self) -> None:
        if self._cut == 0:
            return
        self._moments += 1
        if self._moments == self._cut:
            self._interrupt()
        await self._dies()

    async def _dies(self) -> None:
        # After the cut the attempt is dead. The event loop may still begin bodies that a killed process would not have
        # begun: they do nothing and are not counted.
        if 0 < self._cut <= self._moments:
            await asyncio.get_running_loop().create_future()
