"""The routes of the console, each behind the same guards."""

import logging
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from rebuno.console import agents, audit, changes, entrance, guards, policy, questions, runs, static, steps
from rebuno.console.pages import render
from rebuno.console.sessions import OneTimeLink, Sessions
from rebuno.console.settings import ConsoleSettings
from rebuno.console.visit import ROOT, Console, ConsolePage, Visit, see_other
from rebuno.errors import NotFoundError, RebunoError, StoreError
from rebuno.server.failures import refusal
from rebuno.server.metrics import ROUTE
from rebuno.server.routes import Server

logger: Final = logging.getLogger("rebuno.console")
PAGES: Final = (*questions.PAGES, *runs.PAGES, *steps.PAGES, *changes.PAGES, *agents.PAGES, *audit.PAGES, *policy.PAGES)


def mounted(
    server: Server, settings: ConsoleSettings, *, door: OneTimeLink | None = None, login: str = ""
) -> list[BaseRoute]:
    """The routes of a console on this server, all below `/console`. With a `door` only those come in who have its link,
    and they are `login`."""
    console = Console(server, server.store, settings, Sessions(server.tokens.secret("console")), door, login)
    routes: list[BaseRoute] = [Route(f"{ROOT}/static/{{name}}", static.file, methods=["GET"])]
    routes += [_open(console, *page) for page in entrance.PAGES]
    routes += [_route(console, page) for page in PAGES]
    routes.append(_route(console, ConsolePage("GET", ROOT, _home)))
    routes.append(_route(console, ConsolePage("GET", f"{ROOT}/{{rest:path}}", _nothing)))
    return routes


def _open(console: Console, method: str, path: str, handle: entrance.OpenHandler) -> Route:
    """A route for somebody who is not known yet."""

    async def endpoint(request: Request) -> Response:
        request.scope[ROUTE] = path
        try:
            host = guards.check_host(request, console.settings)
            if method == "POST":
                guards.check_origin(request, host)
            answer = await handle(console, request)
        except RebunoError as error:
            answer = failed(error, None)
        return _guarded(answer)

    return Route(path, endpoint, methods=[method])


def _route(console: Console, page: ConsolePage) -> Route:
    async def endpoint(request: Request) -> Response:
        request.scope[ROUTE] = page.path
        visit = None
        try:
            host = guards.check_host(request, console.settings)
            known = await entrance.known(console, request)
            if known is None:
                return _guarded(_to_sign_in(request) if console.door is None else entrance.closed())
            caller, session, fresh = known
            visit = Visit(console, request, caller, session)
            if page.method == "POST":
                guards.check_origin(request, host)
                visit.fields = await guards.read_form(request)
                guards.check_form(console.sessions, session, visit.fields)
            caller.need(*page.scopes)
            answer = await page.handle(visit)
            if fresh:
                entrance.remember(console, request, answer, session)
        except RebunoError as error:
            answer = failed(error, visit)
        return _guarded(answer)

    return Route(page.path, endpoint, methods=[page.method])


def failed(error: RebunoError, visit: Visit | None) -> Response:
    """The page that says what went wrong."""
    status, _, message, details = refusal(error)
    if status >= 500:
        kind = "the store" if isinstance(error, StoreError) else type(error).__name__
        logger.error("%s failed a page: %s", kind, error)
    values = {"code": status, "message": message, "details": details or []}
    if visit is None:
        return HTMLResponse(render("failed.html", {"root": ROOT, "tabs": [], "here": ""} | values), status)
    return visit.page("failed.html", status, **values)


def _to_sign_in(request: Request) -> Response:
    if request.headers.get("hx-request") == "true" or request.url.path.startswith(f"{ROOT}/live"):
        return Response("sign in first", 401, media_type="text/plain")
    if request.method != "GET":
        return see_other(f"{ROOT}/sign-in")
    query = f"?{request.url.query}" if request.url.query else ""
    return see_other(f"{ROOT}/sign-in?next={quote(request.url.path + query, safe='')}")


def _guarded(answer: Response) -> Response:
    for name, value in guards.HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


async def _home(visit: Visit) -> Response:
    tabs = visit.shared()["tabs"]
    if not tabs:
        return visit.page("nothing.html")
    return see_other(tabs[0].path)


async def _nothing(visit: Visit) -> Response:
    raise NotFoundError("there is no such page")
