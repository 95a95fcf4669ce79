"""The OpenAPI document: whole, and true of what is answered."""

import json
import re
from typing import Any

from rebuno.server.app import ENDPOINTS, document
from rebuno.server.routes import Who
from tests.server.support import Running, play

DOCUMENT: dict[str, Any] = json.loads(document())


def _references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(_references, part.values()))
    return set().union(*map(_references, part)) if isinstance(part, list) else set()


def test_every_route_is_described() -> None:
    """With a name of its own, what it needs, every part of its path, and how it answers."""
    names: set[str] = set()
    for endpoint in ENDPOINTS:
        told = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]
        names.add(told["operationId"])
        assert told["summary"], endpoint.path
        assert bool(told["security"]) == (endpoint.who is not Who.ANYONE)
        assert set(told["responses"]) == {str(endpoint.status), "default"}
        parts = {one["name"] for one in told["parameters"] if one["in"] == "path"}
        assert parts == set(re.findall(r"\{(\w+)\}", endpoint.path))
        assert ("requestBody" in told) == (endpoint.body is not None)
        assert ("content" in told["responses"][str(endpoint.status)]) == (endpoint.status != 204)
    assert len(names) == len(ENDPOINTS)


def test_every_reference_leads_somewhere() -> None:
    """The document stands by itself."""
    known = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert _references(DOCUMENT) <= known
    assert _references(DOCUMENT)


def test_the_document_is_served_to_anyone() -> None:
    """At `/openapi.json`."""

    async def scenario(server: Running) -> None:
        answer = await server.plain.get("/openapi.json")
        assert answer.json() == DOCUMENT

    play(scenario)
