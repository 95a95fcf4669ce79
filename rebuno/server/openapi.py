"""The OpenAPI document, made from the table of routes."""

import re
from collections.abc import Iterable
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from rebuno.model import identity
from rebuno.server.routes import Endpoint, Who
from rebuno.server.wire.answers import Error

_REF: Final = "#/components/schemas/{model}"
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_DISPATCH: Final = ("Rebuno-Dispatch-Id", "Rebuno-Dispatch-Attempt")
_STREAM: Final = {"type": "string"}


def document(endpoints: Iterable[Endpoint], version: str) -> str:
    """The document as JSON."""
    table = tuple(endpoints)
    bodies = {endpoint.body for endpoint in table if endpoint.body is not None}
    _, taken = models_json_schema([(body, "validation") for body in bodies], ref_template=_REF)
    schemas: dict[str, Any] = dict(taken.get("$defs", {}))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in table:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    _schema(Error, schemas)
    return identity.canonical(
        {
            "openapi": "3.1.0",
            "info": {"title": "Rebuno", "version": version, "summary": "A kernel between agents and their effects."},
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer"},
                    "agent": {"type": "apiKey", "in": "header", "name": "Rebuno-Signature"},
                },
            },
        }
    )


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    security: dict[Who, list[dict[str, list[str]]]] = {
        Who.ANYONE: [],
        Who.OPERATOR: [{"token": []}],
        Who.AGENT: [{"agent": []}],
        Who.EITHER: [{"token": []}, {"agent": []}],
    }
    made: dict[str, Any] = {
        "operationId": endpoint.handle.__name__,
        "summary": endpoint.handle.__doc__,
        "security": security[endpoint.who],
        "parameters": [*_parameters(endpoint)],
        "responses": {str(endpoint.status): _success(endpoint, schemas), "default": _refused()},
    }
    if endpoint.scopes:
        made["description"] = "Scopes: " + ", ".join(scope.value for scope in endpoint.scopes)
    if endpoint.body is not None:
        required = any(field.is_required() for field in endpoint.body.model_fields.values())
        made["requestBody"] = {"required": required, "content": _json({"$ref": _ref(endpoint.body)})}
    return made


def _parameters(endpoint: Endpoint) -> Iterable[dict[str, Any]]:
    for name in _PARAMETER.findall(endpoint.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    if endpoint.query is not None:
        shape = endpoint.query.model_json_schema()
        for name, schema in shape["properties"].items():
            yield {"name": name, "in": "query", "required": False, "schema": schema}
    if endpoint.dispatched:
        for name in _DISPATCH:
            yield {"name": name, "in": "header", "required": True, "schema": {"type": "string"}}
    if endpoint.who in (Who.AGENT, Who.EITHER):
        for name in ("Rebuno-Agent-Id", "Rebuno-Timestamp"):
            needed = endpoint.who is Who.AGENT
            yield {"name": name, "in": "header", "required": needed, "schema": {"type": "string"}}


def _success(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    if endpoint.status == 204:
        return {"description": "done"}
    if endpoint.answer is None:
        return {"description": "the answer", "content": {endpoint.media: {"schema": _STREAM}}}
    return {"description": "the answer", "content": _json(_schema(endpoint.answer, schemas))}


def _refused() -> dict[str, Any]:
    return {"description": "a refusal", "content": _json({"$ref": _ref(Error)})}


def _schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema of an answer; a model, and those that it is made of, stand among `schemas`."""
    schema = TypeAdapter(kind).json_schema(mode="serialization", ref_template=_REF)
    schemas.update(schema.pop("$defs", {}))
    if not isinstance(kind, type):
        return schema
    schemas[kind.__name__] = schema
    return {"$ref": _ref(kind)}


def _ref(model: type) -> str:
    return _REF.format(model=model.__name__)


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
