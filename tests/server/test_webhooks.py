"""Webhooks: where they may go, and what arrives."""

import asyncio
import hashlib
import hmac
import json

import pytest

from rebuno.errors import NetworkError, ValidationError
from rebuno.kernel import Webhook
from rebuno.server.webhooks import AllowList, sender
from tests.server.support import inbox, only

ALLOWED: list[tuple[str, tuple[str, ...], str, bool]] = [
    ("no list allows any", (), "http://10.0.0.1:5000/webhook", True),
    ("the very same", ("https://a.example/hook",), "https://a.example/hook", True),
    ("below it", ("https://a.example/hook",), "https://a.example/hook/one?x=1", True),
    ("a name that begins like it", ("https://a.example/hook",), "https://a.example/hooks", False),
    ("above it", ("https://a.example/hook",), "https://a.example/", False),
    ("another scheme", ("https://a.example",), "http://a.example/", False),
    ("the usual port, spelled out", ("https://a.example",), "https://a.example:443/x", True),
    ("another port", ("https://a.example",), "https://a.example:8443/x", False),
    ("capitals in the host", ("https://a.example",), "https://A.Example/x", True),
    ("a dot at the host's end", ("https://a.example",), "https://a.example./x", True),
    ("a host that ends like it", ("https://a.example",), "https://evil-a.example/x", False),
    ("a host that begins like it", ("https://a.example",), "https://a.example.evil.test/x", False),
    ("below a domain", ("https://*.a.example",), "https://one.a.example/x", True),
    ("not the domain itself", ("https://*.a.example",), "https://a.example/x", False),
    ("not a domain that ends like it", ("https://*.a.example",), "https://evila.example/x", False),
    ("the second of two", ("https://b.example", "http://a.example"), "http://a.example/x", True),
    ("a user's name hides the host", (), "https://a.example@evil.test/", False),
    ("a backslash reads differently elsewhere", (), "https://evil.test\\@a.example/", False),
    ("a way up", ("https://a.example/hook",), "https://a.example/hook/../admin", False),
    ("a way up, escaped", ("https://a.example/hook",), "https://a.example/hook/%2E%2e/admin", False),
    ("a way up with an escaped slash", ("https://a.example/hook",), "https://a.example/hook/..%2Fadmin", False),
    ("a way up with an escaped backslash", ("https://a.example/hook",), "https://a.example/hook/..%5cadmin", False),
    ("a way up with a parameter", ("https://a.example/hook",), "https://a.example/hook/..;x/admin", False),
    ("dots that lead nowhere", ("https://a.example/hook",), "https://a.example/hook/...%2Fv1.2;x", True),
    ("a host that an escape ends", ("https://*.a.example",), "https://evil.test%2f.a.example/", False),
    ("a host that another sign may end", ("https://*.a.example",), "https://evil.test;.a.example/", False),
    ("a host with an empty label", ("https://*.a.example",), "https://.a.example/", False),
    ("an address", ("http://127.0.0.1:5000",), "http://127.0.0.1:5000/x", True),
    ("a newer address", ("http://[::1]:5000",), "http://[::1]:5000/x", True),
    ("a name of a container", (), "http://my_agent-1:5000/x", True),
    ("no web address", (), "file:///etc/passwd", False),
    ("no host", (), "http:///x", False),
    ("no port", (), "http://a.example:port/", False),
    ("a blank", (), "http://a.example/a b", False),
    ("a line feed", (), "http://a.example/\nx", False),
    ("a pattern is for lists", (), "https://*.a.example/", False),
]


@pytest.mark.parametrize(("reason", "prefixes", "url", "allowed"), ALLOWED, ids=[row[0] for row in ALLOWED])
def test_webhooks_go_where_they_may(reason: str, prefixes: tuple[str, ...], url: str, allowed: bool) -> None:
    """A URL is allowed where it stands below one of the list, read as a URL and not as text."""
    places = only(*prefixes)
    if allowed:
        places.check(url)
        return
    with pytest.raises(ValidationError):
        places.check(url)


@pytest.mark.parametrize("prefix", ["a.example", "https://a.*.example", "https://*", "https://*.*.example", "*"])
def test_a_list_holds_urls(prefix: str) -> None:
    """What is no URL, or a pattern in the wrong place, is no entry of a list."""
    with pytest.raises(ValidationError):
        AllowList([prefix])


def _webhook(url: str) -> Webhook:
    return Webhook(url, "secret", "e", "d", 2, 120.0)


def test_a_webhook_is_signed_and_says_what_to_do() -> None:
    """Its body has the protocol's four fields, and its signature is of these very bytes."""

    async def scenario() -> None:
        async with inbox() as box, sender(AllowList()) as send:
            assert await send(_webhook(box.url)) == 200
            told = await box.next()
        assert told.says == {
            "execution_id": "e",
            "dispatch_id": "d",
            "dispatch_attempt": 2,
            "lease_timeout_seconds": 120,
        }
        made = hmac.new(b"secret", told.body, hashlib.sha256).hexdigest()
        assert told.headers["rebuno-signature"] == f"sha256={made}"
        assert told.headers["content-type"] == "application/json"
        assert b"secret" not in told.body + json.dumps(told.headers).encode()

    asyncio.run(scenario())


def test_no_redirect_is_followed() -> None:
    """The answer counts as it is, and nobody else is told."""

    async def scenario() -> None:
        async with inbox() as other, inbox(307, f"location: {other.url}\r\n") as box, sender(AllowList()) as send:
            assert await send(_webhook(box.url)) == 307
            assert other.told.empty()

    asyncio.run(scenario())


def test_a_list_holds_when_a_webhook_is_sent() -> None:
    """An agent that was registered under another list is told nothing."""

    async def scenario() -> None:
        async with inbox() as box, sender(only("https://a.example")) as send:
            with pytest.raises(NetworkError, match="not allowed"):
                await send(_webhook(box.url))
            assert box.told.empty()

    asyncio.run(scenario())


def test_no_answer_is_an_error_that_keeps_the_secret() -> None:
    """Where nobody listens, the error says so and nothing of the secret."""

    async def scenario() -> None:
        async with inbox() as box:
            url = box.url
        async with sender(AllowList()) as send:
            with pytest.raises(NetworkError) as caught:
                await send(_webhook(url))
        assert "secret" not in str(caught.value)

    asyncio.run(scenario())
