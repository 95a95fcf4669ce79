"""D04 and D05: what cannot be written down, results and exceptions. The first run sees what every later one sees."""

import asyncio
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pydantic
import pytest

import rebuno
from tests.embedded.support import bundle, in_loop, journal, run
from tests.sdk.support import Crash

OPEN = bundle("allow")


@dataclasses.dataclass
class Point:
    x: int


class Model(pydantic.BaseModel):
    x: int = 1


class Colour(enum.Enum):
    RED = 1


class Word(enum.StrEnum):
    A = "a"


class Number(int):
    pass


Pair = collections.namedtuple("Pair", "a b")

DEEP: list[Any] = []
DEEP.append(DEEP)

# A result that cannot be kept · what the error calls its type, or what else is wrong with it.
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "a datetime"),
    (lambda: datetime.date(2026, 1, 1), "a date"),
    (lambda: datetime.timedelta(1), "a timedelta"),
    (lambda: decimal.Decimal("1.5"), "a Decimal"),
    (lambda: fractions.Fraction(1, 3), "a Fraction"),
    (lambda: 1j, "a complex"),
    (lambda: b"x", "a bytes"),
    (lambda: bytearray(b"x"), "a bytearray"),
    (lambda: memoryview(b"x"), "a memoryview"),
    (lambda: {1}, "a set"),
    (lambda: frozenset(), "a frozenset"),
    (lambda: range(2), "a range"),
    (lambda: collections.deque([1]), "a deque"),
    (lambda: Point(1), "a Point"),
    (lambda: Model(), "a Model"),
    (lambda: Colour.RED, "a Colour"),
    (lambda: {1: 2}, "the key 1"),
    (lambda: {None: 2}, "the key None"),
    (lambda: {True: 2}, "the key True"),
    (lambda: {("a", 1): 2}, "the key ('a', 1)"),
    (lambda: (n for n in range(1)), "a generator"),
    (lambda: iter([]), "a list_iterator"),
    (lambda: sys.stdin, sys.stdin.__class__.__name__),
    (lambda: object(), "object"),
    (lambda: OSError("no"), "OSError"),
    (lambda: OSError, "a type"),
    (lambda: len, "builtin_function_or_method"),
    (lambda: sys, "a module"),
    (lambda: ..., "ellipsis"),
    (lambda: pathlib.PurePosixPath("/a"), "PurePosixPath"),
    (lambda: uuid.UUID(int=0), "UUID"),
    (lambda: math.nan, "nan"),
    (lambda: -math.inf, "-inf"),
    (lambda: "\ud800", "lone surrogate U+D800"),
    (lambda: {"\udfff": 1}, "lone surrogate U+DFFF"),
    (lambda: DEEP, "more than 128 levels"),
]

