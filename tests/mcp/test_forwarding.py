"""What passes the proxy in both directions, for each version of the protocol in front and behind."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from tests.mcp.forwarded import CHECKS, Opened
from tests.mcp.support import BACKS, FRONTS, play, scene


@pytest.mark.parametrize("back", BACKS.values(), ids=[f"behind-{name}" for name in BACKS])
@pytest.mark.parametrize("front", FRONTS.values(), ids=[f"front-{name}" for name in FRONTS])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_is_forwarded(
    tmp_path: Path, check: Callable[[Opened, str, str], Awaitable[None]], front: str, back: str
) -> None:
    """As the check says."""
    play(check(partial(scene, tmp_path, front=front, back=back), front, back))
