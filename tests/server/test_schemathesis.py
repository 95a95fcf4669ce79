"""Requests made from the OpenAPI document, well-formed and not, are answered as it says, and never with 5xx."""

import asyncio
import json
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from rebuno.sdk import signing
from rebuno.server.app import ENDPOINTS, document
from rebuno.server.routes import Endpoint, Who
from tests.server.support import BEARER, SECRET, Agent, agent, running

SCHEMA: Final = schemathesis.openapi.from_dict(json.loads(document()))
CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES: Final = 5
PATIENCE: Final = 30.0

# The server's thread takes random numbers while cases are made here.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Live:
    """A server in a thread, and an agent of it with executions that have begun and ended."""

    url: str
    agent: Agent
    loop: asyncio.AbstractEventLoop

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine of the server's loop gives."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    async def begin(self) -> dict[str, str]:
        """A new execution with a step that runs: what stands for the parts of a path."""
        # What a case before this one has stopped.
        for stop in await self.agent.running.get("/v0/stops"):
            await self.agent.running.post(f"/v0/stops/{stop['id']}/lift")
        execution = await self.agent.running.post("/v0/executions", {"agent_id": self.agent.id}, status=201)
        while await self.agent.take() != execution["id"]:
            pass
        step = await self.agent.submit(execution["id"])
        return {"id": execution["id"], "step_id": step["step_id"]}


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    stack = AsyncExitStack()

    async def open_() -> Live:
        server = await stack.enter_async_context(running())
        return Live(server.url, await stack.enter_async_context(agent(server)), loop)

    try:
        made = asyncio.run_coroutine_threadsafe(open_(), loop).result(PATIENCE)
        try:
            yield made
        finally:
            made.wait(stack.aclose())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Signed(requests.auth.AuthBase):
    """An agent's credentials, made over what is really sent."""

    def __init__(self, dispatch: dict[str, str]) -> None:
        self._dispatch = dispatch

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body.encode() if isinstance(request.body, str) else request.body
        stamp = str(int(time.time()))
        request.headers.update({"Rebuno-Agent-Id": "agent", "Rebuno-Timestamp": stamp, **self._dispatch})
        request.headers["Rebuno-Signature"] = signing.request(
            SECRET,
            str(request.method),
            request.path_url,
            stamp,
            body if isinstance(body, bytes) else b"",
            dispatch_id=self._dispatch["Rebuno-Dispatch-Id"],
            dispatch_attempt=self._dispatch["Rebuno-Dispatch-Attempt"],
        )
        return request


def _wrong_body(case: Case[Any]) -> bool:
    """Whether a body must be refused; what is wrong with headers is put right above, and queries may hold anything."""
    parts = case.meta.components if case.meta is not None else {}
    body = parts.get(ParameterLocation.BODY)
    return body is not None and body.mode is GenerationMode.NEGATIVE


def _blank(body: object) -> bool:
    """Whether a body stands for an empty object."""
    return body is None or (isinstance(body, bytes | str) and not body.strip())


# Nothing can be wrong in a request for what takes nothing.
TRIED: Final = [
    (endpoint, mode)
    for endpoint in ENDPOINTS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or endpoint.who is not Who.ANYONE
]


@pytest.mark.parametrize(
    ("endpoint", "mode"), TRIED, ids=[f"{endpoint.handle.__name__}-{mode.value}" for endpoint, mode in TRIED]
)
def test_answers_are_as_the_document_says(live: Live, endpoint: Endpoint, mode: GenerationMode) -> None:
    """Of nobody's ids and, every second time, of those of a live execution; the caller is one who may."""
    operation: APIOperation[Any, Any, Any, Any] = SCHEMA[endpoint.path][endpoint.method]
    known = live.wait(live.begin())
    if endpoint.media == "text/event-stream":
        # What has ended streams nothing, and that is over at once.
        live.wait(live.agent.running.post(f"/v0/executions/{known['id']}/cancel", status=204))
    session = requests.Session()
    session.trust_env = False
    if endpoint.who is Who.AGENT:
        session.auth = Signed(dict(live.agent.dispatch))
    elif endpoint.who is not Who.ANYONE:
        session.headers.update(BEARER)
    tried = 0
    fields = endpoint.body.model_fields.values() if endpoint.body is not None else ()
    optional = not any(field.is_required() for field in fields)

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def try_(case: Case[Any]) -> None:
        nonlocal tried
        tried += 1
        if tried % 2:
            case.path_parameters = {
                name: known.get(name, value) for name, value in (case.path_parameters or {}).items()
            }
        answer = case.call(base_url=live.url, session=session, timeout=PATIENCE)
        wrong = _wrong_body(case) and not (optional and _blank(answer.request.body))
        case.validate_response(answer, checks=[*CHECKS, negative_data_rejection] if wrong else CHECKS)

    try_()
    session.close()
    assert tried
