"""What a server refuses to start with."""

from dataclasses import replace

import pytest

from rebuno.errors import ValidationError
from rebuno.kernel import Settings
from rebuno.server.config import Config

SERVER = Config("kernel.db", bearer_token="0123456789abcdef")
DEV = Config(":memory:", open_to_all=True, permissive=True)

REFUSED: list[tuple[str, Config, str]] = [
    ("no store", replace(SERVER, db=""), "--db"),
    ("no token", replace(SERVER, bearer_token=""), "--bearer-token"),
    ("a token that can be guessed", replace(SERVER, bearer_token="0123456789abcde"), "16"),
    ("a token that no header carries", replace(SERVER, bearer_token="0123456789abcdé"), "16"),
    ("one of enough letters", replace(SERVER, bearer_token="0123456789abcdefé"), "header"),
    ("one with a blank", replace(SERVER, bearer_token="0123456789 abcdef"), "header"),
    ("a store that forgets", replace(SERVER, db=":memory:"), "rebuno dev"),
    ("no attempt", replace(SERVER, settings=Settings(max_attempts=0)), "attempt"),
    ("no delivery", replace(DEV, settings=Settings(deliveries=0)), "delivery"),
    ("no key", replace(SERVER, settings=Settings(max_keys=0)), "API key"),
    ("a short lease", replace(SERVER, settings=Settings(lease=9.0)), "lease"),
    ("too few connections", replace(SERVER, connections=1), "connections"),
    ("dev with a token that no header carries", replace(DEV, bearer_token="é"), "header"),
]


@pytest.mark.parametrize(("reason", "config", "said"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_server_refuses_to_start_with_a_reason(reason: str, config: Config, said: str) -> None:
    """The reason names what to change."""
    with pytest.raises(ValidationError, match=said):
        config.check()


@pytest.mark.parametrize("config", [SERVER, DEV, replace(DEV, bearer_token="short"), replace(DEV, db="dev.db")])
def test_what_is_complete_may_start(config: Config) -> None:
    """A server with a store and a token, and a kernel for trying things out with neither."""
    config.check()
    assert config.bearer_token not in repr(config) or not config.bearer_token
