"""The application: every route of the protocol around one replica's kernel."""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rebuno.errors import RebunoError
from rebuno.journal.served import ServedStore
from rebuno.kernel import Observer, Serving, Settings
from rebuno.model.bounds import Bounds
from rebuno.policy import Layer, Source
from rebuno.server import agents, clients, histories, openapi, operators
from rebuno.server.auth import Tokens
from rebuno.server.failures import answer, broken, not_served, refused
from rebuno.server.metrics import CountedApp, Metrics
from rebuno.server.routes import Server, served
from rebuno.server.tracing import TracedMetrics
from rebuno.server.webhooks import AllowList

ENDPOINTS: Final = (*agents.ENDPOINTS, *clients.ENDPOINTS, *histories.ENDPOINTS, *operators.ENDPOINTS)


def assemble(
    store: ServedStore,
    *,
    bearer_token: str = "",
    open_to_all: bool = False,
    permissive: bool = False,
    layers: Sequence[Source] = (),
    shadows: Sequence[Layer] = (),
    allowed: AllowList | None = None,
    settings: Settings | None = None,
    bounds: Bounds | None = None,
    spans: Observer | None = None,
) -> Server:
    """One replica over a store. Callers need a valid token, unless it is `open_to_all`: then a caller without a token
    may do everything. `spans` learns of what has ended. The other arguments are those of `Serving` and `AllowList`.

    Raises:
        BundleError: a layer has errors.
    """
    metrics = Metrics() if spans is None else TracedMetrics(spans)
    serving = Serving(store, layers=layers, shadows=shadows, permissive=permissive, settings=settings, observer=metrics)
    tokens = Tokens(serving, bearer_token, require=not open_to_all)
    return Server(serving, store, tokens, metrics, allowed if allowed is not None else AllowList(), bounds or Bounds())


@cache
def document() -> str:
    """The OpenAPI document of every route, as JSON."""
    return openapi.document(ENDPOINTS, version("rebuno-kernel"))


def app(server: Server, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """The ASGI application of a replica, with these pages besides. Deliveries and sweeps are not in it: see
    `rebuno.server.run.serve`."""
    routes = [*served(ENDPOINTS, server), *pages]

    made = Starlette(
        routes=[*routes, Route("/openapi.json", _schema)],
        exception_handlers={RebunoError: refused, HTTPException: not_served, Exception: broken},
    )
    made.add_middleware(CountedApp, metrics=server.metrics)
    # What is not there is not there: nobody is sent elsewhere.
    made.router.redirect_slashes = False
    return made


async def _schema(request: Request) -> Response:
    return answer(200, document())
