"""Questions to people, a page at a time."""

import pytest

from rebuno.sdk import client
from rebuno.sdk.client import Client
from rebuno.sdk.requests import route
from tests.server.support import Running, agent, play

ASKING = 'bundle b\ndefault deny\nrule pay {\n  require approval for tool "pay"\n  because "money"\n}\n'


async def asked(server: Running, count: int) -> list[str]:
    """So many questions, the oldest first."""
    found = []
    async with agent(server, bundle=ASKING) as one:
        for _ in range(count):
            begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            await one.take()
            found.append((await one.submit(begun["id"], target="pay"))["approval_id"])
    return found


def test_questions_come_in_pages_of_which_each_goes_on_where_the_last_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks for no page gets an array as ever, the newest one all of them, whatever their number."""

    async def scenario(server: Running) -> None:
        ids = await asked(server, 5)
        assert [each["id"] for each in await server.get("/v0/approvals")] == ids
        for size in (1, 2, 5, 6):
            found: list[str] = []
            while page := await server.get("/v0/approvals", params={"limit": size, "cursor": (found or [""])[-1]}):
                assert len(page) <= size
                found += [each["id"] for each in page]
            assert found == ids
        unknown = "0" * 8 + "-0000-7000-8000-" + "0" * 12
        for params, status in (({"cursor": unknown}, 404), ({"cursor": "nothing"}, 400), ({"limit": "x"}, 400)):
            assert (await server.http.get("/v0/approvals", params=params)).status_code == status
        for nothing in (0, -1):
            assert len(await server.get("/v0/approvals", params={"limit": nothing})) == 5
        assert len((await server.http.get("/v0/approvals", params={"limit": 10_000})).json()) == 5
        token = server.http.headers["authorization"].removeprefix("Bearer ")
        monkeypatch.setattr(client, "_PAGE", 2)
        async with Client(server.url, token) as published:
            assert [each.id for each in await published.list_approvals()] == ids

    play(scenario)


def test_a_server_that_knows_no_pages_is_asked_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier one looks at no cursor and gives the same again, as long as a page or not."""

    async def scenario(server: Running) -> None:
        ids = await asked(server, 3)
        token = server.http.headers["authorization"].removeprefix("Bearer ")
        calls = 0

        def without_pages(*parts: str, **query: object) -> str:
            nonlocal calls
            calls += 1
            return route(*parts, **{key: value for key, value in query.items() if key not in ("cursor", "limit")})

        monkeypatch.setattr(client, "route", without_pages)
        for size in (1, 2, 3, 4):
            monkeypatch.setattr(client, "_PAGE", size)
            calls = 0
            async with Client(server.url, token) as published:
                assert [each.id for each in await published.list_approvals()] == ids
            assert calls <= 2

    play(scenario)
