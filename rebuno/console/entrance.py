"""How people come in: the sign-in with a key, the link of `rebuno console`, the header of a proxy."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from rebuno.console import guards
from rebuno.console.pages import render
from rebuno.console.sessions import LIFETIME, ConsoleSession, SessionKind, mark_of
from rebuno.console.visit import ROOT, Console, see_other
from rebuno.errors import ForbiddenError, UnauthorizedError
from rebuno.kernel import check_person
from rebuno.server.auth import ALL, ANYONE, BOOTSTRAP, Caller

COOKIE: Final = "rebuno_console"
OpenHandler = Callable[[Console, Request], Awaitable[Response]]


async def known(console: Console, request: Request) -> tuple[Caller, ConsoleSession, bool] | None:
    """Who has sent a request, and whether the browser is to be told of the session; None where they must sign in.

    Raises:
        ForbiddenError, ValidationError: a proxy names nobody, or a person whose name cannot be one.
    """
    session = console.sessions.read(request.cookies.get(cookie_name(request), ""))
    if console.settings.is_proxy(request.client.host if request.client else ""):
        return _person(console, request, session)
    if session is not None and (caller := await _caller(console, session)) is not None:
        return caller, session, False
    if console.server.tokens.open_to_all and console.door is None:
        return Caller(ANYONE, ALL), console.sessions.begin(SessionKind.ANYONE, ""), True
    return None


def _person(console: Console, request: Request, session: ConsoleSession | None) -> tuple[Caller, ConsoleSession, bool]:
    named = request.headers.getlist(console.settings.header)
    if len(named) != 1 or not named[0].strip():
        raise ForbiddenError(f"the proxy does not say who this is: one header `{console.settings.header}` is needed")
    try:
        name = named[0].strip().encode("latin-1").decode()
    except UnicodeError:
        raise ForbiddenError("the name that the proxy gives is no UTF-8") from None
    check_person(name)
    if name in (ANYONE, BOOTSTRAP):
        raise ForbiddenError(f"`{name}` is the name of no person")
    caller = Caller(name, frozenset(console.settings.scopes))
    if session is not None and session.kind is SessionKind.PROXY and session.name == name:
        return caller, session, False
    return caller, console.sessions.begin(SessionKind.PROXY, name), True


async def _caller(console: Console, session: ConsoleSession) -> Caller | None:
    match session.kind:
        case SessionKind.ANYONE:
            return Caller(ANYONE, ALL) if console.server.tokens.open_to_all and console.door is None else None
        case SessionKind.BOOTSTRAP:
            return Caller(BOOTSTRAP, ALL)
        case SessionKind.LOGIN:
            return Caller(console.login, ALL) if console.door is not None else None
        case SessionKind.KEY:
            keys = [key for key in await console.serving.keys() if key.id == session.name and not key.revoked_at]
            if not keys or mark_of(keys[0].token_hash) != session.mark:
                return None
            return Caller(keys[0].name, frozenset(keys[0].granted), agents=frozenset(keys[0].agents))
        case _:
            # Only a request of the proxy itself is a person's.
            return None


def cookie_name(request: Request) -> str:
    """The cookie of this host. Browsers do not keep the ports of one host apart."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdecimal() else COOKIE


def remember(console: Console, request: Request, answer: Response, session: ConsoleSession) -> None:
    """Gives the browser its cookie."""
    answer.set_cookie(
        cookie_name(request),
        console.sessions.sealed(session),
        max_age=LIFETIME,
        path=ROOT,
        secure=console.settings.secure,
        httponly=True,
        samesite="strict",
    )


def _form(console: Console, destination: str, message: str = "", status: int = 200) -> Response:
    values = {"root": ROOT, "tabs": [], "here": "", "next": destination, "message": message}
    if console.door is not None:
        return closed()
    return HTMLResponse(render("sign_in.html", values), status)


def closed() -> Response:
    """The page for a browser that has not come by the link."""
    return HTMLResponse(render("closed.html", {"root": ROOT, "tabs": [], "here": ""}), 403)


async def sign_in_page(console: Console, request: Request) -> Response:
    """Asks for a key."""
    return _form(console, _inside(request.query_params.get("next", "")))


async def sign_in(console: Console, request: Request) -> Response:
    """Takes a key, and begins a session of it."""
    fields = await guards.read_form(request)
    token, destination = fields.get("key", [""])[0].strip(), _inside(fields.get("next", [""])[0])
    if console.door is not None:
        return _form(console, destination)
    try:
        if not token.isascii() or not token.isprintable() or not token:
            raise UnauthorizedError("a key has letters, digits and signs only")
        caller = await console.server.tokens.caller({"authorization": f"Bearer {token}"})
    except UnauthorizedError as error:
        return _form(console, destination, error.message, 401)
    if caller.name == BOOTSTRAP:
        session = console.sessions.begin(SessionKind.BOOTSTRAP, "")
    else:
        key = await console.serving.key(token)
        if key is None:
            return _form(console, destination, "this key was revoked", 401)
        session = console.sessions.begin(SessionKind.KEY, key.id, mark=mark_of(key.token_hash))
    answer = see_other(destination)
    remember(console, request, answer, session)
    return answer


async def sign_out(console: Console, request: Request) -> Response:
    """Ends the session of this browser."""
    answer = see_other(f"{ROOT}/sign-in")
    answer.delete_cookie(cookie_name(request), path=ROOT, httponly=True, samesite="strict")
    return answer


async def enter(console: Console, request: Request) -> Response:
    """Takes the link that `rebuno console` has opened."""
    session = console.sessions.read(request.cookies.get(cookie_name(request), ""))
    if console.door is None or session is not None:
        return see_other(ROOT)
    if not console.door.opens(request.query_params.get("link", "")):
        return _form(console, ROOT)
    answer = see_other(ROOT)
    remember(console, request, answer, console.sessions.begin(SessionKind.LOGIN, console.login))
    return answer


def _inside(path: str) -> str:
    """Where to go after the sign-in: only to a page of the console."""
    inside = path == ROOT or path.startswith((f"{ROOT}/", f"{ROOT}?"))
    return path if inside and path.isascii() and path.isprintable() and "\\" not in path else ROOT


PAGES: Final = (
    ("GET", f"{ROOT}/sign-in", sign_in_page),
    ("POST", f"{ROOT}/sign-in", sign_in),
    ("POST", f"{ROOT}/sign-out", sign_out),
    ("GET", f"{ROOT}/enter", enter),
)
