"""Pauses Python's garbage collector while much is made that stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No garbage is looked for in the block, or in the function that this decorates.

    A large tree is walked again and again while it grows, though nothing in it is garbage: 65 % of the time that a
    policy of 10,000 rules takes to compile, a quarter of that in which an embedded kernel opens. A collector that was
    off before stays off; where two threads pause it at once, it goes on with the first that ends.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
