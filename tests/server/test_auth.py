"""Signatures and tokens, without a server around them."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from rebuno.errors import NotFoundError, StoreUnreachable, UnauthorizedError, ValidationError
from rebuno.journal.records import AgentRow, ApiKeyRow
from rebuno.kernel import Dispatched, Serving
from rebuno.sdk import signing
from rebuno.server import auth

BODY = b'{"kind":"tool_call","target":"send_email","args":{"to":"ops@example.com"},"idempotency":"safe_to_retry"}'
TARGET = "/v0/executions/018f3a2b-4c5d-7e6f-8a9b-0c1d2e3f4a5b/steps"
DISPATCH = "01920000-0000-7000-8000-000000000001"
NOW = 1_700_000_000
NOTHING: Mapping[str, str | None] = {}


class _Known(Serving):
    """Knows one agent and one key, and nothing else."""

    def __init__(self) -> None:
        return

    async def agent(self, agent_id: str) -> AgentRow:
        if agent_id != "known":
            raise NotFoundError("there is no such agent")
        return AgentRow("known", "http://127.0.0.1/", "test-secret")

    async def key(self, token: str) -> ApiKeyRow | None:
        return ApiKeyRow("1", "reader", ("executions:read",), b"") if token == "a key's token" else None


def _signed(secret: str = "test-secret") -> str:
    return signing.request(secret, "POST", TARGET, str(NOW), BODY, dispatch_id=DISPATCH, dispatch_attempt="3")


def test_the_signature_is_that_of_the_protocol() -> None:
    """The protocol's own example comes out to the letter."""
    assert _signed() == "v1=017dff4039ba40e90d3d8d566fdf51db427672f92d45ef41b738672238ea0058"


def _headers(changes: Mapping[str, str | None] = NOTHING) -> dict[str, str]:
    sent: dict[str, str | None] = {
        "Rebuno-Agent-Id": "known",
        "Rebuno-Timestamp": str(NOW),
        "Rebuno-Dispatch-Id": DISPATCH,
        "Rebuno-Dispatch-Attempt": "3",
        "Rebuno-Signature": _signed(),
        **changes,
    }
    return {name.lower(): value for name, value in sent.items() if value is not None}


def _agent(headers: dict[str, str], body: bytes = BODY) -> str:
    found = asyncio.run(auth.agent(_Known(), headers, method="POST", target=TARGET, body=body))
    return found.agent_id


