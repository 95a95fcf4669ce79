"""Consoles that answer on loopback, and a browser without a screen: it keeps cookies and sends forms as browsers do."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, Final

import httpx2

import rebuno
from rebuno.console import ConsoleSettings, mounted
from rebuno.model.step import Kind
from rebuno.sdk.context import current
from tests.server.support import TOKEN, Running, running

ASKING: Final = """bundle shop
default deny
rule look {
  allow tool "look"
}
rule pay {
  require approval for tool "pay"
  because "money leaves"
  message "May this be paid?"
  expires 2h
}
"""
_FORM_TOKEN: Final = re.compile(r'name="form_token" value="([0-9a-f]+)"')


@dataclass(slots=True)
class Browser:
    """What a person uses. `url` is the server's."""

    url: str
    http: httpx2.AsyncClient

    async def get(self, path: str, status: int = 200, **headers: str) -> str:
        """The text of a page."""
        answer = await self.http.get(path, headers=headers)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.text

    async def part(self, path: str) -> str:
        """The part of a page that a script asks for."""
        answer = await self.http.get(path, headers={"hx-request": "true"})
        assert answer.status_code == 200, answer.text
        return answer.text

    async def send(self, path: str, fields: Any, **headers: str) -> httpx2.Response:
        """Sends a form, which a page of the same site holds unless the headers say otherwise."""
        return await self.http.post(path, data=fields, headers={"origin": self.url, **headers})

    async def form_token(self, path: str = "/console/questions") -> str:
        """The token that the forms of a page carry."""
        found = _FORM_TOKEN.search(await self.get(path))
        assert found is not None
        return found[1]

    async def post(self, path: str, fields: dict[str, Any], *, page: str = "/console/questions") -> httpx2.Response:
        """Sends a form with the token of a page."""
        return await self.send(path, {"form_token": await self.form_token(page), **fields})

    async def sign_in(self, key: str = TOKEN) -> "Browser":
        """Signs in with a key."""
        answer = await self.send("/console/sign-in", {"key": key, "next": "/console"})
        assert answer.status_code == 303, answer.text
        return self


@asynccontextmanager
async def browser(url: str, **headers: str) -> AsyncIterator[Browser]:
    """A browser that is not signed in."""
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=20, verify=False) as http:
        yield Browser(url, http)


@asynccontextmanager
async def served(settings: ConsoleSettings | None = None, **options: Any) -> AsyncIterator[Running]:
    """A server with a console; `options` are those of `running`."""
    settings = settings or ConsoleSettings()
    async with running(pages=lambda server: mounted(server, settings), **options) as server:
        yield server


def play(scenario: Callable[[Running, Browser], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Plays a scenario on a server with a console, with a browser that is not signed in."""

    async def whole() -> None:
        async with served(**options) as server, browser(server.url) as one:
            await scenario(server, one)

    asyncio.run(whole())


async def asks(path: Path, *, args: Any = None, run: str = "r1", policy: str = ASKING, target: str = "pay") -> str:
    """Lets an agent ask in a store of its own process; the execution's id."""

    async def handler(given: Any) -> Any:
        execution = current()
        assert execution is not None
        return await execution.invoke(Kind.TOOL, target, given, lambda: {"paid": True}, idempotency="at_most_once")

    file = path.parent / f"{run}.rbp"
    file.write_text(policy, encoding="utf-8")
    async with rebuno.open(path, policy=file) as kernel:
        return (await kernel.run(handler, {"order": "A-1"} if args is None else args, id=run, agent="shop")).id


def texts(page: str) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