# A result that is kept · what it reads as, on both runs.
KEPT: list[tuple[Callable[[], Any], Any]] = [
    (lambda: (1, (2, 3)), [1, [2, 3]]),
    (lambda: Pair(1, 2), [1, 2]),
    (lambda: Word.A, "a"),
    (lambda: Number(7), 7),
    (lambda: collections.OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
    (lambda: collections.Counter("aa"), {"a": 2}),
    (lambda: 10**400, 10**400),
    (lambda: -0.0, -0.0),
    (lambda: 1.0, 1.0),
    (lambda: 5e-324, 5e-324),
    (lambda: True, True),
    (lambda: None, None),
    (lambda: "\0\u2028\U0001f600", "\0\u2028\U0001f600"),
    (lambda: {"": [{}, []]}, {"": [{}, []]}),
]


async def seen_in_two_runs(path: Path, act: Callable[[], Any]) -> list[Any]:
    """What a handler sees of `act` on its first run, which dies then, and when it is resumed on the same file."""
    seen: list[Any] = []

    async def handler() -> None:
        seen.append(await act())
        if len(seen) == 1:
            raise Crash

    with pytest.raises(Crash):
        await run(path, OPEN, handler)
    await run(path, OPEN, handler)
    return seen


@pytest.mark.parametrize("wrapped", [False, True])
@in_loop
async def test_a_result_that_cannot_be_kept_is_a_failure_that_says_so(tmp_path: Path, wrapped: bool) -> None:
    """D04: the error names the step, the place, the type, and that the body ran; a resume does not run it again."""
    path = tmp_path / "store.db"
    ran: list[int] = []

    async def make(number: int) -> Any:
        def body(number: int) -> Any:
            ran.append(number)
            value = REFUSED[number][0]()
            return {"rows": [0, {"x": value}]} if wrapped else value

        try:
            return await rebuno.tool("make")(body)(number)
        except rebuno.ToolError as error:
            return str(error) if isinstance(error, TypeError) else "no TypeError"

    async def act() -> list[Any]:
        return [await make(number) for number in range(len(REFUSED))]

    first, second = await seen_in_two_runs(path, act)
    assert first == second
    assert ran == list(range(len(REFUSED)))
    for (_, what), said in zip(REFUSED, first, strict=True):
        assert said.startswith("make: `result.rows[1].x" if wrapped else "make: `result"), said
        assert what in said, said
        assert said.endswith("(the body has run, its result is not kept)"), said
    steps, _ = await journal(path)
    for step in steps:
        assert step.status == "failed"
        assert "the body has run, its result is not kept" in step.error["message"]


@in_loop
async def test_a_result_that_is_kept_has_its_stored_form_at_once(tmp_path: Path) -> None:
    """D04: type and value are the same on the first run and on the replay."""
    path = tmp_path / "store.db"

    async def act() -> list[Any]:
        made = [await rebuno.step(f"make {n}", value) for n, (value, _) in enumerate(KEPT)]
        return [(type(value), repr(value)) for value in made]

    first, second = await seen_in_two_runs(path, act)
    assert first == second == [(type(read), repr(read)) for _, read in KEPT]


# ---------------------------------------------------------------- D05: exceptions


class DeclinedError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class SlottedError(Exception):
    __slots__ = ("code",)

    def __init__(self, code: int) -> None:
        self.code = code


class KeywordOnlyError(Exception):
    def __init__(self, *, code: int) -> None:
        super().__init__(code)


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class NamelessError(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no words")


class NoTextError(Exception):
    def __str__(self) -> str:
        return cast("str", 7)


def local() -> Exception:
    class LocalError(Exception):
        pass

    return LocalError("inside")


def chained() -> Exception:
    error = DeclinedError(51, "funds")
    error.__cause__ = OSError("behind it")
    return error


# An exception of a body · the type that is recorded.
RAISED: list[tuple[Callable[[], Exception], str]] = [
    (lambda: DeclinedError(51, "funds"), "DeclinedError"),
    (local, "LocalError"),
    (lambda: SlottedError(51), "SlottedError"),
    (lambda: KeywordOnlyError(code=51), "KeywordOnlyError"),
    (chained, "DeclinedError"),
    (
        lambda: ExceptionGroup("several", [DeclinedError(1, "a"), ExceptionGroup("more", [OSError("b")])]),
        "ExceptionGroup",
    ),
    (MuteError, "MuteError"),
    (NamelessError, "NamelessError"),
    (NoTextError, "NoTextError"),
    (Exception, "Exception"),
    (lambda: KeyError("key"), "KeyError"),
    (lambda: OSError(2, "no such file", "/a"), "FileNotFoundError"),
    (lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "UnicodeDecodeError"),
    (lambda: json.JSONDecodeError("bad", "{", 1), "JSONDecodeError"),
    (lambda: TimeoutError(), "TimeoutError"),
    (lambda: asyncio.QueueEmpty(), "QueueEmpty"),
    (lambda: StopAsyncIteration(), "StopAsyncIteration"),
    (lambda: RecursionError("deep"), "RecursionError"),
    (lambda: MemoryError(), "MemoryError"),
    (lambda: AssertionError(), "AssertionError"),
    (lambda: UserWarning("careful"), "UserWarning"),
    (lambda: ValueError("\ud800 and \0"), "ValueError"),
    (lambda: ValueError("x" * 200_000), "ValueError"),
    (lambda: ValueError({"not": {"text"}}), "ValueError"),
    (lambda: rebuno.PolicyError("no", rule_id="r"), "PolicyError"),
    (lambda: rebuno.RateLimited(), "RateLimited"),
    (lambda: rebuno.ToolError({"reason": "indeterminate"}), "ToolError"),
]


@pytest.mark.parametrize("plain", [True, False], ids=["thread", "async"])
@in_loop
async def test_a_failure_takes_the_same_branch_on_every_run(tmp_path: Path, plain: bool) -> None:
    """D05: the first run already gets the stand-in, with type and text, and no body runs again."""
    path = tmp_path / "store.db"
    lines: list[str] = []

    async def charge(number: int) -> tuple[Any, ...]:
        def body(number: int) -> None:
            lines.append(f"charge {number}")
            raise RAISED[number][0]()

        async def body_async(number: int) -> None:
            body(number)

        try:
            await rebuno.step("charge", body if plain else body_async, {"number": number})
        except rebuno.ToolError as error:
            refund = await rebuno.step("refund", lambda number: lines.append(f"refund {number}"), {"number": number})
            return type(error), str(error), error.error, error.reason, refund
        except Exception:
            return (await rebuno.step("panic", lambda: lines.append("panic")),)
        return ()

    async def act() -> list[tuple[Any, ...]]:
        return [await charge(number) for number in range(len(RAISED))]

    first, second = await seen_in_two_runs(path, act)
    assert first == second
    assert [said[2]["type"] for said in first] == [name for _, name in RAISED]
    assert lines == [f"{what} {number}" for number in range(len(RAISED)) for what in ("charge", "refund")]


@in_loop
async def test_the_original_is_the_cause_where_it_happened(tmp_path: Path) -> None:
    """D05: only on the first run, so no branch may depend on it."""
    path = tmp_path / "store.db"

    def body() -> None:
        raise DeclinedError(51, "funds")

    async def act() -> Any:
        with pytest.raises(rebuno.ToolError, match="51: funds") as caught:
            await rebuno.step("charge", body)
        return type(caught.value.__cause__)

    assert await seen_in_two_runs(path, act) == [DeclinedError, type(None)]
