"""One public model: every field of every answer of HTTP is in the client, in the command and in the embedded kernel,
under the same name and with the same value."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

import rebuno
from rebuno import types
from rebuno.policy import compile_text
from rebuno.server.app import document
from tests.cli.served import BUNDLE, server
from tests.cli.test_shown import Place, created
from tests.server.support import BEARER

SCHEMAS: Final[dict[str, Any]] = json.loads(document())["components"]["schemas"]
MODELS: Final = ("Execution", "Step", "Event", "Approval", "Agent", "ApiKey")
# Where the answers of a model come from, and the command that shows one of them.
PATHS: Final = {
    "Execution": "/v0/executions/{execution}",
    "Step": "/v0/executions/{execution}/steps",
    "Event": "/v0/executions/{execution}/events",
    "Approval": "/v0/approvals?status=all",
    "Agent": "/v0/agents",
    "ApiKey": "/v0/api-keys",
}
COMMANDS: Final = {
    "Execution": ("exec", "get", "{id}"),
    "Event": ("exec", "events", "{execution_id}"),
    "Approval": ("approval", "get", "{id}"),
    "Agent": ("agent", "get", "{id}"),
    "ApiKey": ("key", "ls"),
}
# JSON values of users, which are the same to the last empty text.
VALUES: Final = ("input", "output", "args", "result", "error", "payload", "input_schema", "output_schema", "definition")
# What is the same for everything there is, or told by another field, is not in the text.
NOT_IN_TEXT: Final = {"subject_groups", "restoration", "step_id", "execution_id", "scope", "hash"}


def fields(model: str) -> set[str]:
    """The fields of an answer by the OpenAPI document, those of the models inside it too."""
    found: set[str] = set()
    for name, schema in SCHEMAS[model]["properties"].items():
        found.add(name)
        inner = [schema, schema.get("items", {}), *schema.get("anyOf", ())]
        for ref in {part["$ref"].rsplit("/", 1)[1] for part in inner if "$ref" in part}:
            if "properties" in SCHEMAS[ref]:
                found |= {f"{name}.{each}" for each in fields(ref)}
    return found


def same(http: Any, ours: Any, where: str = "") -> None:
    """Holds what HTTP says against what we say: as much, under the same names, null where it is blank or left out."""
    if isinstance(http, dict) and where.rsplit(".", 1)[-1] not in VALUES:
        for name, value in http.items():
            assert name in ours, f"{where}.{name} is missing"
            same(value, ours[name], f"{where}.{name}")
        return
    if isinstance(http, list) and isinstance(ours, list):
        assert len(http) == len(ours), where
        for one, other in zip(http, ours, strict=True):
            same(one, other, where)
        return
    assert (http if http != "" else None) == ours, where


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server with an execution that completed, one that failed, one that waits for a person, an answered question
    and a revoked key."""
    with server(tmp_path_factory.mktemp("fields")) as (url, db):
        place = Place(url, db)
        place.ended(created(place, "{}", "--session", "march", "--on-behalf-of", "ana", "--id", "order-1"))
        place.ended(created(place, '{"fails": true}'))
        waits = created(place, '{"to": "eve"}')
        while not (row := place.http(waits))["blocked_on"]:
            pass
        answered = created(place, '{"to": "bob"}')
        while not (row := place.http(answered))["blocked_on"]:
            pass
        asked = row["blocked_on"][0]["id"]
        place.run("url", "approval", "deny", asked, "--as", "ben", "--rationale", "not today")
        place.ended(answered)
        key = json.loads(place.run("url", "key", "create", "ci", "--scope", "executions:read", "--json").out)
        place.run("url", "key", "rm", key["id"])
        yield place


def answers(place: Place, model: str) -> list[dict[str, Any]]:
    """What HTTP answers of a model, of every execution that there is."""
    with httpx2.Client(base_url=place.url, headers=BEARER) as http:
        rows = http.get("/v0/executions").json()["executions"]
        paths = dict.fromkeys(PATHS[model].format(execution=row["id"]) for row in rows)
        found = [http.get(path).json() for path in paths]
    return [one for said in found for one in (said if isinstance(said, list) else [said])]


