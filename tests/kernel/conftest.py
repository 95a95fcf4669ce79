"""The stores that scenarios are played on."""

import pytest

from tests.kernel.support import Opener, Play, in_memory, player

STORES: dict[str, Opener] = {"sqlite": in_memory}


@pytest.fixture(params=sorted(STORES))
def play(request: pytest.FixtureRequest) -> Play:
    """Plays a scenario on a store of each kind."""
    return player(STORES[request.param])
