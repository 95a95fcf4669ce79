"""The files that pages load: styles, a script and htmx, held in memory and told apart by their digests."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from rebuno.console.guards import HEADERS

FILES: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
# A file under its digest never changes.
_KEEP: Final = "public, max-age=31536000, immutable"


@cache
def content(name: str) -> bytes:
    """The bytes of a file."""
    return (files("rebuno.console") / "static" / name).read_bytes()


@cache
def version(name: str) -> str:
    """What changes with the file."""
    return hashlib.sha256(content(name)).hexdigest()[:12]


async def file(request: Request) -> Response:
    """A file of the list."""
    name = request.path_params["name"]
    if name not in FILES:
        return Response("there is no such file", 404, HEADERS, "text/plain")
    kept = {"Cache-Control": _KEEP} if request.query_params.get("v") == version(name) else {}
    return Response(content(name), 200, HEADERS | kept, FILES[name])
