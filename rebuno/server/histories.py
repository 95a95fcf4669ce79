"""The routes for whole histories: try again, verify, export, import, erase, and sweep the store."""

from functools import partial
from io import BytesIO
from typing import Final

from starlette.responses import Response

from rebuno import types
from rebuno.errors import ConflictError, StoreCorrupt, ValidationError
from rebuno.kernel import beside, read_recording, recording_lines
from rebuno.server.auth import KeyScope
from rebuno.server.routes import ApiCall, Endpoint, said
from rebuno.server.wire import requests
from rebuno.server.wire.writing import model

_EXECUTION: Final = "/v0/executions/{id}"
_LINES: Final = "application/x-ndjson"
_READ: Final = (KeyScope.EXECUTIONS_READ,)
_WRITE: Final = (KeyScope.EXECUTIONS_WRITE,)
# A history holds the questions and the bundles too.
_READ_ALL: Final = (KeyScope.EXECUTIONS_READ, KeyScope.APPROVALS_READ, KeyScope.AGENTS_READ)
# INVARIANT: who may import could make up steps, answers and bundles, so that nobody may who may not write each of them.
_WRITE_ALL: Final = (KeyScope.EXECUTIONS_WRITE, KeyScope.APPROVALS_WRITE, KeyScope.POLICIES_WRITE)


async def retry(call: ApiCall) -> Response:
    """Create an execution from right before the failure of another one"""
    body = call.body(requests.Retry)
    if body.keep_policy:
        # As for a fork.
        call.caller.need(KeyScope.POLICIES_WRITE)
    row = await call.serving.retry(
        call.id, keep_policy=bool(body.keep_policy), deadline=body.deadline_seconds, created_by=call.caller.name
    )
    call.note("execution tried again", fork=row.id)
    return said(model(await call.serving.with_restoration(await call.serving.shown(row))), 201)


async def verify(call: ApiCall) -> Response:
    """Verify the log of an execution"""
    head = call.query(requests.VerifyQuery).head
    return said(model((await call.serving.verify(call.id, head=head)).view()))


async def export(call: ApiCall) -> Response:
    """Export an execution with all that belongs to it"""
    try:
        recording = await call.serving.record(call.id)
    except StoreCorrupt as error:
        raise ConflictError(str(error)) from None
    text = await beside(lambda: "".join(recording_lines(recording)), long=True)
    return Response(text, 200, media_type=_LINES)


async def import_history(call: ApiCall) -> Response:
    """Import an execution that was exported"""
    lines = BytesIO(call.body(requests.ImportHistory).history.encode())
    try:
        recording = await beside(partial(read_recording, lines), long=True)
        row = await call.serving.restore(recording)
    except StoreCorrupt as error:
        # The file is, and not the store.
        raise ValidationError(str(error)) from None
    call.note("execution imported", imported=row.id)
    return said(model(await call.serving.shown(row)), 201)


async def sweep(call: ApiCall) -> Response:
    """End what is overdue, and remove what is old"""
    done = await call.serving.sweep(call.body(requests.Sweep).older_than_seconds)
    call.note("store swept", removed=str(done.removed))
    return said(model(done.view()))


async def erase(call: ApiCall) -> Response:
    """Erase what an encrypted execution holds"""
    end = bool(call.body(requests.Erase).cancel)
    done = await call.serving.erase([call.id], by=call.caller.name, end=end)
    call.note("execution erased", erased=str(len(done.erased)))
    return said(model(done))


async def erase_person(call: ApiCall) -> Response:
    """Erase what the encrypted executions on behalf of a person hold"""
    body = call.body(requests.ErasePerson)
    done = await call.serving.erase_person(body.on_behalf_of, by=call.caller.name, end=bool(body.cancel))
    # The name of the person is no matter of the log.
    call.note("executions of a person erased", erased=str(len(done.erased)))
    return said(model(done))


ENDPOINTS: Final = (
    Endpoint(
        "POST",
        f"{_EXECUTION}/retry",
        retry,
        scopes=_WRITE,
        body=requests.Retry,
        answer=types.Execution,
        status=201,
    ),
    Endpoint(
        "GET", f"{_EXECUTION}/verify", verify, scopes=_READ, query=requests.VerifyQuery, answer=types.CheckedHistory
    ),
    Endpoint("GET", f"{_EXECUTION}/export", export, scopes=_READ_ALL, media=_LINES),
    Endpoint(
        "POST",
        "/v0/executions/import",
        import_history,
        scopes=_WRITE_ALL,
        body=requests.ImportHistory,
        answer=types.Execution,
        status=201,
    ),
    Endpoint(
        "POST",
        f"{_EXECUTION}/erase",
        erase,
        scopes=_WRITE,
        body=requests.Erase,
        answer=types.ErasedExecutions,
    ),
    Endpoint(
        "POST", "/v0/erase", erase_person, scopes=_WRITE, body=requests.ErasePerson, answer=types.ErasedExecutions
    ),
    Endpoint("POST", "/v0/sweep", sweep, scopes=_WRITE, body=requests.Sweep, answer=types.SweptStore),
)
