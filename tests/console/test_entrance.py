"""Who comes in, and what a request must show."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rebuno.console import ConsoleSettings
from rebuno.console.guards import MOST_FORM_BYTES
from rebuno.console.sessions import OneTimeLink, SessionKind, Sessions
from rebuno.errors import ValidationError
from tests.console.support import Browser, browser, play, served, texts
from tests.server.support import TOKEN, Running


async def key(server: Running, *scopes: str, **more: Any) -> dict[str, Any]:
    """A key with these scopes."""
    made: dict[str, Any] = await server.post("/v0/api-keys", {"name": "ann", "scopes": scopes, **more}, status=201)
    return made


def test_a_stranger_is_asked_for_a_key_and_goes_on_to_the_page() -> None:
    """What they asked for comes after the sign-in."""

    async def scenario(server: Running, one: Browser) -> None:
        asked = await one.http.get("/console/questions?from=0")
        assert asked.status_code == 303
        to = asked.headers["location"]
        assert to == "/console/sign-in?next=%2Fconsole%2Fquestions%3Ffrom%3D0"
        assert "/console/questions?from=0" in await one.get(to)
        wrong = await one.send("/console/sign-in", {"key": "not-a-key", "next": "/console"})
        assert wrong.status_code == 401
        assert "not known here" in texts(wrong.text)
        right = await one.send("/console/sign-in", {"key": TOKEN, "next": "/console/questions?from=0"})
        assert right.headers["location"] == "/console/questions?from=0"
        assert "No question is open" in texts(await one.get("/console/questions"))

    play(scenario)


@pytest.mark.parametrize(
    "to",
    ["https://evil.example", "//evil.example", "/v0/agents", "/console\\@evil", "/consolex", "javascript:alert(1)"],
)
def test_the_sign_in_leads_to_pages_of_the_console_only(to: str) -> None:
    """Anything else is the first page."""

    async def scenario(server: Running, one: Browser) -> None:
        answer = await one.send("/console/sign-in", {"key": TOKEN, "next": to})
        assert answer.headers["location"] == "/console"

    play(scenario)


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites() -> None:
    """One cookie, strict, and secure where browsers come by https."""

    async def scenario() -> None:
        async with served(ConsoleSettings(secure=True)) as server, browser(server.url) as one:
            answer = await one.send("/console/sign-in", {"key": TOKEN})
            [cookie] = answer.headers.get_list("set-cookie")
            parts = {part.strip().lower() for part in cookie.split(";")[1:]}
            assert {"httponly", "secure", "samesite=strict", "path=/console"} <= parts
            assert TOKEN not in cookie

    asyncio.run(scenario())


def test_every_answer_carries_the_policy_of_its_content() -> None:
    """Pages, files, refusals, what is not there."""

    async def scenario(server: Running, one: Browser) -> None:
        await one.sign_in()
        paths = ("/console/questions", "/console/static/console.js", "/console/none", "/console/static/x", "/console")
        for path in paths:
            answer = await one.http.get(path)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert (await one.http.get("/console/none")).status_code == 404

    play(scenario)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "2130706433", "", "evil.example:80"])
def test_a_name_that_is_not_ours_is_not_served(host: str) -> None:
    """A page of somebody who lets a name lead here reads nothing."""

    async def scenario(server: Running, one: Browser) -> None:
        await one.sign_in()
        answer = await one.http.get("/console/questions", headers={"host": host})
        assert answer.status_code in (400, 421)

    play(scenario)


def test_a_name_that_the_operator_gives_is_served() -> None:
    """With and without a port."""

    async def scenario() -> None:
        settings = ConsoleSettings.read(hosts=("Rebuno.example.com",))
        async with served(settings) as server, browser(server.url) as one:
            for host in ("rebuno.example.com", "rebuno.example.com:8443"):
                assert (await one.http.get("/console/sign-in", headers={"host": host})).status_code == 200

    asyncio.run(scenario())


FOREIGN: list[dict[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "file://"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("path", ["/console/questions", "/console/sign-in", "/console/sign-out"])
def test_a_form_of_another_site_is_refused(headers: dict[str, str], path: str) -> None:
    """Though the cookie came along."""

    async def scenario(server: Running, one: Browser) -> None:
        await one.sign_in()
        answer = await one.send(path, {"answer": "grant"}, **headers)
        assert answer.status_code == 403

    play(scenario)


def test_a_form_needs_an_origin() -> None:
    """A program that sends neither header uses the interface of programs."""

    async def scenario(server: Running, one: Browser) -> None:
        assert (await one.http.post("/console/sign-in", data={"key": TOKEN})).status_code == 403

    play(scenario)


def test_a_form_without_the_token_of_its_session_does_nothing(tmp_path: Path) -> None:
    """None, a wrong one, that of another session of the same key."""

    async def scenario(server: Running, one: Browser) -> None:
        await one.sign_in()
        sessions = Sessions(server.server.tokens.secret("console"))
        other = sessions.form_token(sessions.begin(SessionKind.BOOTSTRAP, ""))
        for given in ("", "0" * 64, other, "é"):
            answer = await one.send("/console/questions", {"form_token": given, "question": "x", "answer": "grant"})
            assert answer.status_code == 403
            assert "not of this session" in texts(answer.text)

    play(scenario)


def test_a_form_is_bounded() -> None:
    """Its size, its type, its bytes."""

    async def scenario(server: Running, one: Browser) -> None:
        await one.sign_in()
        path, origin = "/console/questions", {"origin": one.url}
        large = await one.http.post(
            path,
            content=b"a=" + b"x" * MOST_FORM_BYTES,
            headers={**origin, "content-type": "application/x-www-form-urlencoded"},
        )
        assert large.status_code == 413
        for kind, body in (
            ("application/json", b"{}"),
            ("multipart/form-data", b""),
            ("application/x-www-form-urlencoded", b"a=%00"),
            ("application/x-www-form-urlencoded", b"a=%ff"),
            ("application/x-www-form-urlencoded", b"a=\xff"),
        ):
            answer = await one.http.post(path, content=body, headers={**origin, "content-type": kind})
            assert answer.status_code == 400, (kind, body)

    play(scenario)


def test_a_key_sees_what_its_scopes_say() -> None:
    """Without the scope the page is refused, and nobody is led there."""

    async def scenario(server: Running, one: Browser) -> None:
        made = await key(server, "executions:read")
        await one.sign_in(made["token"])
        said = texts(await one.get("/console/questions", 403))
        assert "approvals:read" in said
        answer = await one.send("/console/questions", {"answer": "grant"})
        assert answer.status_code == 403

    play(scenario)


def test_a_revoked_key_and_a_rotated_one_end_their_sessions() -> None:
    """At the next request."""

    async def scenario(server: Running, one: Browser) -> None:
        for end in ("rotate", "revoke"):
            made = await key(server, "approvals:read")
            await one.sign_in(made["token"])
            await one.get("/console/questions")
            path = f"/v0/api-keys/{made['id']}"
            ended = await (server.http.post(f"{path}/rotate") if end == "rotate" else server.http.delete(path))
            assert ended.is_success
            assert (await one.http.get("/console/questions")).status_code == 303

    play(scenario)


def test_a_changed_cookie_is_no_session() -> None:
    """A letter of it, another secret, or what is no cookie of ours."""

    async def scenario(server: Running, one: Browser) -> None:
        await one.sign_in()
        [(name, value)] = one.http.cookies.items()
        forged = Sessions(b"another").sealed(Sessions(b"another").begin(SessionKind.BOOTSTRAP, ""))
        swapped = ("A" if value[0] != "A" else "B") + value[1:]
        for bad in (swapped, value + "0", forged, "x", ".", "a.b.c", "x" * 5000):
            one.http.cookies.clear()
            answer = await one.http.get("/console/questions", headers={"cookie": f"{name}={bad}"})
            assert answer.status_code == 303, bad

    play(scenario)


def test_signing_out_forgets_the_session() -> None:
    """The browser has no cookie any more."""

    async def scenario(server: Running, one: Browser) -> None:
        await one.sign_in()
        assert (await one.send("/console/sign-out", {})).status_code == 303
        assert not one.http.cookies
        assert (await one.http.get("/console/questions")).status_code == 303

    play(scenario)


def test_a_server_for_development_lets_anybody_in_who_reaches_it_by_its_address() -> None:
    """And still takes no form of another site."""

    async def scenario(server: Running, one: Browser) -> None:
        assert "anyone" in texts(await one.get("/console/questions"))
        fields = {"form_token": await one.form_token(), "answer": "grant"}
        assert (await one.send("/console/questions", fields, origin="https://evil.example")).status_code == 403
        assert (await one.send("/console/questions", fields)).status_code == 400
        assert (await one.http.get("/console/questions", headers={"host": "evil.example"})).status_code == 421

    play(scenario, open_to_all=True, bearer_token="")


PROXY = ConsoleSettings.read(proxies=("127.0.0.0/8",), scopes=("approvals:read",))


def test_a_proxy_says_who_a_person_is() -> None:
    """Only one of the configured addresses, with one name; the scopes are those of the settings."""

    async def scenario() -> None:
        async with served(PROXY) as server, browser(server.url) as one:
            named = await one.http.get("/console/questions", headers=[(b"x-forwarded-user", "Jürgen".encode())])
            assert "Jürgen" in texts(named.text)
            twice = [("x-forwarded-user", "ann"), ("x-forwarded-user", "root")]
            for headers in ([], [("x-forwarded-user", "")], twice, [("x-forwarded-user", "bootstrap")]):
                answer = await one.http.get("/console/questions", headers=headers)
                assert answer.status_code in (400, 403), headers
            hidden = [(b"x-forwarded-user", "a\u200bnn".encode())]
            assert (await one.http.get("/console/questions", headers=hidden)).status_code == 400
            answer = await one.send("/console/questions", {"answer": "grant"}, **{"x-forwarded-user": "ann"})
            assert answer.status_code == 403
        elsewhere = ConsoleSettings.read(proxies=("10.0.0.7",))
        async with served(elsewhere) as server, browser(server.url) as one:
            answer = await one.http.get("/console/questions", headers={"x-forwarded-user": "ann"})
            assert answer.status_code == 303

    asyncio.run(scenario())


def test_a_session_of_a_proxys_person_is_nobody_without_the_proxy() -> None:
    """A cookie that was taken along says nothing of who sends it."""

    async def scenario() -> None:
        async with served(PROXY) as server, browser(server.url) as one:
            await one.http.get("/console/questions", headers={"x-forwarded-user": "ann"})
            cookies = dict(one.http.cookies)
            sealed = next(iter(cookies.values()))
            read = Sessions(server.server.tokens.secret("console")).read(sealed)
            assert read is not None
            assert (read.kind, read.name) == (SessionKind.PROXY, "ann")
        async with served() as server, browser(server.url) as one:
            sent = "; ".join(f"{name}={value}" for name, value in cookies.items())
            answer = await one.http.get("/console/questions", headers={"cookie": sent})
            assert answer.status_code == 303

    asyncio.run(scenario())


BAD: list[dict[str, Any]] = [
    {"hosts": ("a b",)},
    {"hosts": ("http://x",)},
    {"proxies": ("10.0.0.0/33",)},
    {"proxies": ("proxy",)},
    {"header": "a b"},
    {"header": "Cookie"},
    {"scopes": ("all",)},
]


@pytest.mark.parametrize("words", BAD)
def test_settings_that_cannot_be_are_refused(words: dict[str, Any]) -> None:
    """Before anything is served."""
    with pytest.raises(ValidationError):
        ConsoleSettings.read(**words)


def test_a_link_opens_once() -> None:
    """A wrong one does not use it up."""
    link = OneTimeLink()
    assert not link.opens("")
    assert not link.opens("\udc80")
    assert link.opens(link.token)
    assert not link.opens(link.token)
