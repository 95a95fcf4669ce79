"""One request of somebody who is known: who that is, what they may see, and how a page is answered."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rebuno.console.pages import render
from rebuno.console.sessions import ConsoleSession, OneTimeLink, SessionKind, Sessions
from rebuno.console.settings import ConsoleSettings
from rebuno.errors import ForbiddenError, NotFoundError, ValidationError
from rebuno.journal.records import ApprovalRow, ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.kernel import Operator, Serving
from rebuno.server.auth import Caller, KeyScope
from rebuno.server.routes import Server

ROOT: Final = "/console"
# Seconds.
_FRESH: Final = 0.9


@dataclass(slots=True)
class Console:
    """What all pages share. Who comes by the `door` is `login`."""

    server: Server
    store: ServedStore
    settings: ConsoleSettings
    sessions: Sessions
    door: OneTimeLink | None = None
    login: str = ""
    operator: Operator = field(init=False)
    streams: int = 0
    _pending: tuple[float, Sequence[ApprovalRow]] = (0.0, ())

    def __post_init__(self) -> None:
        self.operator = Operator(self.store)

    async def pending(self, limit: int) -> Sequence[ApprovalRow]:
        """The open questions as they were a second ago at most, for the pages that follow them: many may be open."""
        read_at, rows = self._pending
        if monotonic() - read_at > _FRESH:
            rows = await self.serving.approvals(limit=limit)
            self._pending = monotonic(), rows
        return rows

    @property
    def serving(self) -> Serving:
        """The kernel."""
        return self.server.serving

    @property
    def closing(self) -> asyncio.Event:
        """Set once the server shuts down."""
        return self.server.closing


@dataclass(slots=True)
class Visit:
    """One request. `fields` are those of its form."""

    console: Console
    request: Request
    caller: Caller
    session: ConsoleSession
    fields: dict[str, list[str]] = field(default_factory=dict)

    @property
    def serving(self) -> Serving:
        """The kernel."""
        return self.console.serving

    @property
    def id(self) -> str:
        """The id in the path."""
        return str(self.request.path_params["id"])

    def may(self, *scopes: KeyScope) -> bool:
        """Whether the caller has all of these."""
        return all(scope in self.caller.scopes for scope in scopes)

    def sees(self, agent_id: str) -> bool:
        """Whether a key that is bound to agents is bound to this one."""
        return not self.caller.agents or agent_id in self.caller.agents

    def check_unbound(self) -> None:
        """Refuses a key that is bound to agents. Raises `ForbiddenError`."""
        if self.caller.agents:
            raise ForbiddenError("this key is bound to agents; it reaches runs and questions only")

    @property
    def names_person(self) -> bool:
        """Whether the caller may say in whose name an answer is given: a key that may speak for people, and who has no
        name of their own."""
        if self.session.kind is SessionKind.KEY:
            return self.may(KeyScope.APPROVALS_SPEAK)
        return self.session.kind in (SessionKind.ANYONE, SessionKind.BOOTSTRAP, SessionKind.LOGIN)

    async def execution(self, execution_id: str) -> ExecutionRow:
        """An execution that the caller may see. Raises `NotFoundError`, `ForbiddenError`."""
        if len(execution_id) > 100 or "\0" in execution_id:
            raise NotFoundError("there is no such run")
        row = await self.console.store.execution(execution_id)
        if not self.sees(row.agent_id):
            raise ForbiddenError("this key is bound to another agent")
        return row

    def query(self, name: str, longest: int = 300) -> str:
        """A field of the query, empty where it is not there. Raises `ValidationError`."""
        value = self.request.query_params.get(name, "").strip()
        if len(value) > longest or "\0" in value:
            raise ValidationError(f"the field `{name}` of the query is too long, or holds NUL")
        return value

    def number(self, name: str, usual: int = 0) -> int:
        """A number of the query that is not negative. Raises `ValidationError`."""
        text = self.query(name)
        if not text:
            return usual
        if not (text.isascii() and text.isdecimal() and len(text) < 15):
            raise ValidationError(f"the field `{name}` of the query is no number")
        return int(text)

    def field(self, name: str) -> str:
        """A field of the form, empty where it is not there."""
        return self.fields.get(name, [""])[0].strip()

    @property
    def partial(self) -> bool:
        """Whether a script of the page asks for a part of it."""
        return self.request.headers.get("hx-request") == "true"

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page of this template."""
        return HTMLResponse(render(template, self.shared() | values), status)

    def shared(self) -> dict[str, Any]:
        """What every template may use."""
        return {
            "visit": self,
            "root": ROOT,
            "who": self.caller.name,
            "form_token": self.console.sessions.form_token(self.session),
            "now": self.console.store.now(),
            "tabs": [tab for tab in TABS if self.may(*tab.scopes) and not (self.caller.agents and tab.whole)],
            "here": self.request.url.path,
            "signed_in": self.session.kind in (SessionKind.KEY, SessionKind.BOOTSTRAP),
        }


@dataclass(frozen=True, slots=True)
class Tab:
    """A page that the navigation names, for those who have the scopes; one of the `whole` store is for no key that is
    bound to agents."""

    name: str
    path: str
    scopes: tuple[KeyScope, ...]
    whole: bool = False


TABS: Final = (
    Tab("Questions", f"{ROOT}/questions", (KeyScope.APPROVALS_READ,)),
    Tab("Runs", f"{ROOT}/runs", (KeyScope.EXECUTIONS_READ,)),
    Tab("Policy", f"{ROOT}/policy", (KeyScope.AGENTS_READ, KeyScope.EXECUTIONS_READ), whole=True),
    Tab("Agents", f"{ROOT}/agents", (KeyScope.AGENTS_READ,), whole=True),
    Tab("Audit", f"{ROOT}/audit", (KeyScope.EXECUTIONS_READ, KeyScope.APPROVALS_READ), whole=True),
)

PageHandler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A route of the console: who may come, and what is answered."""

    method: str
    path: str
    handle: PageHandler
    scopes: Sequence[KeyScope] = ()


def see_other(path: str) -> Response:
    """Sends a browser on after a form was taken."""
    return RedirectResponse(path, 303)
