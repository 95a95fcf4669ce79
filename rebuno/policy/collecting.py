"""Holds the garbage collector still while a policy is compiled."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_pausing = 0
_resume = False


@contextmanager
def paused() -> Iterator[None]:
    """No collection of cycles inside, in any thread; afterwards the collector is as it was.

    Compiling makes hundreds of thousands of nodes that all stay alive until the policy is done. Each collection goes
    through all of them and finds nothing: of a large bundle that is half of the time. What it drops goes by its count
    of references.
    """
    global _pausing, _resume
    with _lock:
        if _pausing == 0:
            _resume = gc.isenabled()
            gc.disable()
        _pausing += 1
    try:
        yield
    finally:
        with _lock:
            _pausing -= 1
            if _pausing == 0 and _resume:
                gc.enable()
