"""Each header of a caller in every spelling that is nearly right: refused by a typed error, or the very same thing."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import pytest

from rebuno.errors import APIError, UnauthorizedError, ValidationError
from rebuno.kernel import Dispatched, Serving
from rebuno.sdk import signing
from rebuno.server import auth
from tests.server.test_auth import DISPATCH, NOW, _agent, _headers, _Known, _signed

# What a spelling may have more, less or otherwise. Servers give headers as Latin-1, so each of its signs may come.
_ODD: Final = ("é", "\xff", "\x80", "\x00", "\x7f", "\t", "\n", "\r\n", "\xa0", "\x85", " ", "٣", "３", "’", "\ud800")


def variants(text: str) -> list[str]:
    """Spellings that are nearly `text`."""
    half = len(text) // 2
    around = [odd + text for odd in _ODD] + [text + odd for odd in _ODD]
    inside = [text[:half] + odd + text[half:] for odd in _ODD] + [text[:half] + odd + text[half + 1 :] for odd in _ODD]
    changed = [
        text[:-1],
        text[1:],
        text + text[-1],
        text + text,
        f'"{text}"',
        f"'{text}'",
        f"<{text}>",
        f"{text}, {text}",
    ]
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    cased = [other for other in (text.upper(), text.title(), text.swapcase()) if other != text]
    return [*around, *inside, *changed, *cased, wide, f"+{text}", f"-{text}", f"0{text}", f"{text}.0", f"0x{text}", ""]


@pytest.mark.parametrize("given", ["v1=é", "v1=", "é", "v1=" + "é" * 64, *variants(_signed())])
def test_a_signature(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature is its 64 small digits behind `v1=`, and nothing else; none makes the server fail."""
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    with pytest.raises(UnauthorizedError):
        _agent(_headers({"Rebuno-Signature": given}))


@pytest.mark.parametrize("given", variants(str(NOW)))
def test_a_time(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds in plain digits; a spelling that is signed as it is sent is judged like any other."""
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    signed = ""
    if "\ud800" not in given:
        signed = signing.request("test-secret", "POST", "/", given, b"", dispatch_id=DISPATCH, dispatch_attempt="3")
    headers = _headers({"Rebuno-Timestamp": given, "Rebuno-Signature": signed})
    if given == f"0{NOW}":
        assert asyncio.run(auth.agent(_Known(), headers, method="POST", target="/", body=b"")).agent_id == "known"
        return
    with pytest.raises(UnauthorizedError):
        asyncio.run(auth.agent(_Known(), headers, method="POST", target="/", body=b""))


@pytest.mark.parametrize("given", variants("known"))
def test_an_id(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's id is compared letter by letter."""
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    with pytest.raises(UnauthorizedError):
        _agent(_headers({"Rebuno-Agent-Id": given}))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(("Rebuno-Dispatch-Id", given) for given in variants(DISPATCH) if given.lower() != DISPATCH),
        *(("Rebuno-Dispatch-Attempt", given) for given in variants("3") if given not in ("33", "3")),
    ],
)
def test_a_dispatch(name: str, given: str) -> None:
    """An id and a count from 1, and nothing around them."""
    sent = {"Rebuno-Dispatch-Id": DISPATCH, "Rebuno-Dispatch-Attempt": "3", name: given}
    with pytest.raises(ValidationError):
        auth.dispatched({name.lower(): value for name, value in sent.items()})


def test_a_dispatch_in_capitals() -> None:
    """Ids in capitals are found."""
    sent = {"rebuno-dispatch-id": DISPATCH.upper(), "rebuno-dispatch-attempt": "33"}
    assert auth.dispatched(sent) == Dispatched(DISPATCH, 33)


TOKEN: Final = "the-bootstrap"


@pytest.mark.parametrize(
    "given",
    [
        *(f"Bearer {token}" for token in variants(TOKEN) if token.strip() != TOKEN),
        *(
            scheme + TOKEN
            for scheme in ("", "Bearer", "Bearer\t", "Bearer:", "Basic ", "Béarer ", "Ｂearer ", " Bearer ")
        ),
    ],
)
def test_a_token(given: str) -> None:
    """A token is compared letter by letter, and no sign in it makes the server fail."""
    tokens = auth.Tokens(_Known(), TOKEN, require=True)
    with pytest.raises(UnauthorizedError):
        asyncio.run(tokens.caller({"authorization": given}))


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN} "])
def test_a_token_as_it_is(given: str) -> None:
    """The scheme's case, and blanks around the token, mean nothing."""
    tokens = auth.Tokens(_Known(), TOKEN, require=True)
    assert asyncio.run(tokens.caller({"authorization": given})).name == auth.BOOTSTRAP


@pytest.mark.parametrize("given", variants(signing.webhook("test-secret", b"{}")))
def test_a_webhook(given: str) -> None:
    """The kernel's own signature, byte by byte, whatever bytes come in its place."""
    for encoding in ("utf-8", "latin-1"):
        raw = given.encode(encoding, "replace")
        assert not signing.is_webhook("test-secret", b"{}", raw)


def test_every_refusal_is_one_that_the_server_answers() -> None:
    """What is wrong with a header has a status of its own, and is no failure of the server."""
    checks: list[tuple[Callable[[], object], int]] = [
        (lambda: auth.dispatched({}), 400),
        (lambda: asyncio.run(auth.Tokens(_Known(), TOKEN, require=True).caller({})), 401),
    ]
    for check, status in checks:
        with pytest.raises(APIError) as refused:
            check()
        assert refused.value.status_code == status
    assert issubclass(_Known, Serving)
