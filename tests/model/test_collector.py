"""The collector is off in the block, and afterwards as it was before."""

import gc
from collections.abc import Iterator

import pytest

from rebuno.errors import BundleError
from rebuno.model.collector import paused
from rebuno.policy import compile_text


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """The other tests run with the collector that they had."""
    on = gc.isenabled()
    yield
    (gc.enable if on else gc.disable)()


@paused()
def divide(by: int) -> float:
    """A function that runs without the collector, and may fail."""
    with paused():
        assert not gc.isenabled()
    assert not gc.isenabled()
    return 1 / by


@pytest.mark.parametrize("on", [True, False])
def test_it_is_off_in_the_block_and_then_as_before(on: bool) -> None:
    """Also where a block stands within another, and where it ends with an error."""
    (gc.enable if on else gc.disable)()
    assert divide(1) == 1
    assert gc.isenabled() is on
    with pytest.raises(ZeroDivisionError):
        divide(0)
    assert gc.isenabled() is on


@pytest.mark.parametrize("text", ["default deny\n", "default dny\n"])
def test_compiling_leaves_it_as_it_was(text: str) -> None:
    """A bundle with errors too."""
    gc.enable()
    try:
        compile_text(text)
    except BundleError:
        assert "dny" in text
    assert gc.isenabled()