@pytest.mark.parametrize("off", [-300, -299, 0, 300])
def test_an_agent_is_known_by_its_signature(off: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clock may be off by 300 seconds either way."""
    monkeypatch.setattr(time, "time", lambda: float(NOW + off))
    assert _agent(_headers()) == "known"


REFUSED: list[tuple[str, dict[str, str | None], float]] = [
    ("nobody says who it is", {"Rebuno-Agent-Id": None}, 0),
    ("an agent that there is not", {"Rebuno-Agent-Id": "other"}, 0),
    ("no signature", {"Rebuno-Signature": None}, 0),
    ("a signature in capitals", {"Rebuno-Signature": _signed().upper().replace("V", "v")}, 0),
    ("another version", {"Rebuno-Signature": _signed().replace("v1=", "v2=")}, 0),
    ("one digit is another", {"Rebuno-Signature": _signed()[:-1] + "9"}, 0),
    ("another's secret", {"Rebuno-Signature": _signed(secret="other")}, 0),
    ("no time", {"Rebuno-Timestamp": None}, 0),
    ("a time that is no number", {"Rebuno-Timestamp": "1e9"}, 0),
    ("digits of another script", {"Rebuno-Timestamp": "١٧"}, 0),
    ("an old request", {}, 301),
    ("one from the future", {}, -302),
    ("another dispatch than was signed", {"Rebuno-Dispatch-Attempt": "4"}, 0),
]


@pytest.mark.parametrize(("reason", "changes", "off"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_not_signed_by_an_agent_is_refused(
    reason: str, changes: dict[str, str | None], off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request that an agent did not sign like this, and just now, is nobody's."""
    monkeypatch.setattr(time, "time", lambda: NOW + off)
    with pytest.raises(UnauthorizedError):
        _agent(_headers(changes))


CHANGED: list[tuple[str, dict[str, Any]]] = [
    ("another body", {"body": BODY.replace(b"ops", b"foe")}),
    ("no body", {"body": b""}),
    ("another path", {"target": TARGET.replace("3a2b", "3a2c")}),
    ("a query", {"target": TARGET + "?x=1"}),
    ("the path, escaped otherwise", {"target": TARGET.replace("steps", "%73teps")}),
    ("another method", {"method": "PUT"}),
]


@pytest.mark.parametrize(("reason", "change"), CHANGED, ids=[row[0] for row in CHANGED])
def test_a_request_that_was_changed_on_its_way_is_refused(
    reason: str, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signature is of the bytes that were sent."""
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    sent = {"method": "POST", "target": TARGET, "body": BODY, **change}
    with pytest.raises(UnauthorizedError):
        asyncio.run(auth.agent(_Known(), _headers(), **sent))


DISPATCHES: list[tuple[str, str | None, str | None, Dispatched | None]] = [
    ("as the webhook said", DISPATCH, "3", Dispatched(DISPATCH, 3)),
    ("capitals mean the same", DISPATCH.upper(), "3", Dispatched(DISPATCH, 3)),
    ("no id", None, "3", None),
    ("no attempt", DISPATCH, None, None),
    ("no dispatch's id", "first", "3", None),
    ("attempts count from 1", DISPATCH, "0", None),
    ("no number", DISPATCH, "three", None),
    ("a sign", DISPATCH, "+3", None),
    ("more than any count", DISPATCH, "9" * 30, None),
]


@pytest.mark.parametrize(("reason", "id", "attempt", "wanted"), DISPATCHES, ids=[row[0] for row in DISPATCHES])
def test_dispatch_headers_say_which_delivery(
    reason: str, id: str | None, attempt: str | None, wanted: Dispatched | None
) -> None:
    """What is missing or malformed is the caller's mistake."""
    sent = {"Rebuno-Dispatch-Id": id, "Rebuno-Dispatch-Attempt": attempt}
    headers = {name.lower(): value for name, value in sent.items() if value is not None}
    if wanted is not None:
        assert auth.dispatched(headers) == wanted
        return
    with pytest.raises(ValidationError):
        auth.dispatched(headers)


PAGES: list[tuple[str, dict[str, str], bool]] = [
    ("a program", {}, True),
    ("an address that somebody typed in", {"sec-fetch-site": "none"}, True),
    ("a form or a script of another site", {"origin": "https://evil.test"}, False),
    ("a page from a file", {"origin": "null"}, False),
    ("an image of another site", {"sec-fetch-site": "cross-site"}, False),
    ("a page at our own address, which serves none", {"sec-fetch-site": "same-origin"}, False),
    ("a page whose own name leads here now, which no other header tells", {"host": "evil.test:8080"}, False),
    ("a name that ends in a dot", {"host": "evil.test."}, False),
    ("a number that is no address", {"host": "127.0.0.1.evil.test"}, False),
    ("this machine", {"host": "localhost:8080"}, True),
    ("this machine's address", {"host": "127.0.0.1:8080"}, True),
    ("its newer address", {"host": "[::1]:8080"}, True),
    ("a name on this machine", {"host": "rebuno.localhost:8080"}, True),
    ("a name in capitals", {"host": "LOCALHOST."}, True),
    ("another machine's address", {"host": "192.0.2.7"}, True),
    ("a name in a network, which anyone who answers for names gives", {"host": "rebuno:8080"}, False),
    ("a single label", {"host": "evil"}, False),
    ("a number", {"host": "2130706433"}, False),
    ("a number in hexadecimal", {"host": "0x7f000001"}, False),
    ("a short address", {"host": "127.1"}, False),
    ("an octal one", {"host": "0177.0.0.1"}, False),
    ("a name in brackets", {"host": "[evil.com]"}, False),
    ("an old address in brackets", {"host": "[127.0.0.1]"}, False),
    ("brackets with more behind them", {"host": "[::1].evil.com"}, False),
    ("brackets that do not close", {"host": "[::1"}, False),
    ("an address with a zone", {"host": "[fe80::1%25evil]"}, False),
    ("a user before the host", {"host": "localhost@evil.com"}, False),
    ("two in one", {"host": "localhost, evil.com"}, False),
    ("a port that is none", {"host": "localhost:80.evil.com"}, False),
    ("a space", {"host": " localhost"}, False),
    ("a name that looks like this machine's", {"host": "notlocalhost"}, False),
    ("another one", {"host": "localhost.evil.com"}, False),
    ("letters of another script", {"host": "\u217docalhost"}, False),
    ("nothing", {"host": ""}, False),
]


@pytest.mark.parametrize(("reason", "headers", "let_in"), PAGES, ids=[row[0] for row in PAGES])
def test_where_no_token_is_needed_pages_need_one(reason: str, headers: dict[str, str], let_in: bool) -> None:
    """A user who opens a page of a stranger does not let the stranger in."""
    headers = {"host": "127.0.0.1:8080", **headers}
    tokens = auth.Tokens(_Known(), "the bootstrap", require=False)
    if let_in:
        assert asyncio.run(tokens.caller(headers)).name == auth.ANYONE
        return
    with pytest.raises(UnauthorizedError):
        asyncio.run(tokens.caller(headers))
    with_token = {**headers, "authorization": "Bearer the bootstrap"}
    assert asyncio.run(tokens.caller(with_token)).name == auth.BOOTSTRAP


def test_a_request_without_a_host_needs_a_token() -> None:
    """HTTP/1.0 knows none; nobody can say whom it means."""
    tokens = auth.Tokens(_Known(), "the bootstrap", require=False)
    with pytest.raises(UnauthorizedError):
        asyncio.run(tokens.caller({}))


@pytest.mark.parametrize(
    "name", ["host", "authorization", "rebuno-agent-id", "rebuno-signature", "rebuno-timestamp", "rebuno-dispatch-id"]
)
@pytest.mark.parametrize("same", [True, False])
def test_a_header_that_says_who_calls_comes_once(name: str, same: bool) -> None:
    """What stands between may take the first one, and this server the last."""
    pairs = [(name.encode(), b"one"), (b"accept", b"a"), (b"accept", b"b"), (name.encode(), b"one" if same else b"two")]
    with pytest.raises(ValidationError, match=f"`{name}` comes twice"):
        auth.check_single(pairs)
    auth.check_single(pairs[:-1])


TOKENS: list[tuple[str, bool, str | None, str | None]] = [
    ("a server lets nobody in who sends none", True, None, None),
    ("where everybody is let in, who sends none is anyone", False, None, auth.ANYONE),
    ("the bootstrap token", True, "Bearer the bootstrap", auth.BOOTSTRAP),
    ("the scheme may be in small letters", True, "bearer the bootstrap", auth.BOOTSTRAP),
    ("a key", True, "Bearer a key's token", "reader"),
    ("a token of nobody", True, "Bearer other", None),
    ("a wrong one is refused where none is needed", False, "Bearer other", None),
    ("a beginning of the token", True, "Bearer the boot", None),
    ("another scheme", True, "Basic the bootstrap", None),
    ("no token", True, "Bearer ", None),
    ("nothing at all", False, "", None),
]


@pytest.mark.parametrize(("reason", "require", "given", "name"), TOKENS, ids=[row[0] for row in TOKENS])
def test_operators_are_known_by_their_tokens(reason: str, require: bool, given: str | None, name: str | None) -> None:
    """A token is the bootstrap one, or a key's; else it is nobody's."""
    tokens = auth.Tokens(_Known(), "the bootstrap", require=require)
    headers = {"host": "localhost"} | ({} if given is None else {"authorization": given})
    if name is None:
        with pytest.raises(UnauthorizedError):
            asyncio.run(tokens.caller(headers))
        return
    caller = asyncio.run(tokens.caller(headers))
    assert caller.name == name
    assert caller.scopes == ({"executions:read"} if name == "reader" else auth.ALL)


class _Away(_Known):
    """Its store does not answer."""

    async def key(self, token: str) -> ApiKeyRow | None:
        raise StoreUnreachable("the store cannot be reached")


def test_the_bootstrap_token_needs_no_store() -> None:
    """Anyone who has it can look at a server whose store is away; of another token nobody says that it is wrong."""
    tokens = auth.Tokens(_Away(), "the bootstrap", require=True)
    assert asyncio.run(tokens.caller({"authorization": "Bearer the bootstrap"})).name == auth.BOOTSTRAP
    with pytest.raises(StoreUnreachable):
        asyncio.run(tokens.caller({"authorization": "Bearer a key's token"}))
