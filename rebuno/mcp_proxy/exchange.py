"""One request of a client on its way, which may ask the client something before it has its answer.

A client of the version with sessions is sent a request meanwhile. A client of the version without gets the question as
the result, and sends the request again with the answer: what was begun waits for that under a token.
"""

import hashlib
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from rebuno.model import identity

Context = ServerRequestContext[Any, Any]
Work = Callable[["ForwardedRequest"], Awaitable[BaseModel]]

# How long a question waits for the client to come again, in seconds, and how many wait at once.
_PATIENCE: Final = 600.0
_MOST_PARKED: Final = 256


def answer_type(request: types.InputRequest) -> type[BaseModel]:
    """What answers a request to a client."""
    match request:
        case types.CreateMessageRequest(params=params):
            return (
                types.CreateMessageResultWithTools if params.tools or params.tool_choice else types.CreateMessageResult
            )
        case types.ElicitRequest():
            return types.ElicitResult
        case _:
            return types.ListRootsResult


def can_answer(capabilities: types.ClientCapabilities | None, request: types.InputRequest) -> bool:
    """Whether a client announces that it answers such a request."""
    found = capabilities or types.ClientCapabilities()
    match request:
        case types.CreateMessageRequest():
            return found.sampling is not None
        case types.ElicitRequest(params=types.ElicitRequestURLParams()):
            return found.elicitation is not None and found.elicitation.url is not None
        case types.ElicitRequest():
            # A client that names no mode means forms: there was no other one at first.
            of = found.elicitation
            return of is not None and (of.form is not None or of.url is None)
        case _:
            return found.roots is not None


class ForwardedRequest:
    """A request on its way. `context` is that of the request of the client that waits for it now."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._same = _same(context)
        self._scope = anyio.CancelScope()
        self._turn = anyio.Lock()
        self._news = anyio.Event()
        self._answered = anyio.Event()
        self._questions: types.InputRequests | None = None
        self._answers: types.InputResponses = {}
        self._result: BaseModel | Exception | None = None

    @property
    def modern(self) -> bool:
        """Whether the client speaks the version without sessions."""
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def wants_progress(self) -> bool:
        """Whether the client wants to hear of progress."""
        meta = self.context.meta or {}
        return "progress_token" in meta or "progressToken" in meta

    async def run(self, work: Work) -> None:
        """Does the work and keeps what comes of it."""
        with self._scope:
            try:
                self._result = await work(self)
            except Exception as error:
                self._result = error
            finally:
                self._news.set()
        if self._result is None:
            self._result = MCPError(types.REQUEST_TIMEOUT, "the request was cancelled")
            self._news.set()

    def cancel(self) -> None:
        """Ends the work where it stands."""
        self._scope.cancel()

    async def news(self) -> BaseModel | types.InputRequests:
        """The result, or the questions that the client must answer first. Raises what the work raised."""
        await self._news.wait()
        if isinstance(self._result, Exception):
            raise self._result
        if self._result is not None:
            return self._result
        assert self._questions is not None
        self._news = anyio.Event()
        return self._questions

    async def ask(self, questions: types.InputRequests) -> types.InputResponses:
        """The client's answers. Raises `MCPError` where it cannot be asked, or refuses."""
        for question in questions.values():
            if not can_answer(self.context.session.client_capabilities, question):
                raise MCPError(types.METHOD_NOT_FOUND, f"the client does not answer `{question.method}`")
        if not self.modern:
            return {key: await self._send(question) for key, question in questions.items()}
        async with self._turn:
            self._questions, self._answered = questions, anyio.Event()
            self._news.set()
            await self._answered.wait()
            self._questions = None
            missing = [key for key in questions if key not in self._answers]
            if missing:
                raise MCPError(types.INVALID_PARAMS, f"the client has not answered `{missing[0]}`")
            return self._answers

    async def _send(self, question: types.InputRequest) -> Any:
        about = ServerMessageMetadata(related_request_id=self.context.request_id)
        return await self.context.session.send_request(question, answer_type(question), metadata=about)

    def goes_on(self, context: Context, answers: types.InputResponses | None) -> None:
        """Takes the answers that the client sent with its request again. Raises `MCPError` where that is another
        request."""
        if _same(context) != self._same:
            raise MCPError(types.INVALID_PARAMS, "this `requestState` belongs to another request")
        self.context = context
        self._answers = answers or {}
        self._answered.set()


class ParkedRequests:
    """The exchanges that wait for the client to come again, by their tokens."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._waiting: dict[str, ForwardedRequest] = {}
        # Requests on their way, those that wait among them.
        self.running = 0
        self._ended = anyio.Event()

    async def serve(
        self, context: Context, params: types.InputResponseRequestParams, work: Work
    ) -> BaseModel | types.InputRequiredResult:
        """Answers a request of a client: begins the work, or goes on with it. Raises what the work raised."""
        if params.request_state is not None:
            exchange = self._waiting.pop(params.request_state, None)
            if exchange is None:
                raise MCPError(types.INVALID_PARAMS, "this `requestState` is not known, or its time is over")
            exchange.goes_on(context, params.input_responses)
        else:
            exchange = ForwardedRequest(context)
            self._group.start_soon(self._run, exchange, work)
        try:
            news = await exchange.news()
        except anyio.get_cancelled_exc_class():
            exchange.cancel()
            raise
        if isinstance(news, BaseModel):
            return news
        if len(self._waiting) >= _MOST_PARKED:
            exchange.cancel()
            raise MCPError(types.INTERNAL_ERROR, "too many questions wait for an answer")
        token = secrets.token_urlsafe(24)
        self._waiting[token] = exchange
        self._group.start_soon(self._forget, token)
        return types.InputRequiredResult(input_requests=news, request_state=token)

    async def _run(self, exchange: ForwardedRequest, work: Work) -> None:
        self.running += 1
        try:
            await exchange.run(work)
        finally:
            self.running -= 1
            self._ended.set()

    async def drained(self) -> None:
        """Waits until no request is on its way."""
        while self.running:
            self._ended = anyio.Event()
            await self._ended.wait()

    async def _forget(self, token: str) -> None:
        await anyio.sleep(_PATIENCE)
        if (exchange := self._waiting.pop(token, None)) is not None:
            exchange.cancel()


def _same(context: Context) -> str:
    params = {
        key: value
        for key, value in (context.params or {}).items()
        if key not in ("_meta", "inputResponses", "requestState")
    }
    return hashlib.sha256(identity.canonical([context.method, params]).encode()).hexdigest()
