"""`rebuno console --url`: the console of a server, shown on loopback. Requests are passed on under the key of the one
who has started it, which no browser gets to see."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final
from urllib.parse import urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rebuno.console import guards
from rebuno.console.entrance import closed, cookie_name
from rebuno.console.local import LOOPBACK, entered, until_stopped
from rebuno.console.pages import render
from rebuno.console.sessions import LIFETIME, OneTimeLink, SessionKind, Sessions
from rebuno.console.settings import ConsoleSettings
from rebuno.console.visit import ROOT
from rebuno.errors import NetworkError, RebunoError, UnauthorizedError, ValidationError
from rebuno.server.failures import refusal
from rebuno.server.run import bound

_TIMEOUT: Final = 60.0
# What of a request and of an answer is passed on.
_SENT: Final = ("accept", "content-type", "hx-request", "hx-target", "hx-trigger", "last-event-id")
_GIVEN: Final = ("content-type", "content-disposition", "cache-control", "etag")


class ForwardedConsole:
    """The pages of a server's console, for the one browser that has come by the link."""

    def __init__(self, url: str, key: str, secret: bytes) -> None:
        place = urlsplit(url)
        self._origin = f"{place.scheme}://{place.netloc}"
        self._key = key
        self._http = httpx2.AsyncClient(base_url=self._origin, timeout=_TIMEOUT, follow_redirects=False)
        self._sessions = Sessions(secret)
        self._settings = ConsoleSettings()
        self.door = OneTimeLink()
        self.closing = asyncio.Event()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def sign_in(self) -> None:
        """Begins a session on the server.

        Raises:
            NetworkError: it is not reached, or has no console.
            UnauthorizedError: it does not know the key.
        """
        form = {"key": self._key, "next": ROOT}
        try:
            if self._key:
                answer = await self._http.post(f"{ROOT}/sign-in", data=form, headers={"origin": self._origin})
            else:
                answer = await self._http.get(ROOT)
        except httpx2.HTTPError as error:
            raise NetworkError(f"the server at {self._origin} is not reached: {error}") from None
        if answer.status_code == 401 or answer.headers.get("location", "").startswith(f"{ROOT}/sign-in"):
            raise UnauthorizedError("the server does not know this key")
        if answer.status_code != 303:
            raise NetworkError(
                f"the server at {self._origin} has no console ({answer.status_code}); is it an older one?"
            )

    async def page(self, request: Request) -> Response:
        """Passes a request on, for the browser that has come by the link."""
        try:
            host = guards.check_host(request, self._settings)
            if self._sessions.read(request.cookies.get(cookie_name(request), "")) is None:
                return _guarded(closed())
            if request.method == "POST":
                guards.check_origin(request, host)
            return await self._passed_on(request, await _body(request))
        except RebunoError as error:
            status = refusal(error)[0]
            values = {"root": ROOT, "tabs": [], "here": "", "code": status, "message": str(error), "details": []}
            return _guarded(HTMLResponse(render("failed.html", values), 502 if status >= 500 else status))

    async def enter(self, request: Request) -> Response:
        """Takes the link."""
        try:
            guards.check_host(request, self._settings)
        except RebunoError:
            return _guarded(closed())
        known = self._sessions.read(request.cookies.get(cookie_name(request), ""))
        if known is None and not self.door.opens(request.query_params.get("link", "")):
            return _guarded(closed())
        answer = RedirectResponse(ROOT, 303)
        if known is None:
            sealed = self._sessions.sealed(self._sessions.begin(SessionKind.LOGIN, ""))
            name = cookie_name(request)
            answer.set_cookie(name, sealed, max_age=LIFETIME, path=ROOT, httponly=True, samesite="strict")
        return _guarded(answer)

    async def _passed_on(self, request: Request, body: bytes, *, again: bool = True) -> Response:
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        if request.method == "POST":
            headers["origin"] = self._origin
        asked = self._http.build_request(request.method, target, headers=headers, content=body or None)
        try:
            answer = await self._http.send(asked, stream=True)
        except httpx2.HTTPError as error:
            raise NetworkError(f"the server at {self._origin} is not reached: {error}") from None
        elsewhere = answer.headers.get("location", "")
        if again and (answer.status_code == 401 or elsewhere.startswith(f"{ROOT}/sign-in")):
            # The session on the server is over, or was never begun.
            await answer.aclose()
            await self.sign_in()
            if request.method == "POST":
                return _guarded(RedirectResponse(ROOT, 303))
            return await self._passed_on(request, body, again=False)
        given = {name: answer.headers[name] for name in _GIVEN if name in answer.headers}
        if elsewhere.startswith(ROOT):
            given["location"] = elsewhere
        return _guarded(StreamingResponse(self._pieces(answer), answer.status_code, given))

    async def _pieces(self, answer: httpx2.Response) -> AsyncIterator[bytes]:
        closing = asyncio.ensure_future(self.closing.wait())
        pieces = aiter(answer.aiter_bytes())
        try:
            while True:
                coming = asyncio.ensure_future(anext(pieces))
                await asyncio.wait({coming, closing}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    return
                try:
                    yield coming.result()
                except (StopAsyncIteration, httpx2.HTTPError):
                    return
        finally:
            closing.cancel()
            await answer.aclose()


async def forwarded(url: str, key: str, *, port: int, secret: bytes, started: Callable[[str], None]) -> None:
    """Shows the console of the server at `url` on loopback until SIGINT or SIGTERM, signed in with `key` (empty: as
    anyone, as servers for development allow); `started` is called with the link that lets its bearer in.

    Raises:
        ValidationError: the key is none.
        NetworkError: the server is not reached, or has no console.
        UnauthorizedError: it does not know the key.
        OSError: the port cannot be had.
    """
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValidationError("the API key holds a character that no key of a kernel has; look at REBUNO_API_KEY")
    with bound(LOOPBACK, port) as listening:
        console = ForwardedConsole(url, key, secret)
        try:
            await console.sign_in()
            routes = [
                Route(f"{ROOT}/enter", console.enter, methods=["GET"]),
                Route(ROOT, console.page, methods=["GET"]),
                Route(f"{ROOT}/{{rest:path}}", console.page, methods=["GET", "POST"]),
            ]
            application = Starlette(routes=routes)
            application.router.redirect_slashes = False
            await until_stopped(application, listening, console.closing, lambda at: started(entered(at, console.door)))
        finally:
            await console.close()


def _guarded(answer: Response) -> Response:
    for name, value in guards.HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


async def _body(request: Request) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > guards.MOST_FORM_BYTES:
            raise ValidationError(f"a form has at most {guards.MOST_FORM_BYTES:,} bytes")
        pieces.append(piece)
    return b"".join(pieces)
