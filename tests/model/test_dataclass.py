"""Our frozen dataclasses beside the standard library's: the same definition, and the same behaviour."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebuno.model import dataclass as lean


def define(dataclass: Callable[..., Any]) -> dict[str, Any]:
    """The classes of this test, made by one of the two decorators."""

    @dataclass(frozen=True, slots=True)
    class Empty:
        """Without a field."""

    @dataclass(frozen=True, slots=True)
    class Point:
        """With defaults, a factory, and what does not compare."""

        x: Any
        y: Any = 2
        many: list[int] = field(default_factory=list, compare=False)
        note: str = field(default="", compare=False, repr=False)

        def sum(self) -> Any:
            return self.x + self.y

    @dataclass(frozen=True, slots=True)
    class Colored(Point):
        """With fields of another class before its own."""

        colour: str = "red"

        def __post_init__(self) -> None:
            if not self.colour:
                raise ValueError("no colour")

    @dataclass(frozen=True, slots=True)
    class Own:
        """With methods of its own."""

        x: Any

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    @dataclass(slots=True)
    class Counter:
        """One that changes, and so has no hash."""

        x: Any
        y: Any = 2
        many: list[int] = field(default_factory=list, kw_only=True)
        later: int = field(init=False, repr=False, compare=False)

    @dataclass(slots=True, unsafe_hash=True)
    class Marked:
        """One that changes, with the hash of what does not."""

        x: Any
        y: Any = field(default=2, compare=False)
        many: list[int] = field(default_factory=list, compare=False)

    return {one.__name__: one for one in (Empty, Point, Colored, Own, Counter, Marked)}


OURS, THEIRS = define(lean.dataclass), define(dataclasses.dataclass)
# What pickle looks for by name.
globals().update(OURS)
for _class in OURS.values():
    _class.__module__, _class.__qualname__ = __name__, _class.__name__

VALUES = st.one_of(st.integers(0, 3), st.floats(), st.text(max_size=2), st.tuples(st.integers(0, 1)))
POINTS = st.tuples(VALUES, VALUES, st.lists(st.integers(0, 1), max_size=2))


def outcome(run: Callable[[], Any]) -> Any:
    """What comes, or the error's type and text."""
    try:
        return run()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("Empty", (), {}),
        ("Empty", (1,), {}),
        ("Point", (), {}),
        ("Point", (1,), {}),
        ("Point", (1, 2, [3], "a"), {}),
        ("Point", (), {"y": 1, "x": 0}),
        ("Point", (1, 2, 3, 4, 5), {}),
        ("Point", (1,), {"x": 1}),
        ("Point", (1,), {"z": 1}),
        ("Colored", (1,), {"colour": "blue"}),
        ("Colored", (1,), {"colour": ""}),
        ("Own", (1,), {}),
        ("Counter", (1,), {"many": [1]}),
        ("Counter", (1, 2, [1]), {}),
        ("Marked", (), {}),
    ],
)
def test_it_is_made_and_shown_alike(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The first object of a class, and every other one; wrong arguments have the same error."""
    ours, theirs = define(lean.dataclass)[name], define(dataclasses.dataclass)[name]
    for _ in range(2):
        told = outcome(lambda: repr(ours(*args, **kwargs)))
        assert told == outcome(lambda: repr(theirs(*args, **kwargs)))
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    assert [one.name for one in dataclasses.fields(ours)] == [one.name for one in dataclasses.fields(theirs)]


@given(POINTS, POINTS)
def test_it_compares_alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    """Equality, inequality and hashes, and never with an object of another class."""
    for name in ("Point", "Colored", "Own", "Counter", "Marked"):
        count = {"Own": 1, "Counter": 2}.get(name, 3)
        ours = [OURS[name](*values[:count]) for values in (one, other)]
        theirs = [THEIRS[name](*values[:count]) for values in (one, other)]
        assert (ours[0] == ours[1], ours[0] != ours[1]) == (theirs[0] == theirs[1], theirs[0] != theirs[1])
        assert outcome(lambda: hash(ours[0])) == outcome(lambda: hash(theirs[0]))  # noqa: B023
    assert OURS["Point"](*one) != OURS["Colored"](*one)
    assert OURS["Point"](*one) != THEIRS["Point"](*one)


def test_it_changes_only_if_it_is_not_frozen() -> None:
    """Neither a field nor anything else of a frozen one."""
    for name in ("Counter", "Marked"):
        counter = OURS[name](1)
        counter.x, counter.many = 3, [1]
        assert counter == OURS[name](3, many=[1])
        with pytest.raises(AttributeError):
            _ = counter.later
        assert copy.copy(counter) == pickle.loads(pickle.dumps(counter)) == counter
        with pytest.raises(AttributeError):
            counter.other = 1
    for classes in (OURS, THEIRS):
        point = classes["Point"](1)
        assert outcome(lambda: setattr(point, "x", 2)) == (  # noqa: B023
            dataclasses.FrozenInstanceError,
            "cannot assign to field 'x'",
        )
        with pytest.raises(dataclasses.FrozenInstanceError):
            del point.x
        assert not hasattr(point, "__dict__")


@given(POINTS)
def test_it_can_be_copied_and_sent(values: tuple[Any, ...]) -> None:
    """`replace`, `copy` and `pickle`; other processes get what the checks found."""
    point = OURS["Colored"](*values)
    for made in (copy.copy(point), pickle.loads(pickle.dumps(point)), dataclasses.replace(point)):
        assert type(made) is type(point)
        assert repr(made) == repr(point)
    assert dataclasses.replace(point, colour="blue").colour == "blue"
    match point:
        case lean_point if lean_point.colour == "red":
            assert dataclasses.asdict(point)["x"] is not None
        case _:
            pytest.fail("it is red")


def test_what_it_does_not_know_is_refused() -> None:
    """At the definition, not at the first use."""
    with pytest.raises(TypeError, match="only dataclasses with slots"):
        lean.dataclass(frozen=True, slots=False)
    with pytest.raises(TypeError, match="a field that only"):

        @lean.dataclass(frozen=True, slots=True)
        class _Keyword:
            x: int = field(init=False, default=1)
