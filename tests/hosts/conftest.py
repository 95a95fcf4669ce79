"""A gate over a real file, and a host in front of it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rebuno.gate import open_gate
from rebuno.hosts.settings import HookSettings
from tests.hosts.support import Hooks, bundle_in, environ_of

Opening = Callable[..., AbstractAsyncContextManager[Hooks]]


@pytest.fixture
def opened(tmp_path: Path) -> Opening:
    """Opens a host's session over the store of this test; again and again, as separate hooks would."""

    @asynccontextmanager
    async def opening(host: str, *, environ: dict[str, str] | None = None, **settings: Any) -> AsyncIterator[Hooks]:
        db = str(tmp_path / "store.db")
        given = HookSettings(db=db, **settings)
        async with open_gate(db, policy=bundle_in(tmp_path), observe=given.observe) as gate:
            yield Hooks(host, gate, given, environ_of(host, **(environ or {})))

    return opening
