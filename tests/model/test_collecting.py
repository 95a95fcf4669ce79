"""The garbage collector around compiling: off inside, and afterwards as it was."""

import gc
import threading
from collections.abc import Iterator

import pytest

from rebuno.errors import BundleError
from rebuno.model.collector import paused
from rebuno.policy import compile_text


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """The collector is on before each test, and as it was afterwards."""
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


def test_it_is_on_again_after_an_error() -> None:
    """Of the caller's own, and of a bundle."""

    @paused()
    def fails() -> None:
        assert not gc.isenabled()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert gc.isenabled()
    with pytest.raises(BundleError):
        compile_text("rule r {")
    assert gc.isenabled()


def test_the_outer_one_of_two_ends_the_pause() -> None:
    """Compiling inside of compiling leaves it off for the rest."""
    with paused():
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    """It is the program's, which may have turned it off."""
    gc.disable()
    with paused():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_the_last_of_two_threads_ends_the_pause() -> None:
    """The first to begin is the first to end here, so neither is inside of the other."""
    inside, leave = threading.Event(), threading.Event()

    def compile_something() -> None:
        with paused():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=compile_something)
    with paused():
        thread.start()
        inside.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_what_was_made_inside_counts_as_old() -> None:
    """The first collection afterwards goes through little, and a full one still finds garbage that was made inside."""

    class Node:
        def __init__(self) -> None:
            self.me = self

    gc.collect()
    with paused():
        kept = [Node() for _ in range(5_000)]
        gone = len([Node() for _ in range(100)])
    assert len(gc.get_objects(generation=0)) < len(kept)
    assert gc.collect() >= gone


def test_what_a_program_has_frozen_stays_frozen() -> None:
    """Forking servers freeze what they share."""
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with paused():
            pass
        assert gc.get_freeze_count() >= frozen > 0
    finally:
        gc.unfreeze()