@pytest.mark.parametrize("model", MODELS)
def test_the_client_has_every_field(place: Place, model: str) -> None:
    """As an attribute of that name."""
    kind: type[types.Model] = getattr(types, model)
    rows = answers(place, model)
    assert rows
    for row in rows:
        read = kind.model_validate(row)
        same(row, read.model_dump(mode="json"))
        assert all(hasattr(read, name) for name in SCHEMAS[model]["properties"])


@pytest.mark.parametrize("way", ["url", "db"])
@pytest.mark.parametrize("model", COMMANDS)
def test_the_command_has_every_field(place: Place, model: str, way: str) -> None:
    """In its JSON with the same value, whether it asks the server or reads the store."""
    missing = {name for name in fields(model) if "." not in name}
    for row in answers(place, model):
        argv = [part.format(**row) for part in COMMANDS[model]]
        said = json.loads(place.run(way, *argv, "--json").out)
        if model == "ApiKey":
            said = next(one for one in said["keys"] if one["id"] == row["id"])
        if model == "Event":
            said = next(one for one in said["events"] if one["event_seq"] == row["event_seq"])
        same(row, said)
        missing -= said.keys()
    assert not missing


@pytest.mark.parametrize("way", ["url", "db"])
@pytest.mark.parametrize("model", ["Approval", "Agent", "ApiKey"])
def test_the_text_of_the_command_has_every_field(place: Place, model: str, way: str) -> None:
    """Wherever there is something to be shown; that of executions is held to the same in `test_shown`."""
    for row in answers(place, model):
        text = place.run(way, *(part.format(**row) for part in COMMANDS[model])).out
        for name, value in row.items():
            if name in NOT_IN_TEXT or value in (None, "", []) or (name, value) == ("quorum", 1):
                continue
            for leaf in _leaves(name, value):
                assert leaf in text, f"{name} {leaf} is not shown"


def _leaves(name: str, value: Any) -> list[str]:
    match value:
        case list():
            return [leaf for one in value for leaf in _leaves(name, one)]
        case dict() if name in ("args", "input_schema", "output_schema"):
            return [str(key) for key in value]
        case dict():
            return [leaf for key, one in value.items() for leaf in _leaves(key, one)]
        case _ if name.endswith("_at") or name == "at":
            return [value[:10]]
        case str():
            return value.strip().splitlines()
        case _:
            return [str(value)]


def test_the_embedded_kernel_has_every_field(tmp_path: Path) -> None:
    """A run that blocked, its steps, its events and its question are the same models."""

    @rebuno.tool("desk_send")
    def send(to: str) -> str:
        return to

    async def handler(to: str) -> str:
        return str(await send(to=to))

    async def play() -> dict[str, types.Model]:
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(BUNDLE)) as kernel:
            run = await kernel.run(handler, {"to": "eve"}, id="order-1")
            steps, events = await kernel.operator.steps(run.id), await kernel.operator.events(run.id)
            return {"Execution": run, "Step": steps[0], "Event": events[0], "Approval": run.approvals[0]}

    for model, found in asyncio.run(play()).items():
        assert type(found) is getattr(types, model)
        said = found.model_dump(mode="json")
        assert {name for name in fields(model) if "." not in name} <= said.keys()
        assert type(found).model_validate(said) == found
        assert "" not in said.values(), "what is not there is null"


def test_a_new_key_and_a_page_are_whole_too(place: Place) -> None:
    """They are made of the others, and have one field more."""
    body = {"name": "x", "scopes": ["agents:read"]}
    key = httpx2.post(f"{place.url}/v0/api-keys", headers=BEARER, json=body).json()
    same(key, types.NewApiKey.model_validate(key).model_dump(mode="json"))
    page = httpx2.get(f"{place.url}/v0/executions?limit=1", headers=BEARER).json()
    same(page, types.Page.model_validate(page).model_dump(mode="json"))
    assert fields("NewApiKey") == key.keys() | {"revoked_at"}
    assert page.keys() == {name for name in fields("Page") if "." not in name}
