"""The inbox: what a person sees of a question, and how it is answered."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.model.step import Kind
from tests.console.support import ASKING, Browser, asks, browser, served, texts
from tests.server.support import Running, agent


def on(path: Path, scenario: object) -> None:
    """Plays a scenario with a browser that is signed in, on the store of an agent that runs elsewhere."""

    async def whole() -> None:
        async with served(db=str(path)) as server, browser(server.url) as one:
            await scenario(server, await one.sign_in())  # type: ignore[operator]

    asyncio.run(whole())


async def open_questions(path: Path) -> list[rebuno.types.Approval]:
    """The open questions of a store."""
    async with rebuno.operate(path) as operator:
        return await operator.approvals(status="pending")


def test_a_question_is_shown_with_its_call_and_why(tmp_path: Path) -> None:
    """Who asks, the arguments, the rule and its reason, how long is left."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path, args={"order": "A-1", "amount": 90}))

    async def scenario(server: Running, one: Browser) -> None:
        said = texts(await one.get("/console/questions"))
        for part in ("Questions 1", "pay", "May this be paid?", '"amount": 90', "shop", "money leaves", " left"):
            assert part in said
        assert "for 1 hour" in said
        assert "for 7 days" not in said

    on(path, scenario)


@pytest.mark.parametrize("word", ["grant", "deny"])
def test_an_answer_lets_the_run_go_on(tmp_path: Path, word: str) -> None:
    """A grant runs the call, a denial tells the agent the reason; the page says what became of it."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path))

    async def scenario(server: Running, one: Browser) -> None:
        [question] = await open_questions(path)
        fields = {"answer": word, "rationale": "because I say so", "scope": "once"}
        answer = await one.post(f"/console/questions/{question.id}", fields)
        assert answer.status_code == 303, answer.text
        said = texts(await one.get(answer.headers["location"]))
        assert f"pay: {'granted' if word == 'grant' else 'denied'}" in said
        assert await open_questions(path) == []
        shown = texts(await one.get(f"/console/questions/{question.id}"))
        assert "by bootstrap" in shown
        assert "because I say so" in shown

    on(path, scenario)

    async def resumed() -> str:
        async def handler(given: Any) -> Any:
            execution = rebuno.sdk.context.current()
            assert execution is not None
            try:
                return await execution.invoke(
                    Kind.TOOL, "pay", given, lambda: {"paid": True}, idempotency="at_most_once"
                )
            except rebuno.PolicyError as error:
                return error.reason

        async with rebuno.open(path, policy=tmp_path / "r1.rbp") as kernel:
            return str((await kernel.run(handler, {"order": "A-1"}, id="r1", agent="shop")).output)

    assert asyncio.run(resumed()) == ("{'paid': True}" if word == "grant" else "because I say so")


def test_the_second_of_two_people_is_told_that_it_was_answered(tmp_path: Path) -> None:
    """Both have the page open; the answer of the first stands."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path))

    async def scenario(server: Running, one: Browser) -> None:
        [question] = await open_questions(path)
        async with browser(server.url) as other:
            await other.sign_in()
            fields = {"form_token": await other.form_token(), "answer": "deny"}
            await one.post(f"/console/questions/{question.id}", {"answer": "grant"})
            late = await other.send(f"/console/questions/{question.id}", fields)
            assert late.status_code == 409
            assert "Not answered" in texts(late.text)
            assert "granted" in texts(late.text)
        async with rebuno.operate(path) as operator:
            assert (await operator.approval(question.id)).status == "granted"

    on(path, scenario)


def test_several_questions_are_answered_at_once(tmp_path: Path) -> None:
    """Those that can be; of the others the page says why not."""
    path = tmp_path / "a.db"
    for run in ("r1", "r2", "r3"):
        asyncio.run(asks(path, run=run))

    async def scenario(server: Running, one: Browser) -> None:
        first, second, third = await open_questions(path)
        await one.post(f"/console/questions/{first.id}", {"answer": "deny"})
        fields = {"question": [first.id, second.id], "answer": "grant", "rationale": "both"}
        answer = await one.post("/console/questions", fields)
        assert answer.status_code == 409
        said = texts(answer.text)
        assert "pay: granted" in said
        assert "Not answered" in said
        assert [left.id for left in await open_questions(path)] == [third.id]
        none = await one.post("/console/questions", {"answer": "grant"})
        assert none.status_code == 400

    on(path, scenario)


@pytest.mark.parametrize(
    "fields",
    [{"answer": "maybe"}, {}, {"answer": "grant", "scope": "ever"}, {"answer": "deny", "rationale": "x" * 4001}],
)
def test_an_answer_that_is_none_changes_nothing(tmp_path: Path, fields: dict[str, str]) -> None:
    """A word that is unknown, none at all, a scope that there is not, a reason without end."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path))

    async def scenario(server: Running, one: Browser) -> None:
        [question] = await open_questions(path)
        answer = await one.post(f"/console/questions/{question.id}", fields)
        assert answer.status_code == 400
        assert len(await open_questions(path)) == 1

    on(path, scenario)


def test_those_who_must_agree_are_named_and_counted(tmp_path: Path) -> None:
    """The first of two grants leaves the question open."""
    path = tmp_path / "a.db"
    policy = ASKING.replace('because "money leaves"', 'approvers "ann", "ben"\n  quorum 2\n  because "money leaves"')
    asyncio.run(asks(path, policy=policy))

    async def scenario(server: Running, one: Browser) -> None:
        [question] = await open_questions(path)
        assert "2 of ann, ben" in texts(await one.get("/console/questions"))
        place = f"/console/questions/{question.id}"
        stranger = await one.post(place, {"answer": "grant", "person": "eve"})
        assert stranger.status_code == 403
        first = await one.post(place, {"answer": "grant", "person": "ann"})
        assert "1 answer so far" in texts(await one.get(first.headers["location"]))
        again = await one.post(place, {"answer": "grant", "person": "ann"})
        assert again.status_code == 409
        second = await one.post(place, {"answer": "grant", "person": "ben"})
        assert "pay: granted" in texts(await one.get(second.headers["location"]))

    on(path, scenario)


def test_a_key_answers_in_its_own_name_only(tmp_path: Path) -> None:
    """What a form says of a person counts for those only who have no name of their own."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path))

    async def scenario(server: Running, one: Browser) -> None:
        scopes = ["approvals:read", "approvals:write"]
        made = await server.post("/v0/api-keys", {"name": "carl", "scopes": scopes}, status=201)
        async with browser(server.url) as other:
            await other.sign_in(made["token"])
            [question] = await open_questions(path)
            page = await other.get("/console/questions")
            assert 'name="person"' not in page
            assert "/console/runs/" not in page
            await other.post(f"/console/questions/{question.id}", {"answer": "grant", "person": "ann"})
        async with rebuno.operate(path) as operator:
            answered = await operator.approval(question.id)
            assert (answered.decided_by, answered.asserted_by) == ("carl", "carl")

    on(path, scenario)


def test_a_key_that_is_bound_to_an_agent_sees_the_questions_of_that_one_only(tmp_path: Path) -> None:
    """Neither in the list nor by their ids."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path))

    async def scenario(server: Running, one: Browser) -> None:
        [question] = await open_questions(path)
        body = {"name": "bot", "scopes": ["approvals:read", "approvals:write"], "agents": ["other"]}
        made = await server.post("/v0/api-keys", body, status=201)
        async with browser(server.url) as other:
            await other.sign_in(made["token"])
            page = await other.get("/console/questions")
            assert "No question is open" in page
            await other.get(f"/console/questions/{question.id}", 403)
            sessions = server.server.tokens
            assert sessions is not None
            assert (await open_questions(path))[0].id == question.id

    on(path, scenario)


def test_a_question_shows_the_rule_that_would_have_answered_it(tmp_path: Path) -> None:
    """As a change to review; where no rule can, the page says why."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path))
    asyncio.run(asks(path, run="r2", args={"order": ["a"]}))

    async def scenario(server: Running, one: Browser) -> None:
        plain, listed = await open_questions(path)
        assert f"/console/questions/{plain.id}/rule" in await one.get(f"/console/questions/{plain.id}")
        said = texts(await one.part(f"/console/questions/{plain.id}/rule"))
        assert "+ allow tool" in said
        assert "A-1" in said
        assert "+ allow tool" not in texts(await one.part(f"/console/questions/{listed.id}/rule"))
        assert len(await open_questions(path)) == 2

    on(path, scenario)


def test_a_question_shows_what_came_before_and_what_was_answered_last(tmp_path: Path) -> None:
    """The steps of the run, and the answers to the same rule; of the agents that the caller may see only."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path, args={"order": "old"}))

    async def scenario(server: Running, one: Browser) -> None:
        [first] = await open_questions(path)
        await one.post(f"/console/questions/{first.id}", {"answer": "deny", "rationale": "too much"})
        await asks(path, run="r2", args={"order": "new"})
        said = texts(await one.get("/console/questions"))
        assert "What this rule was answered last denied pay" in said
        assert "too much" in said
        body = {"name": "bot", "scopes": ["approvals:read"], "agents": ["other"]}
        key = await server.post("/v0/api-keys", body, status=201)
        async with browser(server.url) as other:
            await other.sign_in(key["token"])
            assert "too much" not in await other.get("/console/questions")

    on(path, scenario)


EDITING = ASKING.replace("  expires 2h", "  edits args.amount\n  expires 2h")


def test_a_call_is_changed_and_granted(tmp_path: Path) -> None:
    """Where the rule lets it be: the agent's call runs with the new amount; another argument cannot be changed."""

    async def scenario() -> None:
        async with served() as server, browser(server.url) as one, agent(server, id="shop", bundle=EDITING) as bot:
            await one.sign_in()
            made = await server.post("/v0/executions", {"agent_id": "shop"}, status=201)
            assert await bot.take() == made["id"]
            call = {"amount": 120, "order": "A-1"}
            await bot.submit(made["id"], "pay", call, idempotency="at_most_once", edits=True)
            [question] = await server.get("/v0/approvals")
            page = await one.get("/console/questions")
            assert 'name="edit:amount" value="120"' in page
            assert 'name="edit:order"' not in page
            place = f"/console/questions/{question['id']}"
            for fields, status in (({"edit:order": '"B"'}, 403), ({"edit:amount": "{"}, 400)):
                refused = await one.post(place, {"answer": "grant", **fields})
                assert refused.status_code == status, refused.text
            done = await one.post(place, {"answer": "grant", "edit:amount": "90"})
            assert done.status_code == 303, done.text
            shown = texts(await one.get(place))
            assert "has changed the call to" in shown
            assert '"amount": 90' in shown

    asyncio.run(scenario())


def test_a_grant_for_days_is_listed_and_revoked() -> None:
    """It stands for the same call of the agent in later runs; one that the rule forbids is not offered."""
    lasting = ASKING.replace("expires 2h", "expires 30d")

    async def scenario() -> None:
        async with served() as server, browser(server.url) as one, agent(server, id="shop", bundle=lasting) as bot:
            await one.sign_in()
            made = await server.post("/v0/executions", {"agent_id": "shop"}, status=201)
            assert await bot.take() == made["id"]
            await bot.submit(made["id"], "pay", {"order": "A-1"}, idempotency="at_most_once")
            [question] = await server.get("/v0/approvals")
            assert "for 7 days" in await one.get("/console/questions")
            fields = {"answer": "grant", "scope": "agent:604800"}
            done = await one.post(f"/console/questions/{question['id']}", fields)
            assert done.status_code == 303, done.text
            [grant] = await server.get("/v0/grants")
            assert "pay of shop by rule pay, granted by" in texts(await one.get("/console/agents"))
            revoked = await one.post(f"/console/grants/{grant['id']}/revoke", {}, page="/console/agents")
            assert revoked.status_code == 303
            assert await server.get("/v0/grants") == []

    asyncio.run(scenario())


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "{{ 7*7777 }}{% raw %}",
    "\u202egnp.exe\u2066",
    "a\x1b[31mb\x07",
    "\u200b\ufeff\u2028",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_an_agent_writes_is_shown_and_never_acts(tmp_path: Path, text: str) -> None:
    """In its arguments, the name of its tool, its own name and its session."""
    path = tmp_path / "a.db"
    policy = ASKING.replace('tool "pay"', 'tool "*"')
    asyncio.run(asks(path, args={text: [text, {"x": text}]}, policy=policy, target=f"t{text}"))

    async def scenario(server: Running, one: Browser) -> None:
        [question] = await open_questions(path)
        for place in ("/console/questions", f"/console/questions/{question.id}"):
            page = await one.get(place)
            body = page[page.index("<main") :]
            assert "alert(1)" not in body or "<script>alert" not in body
            for raw in ("<script>", "<img", "<svg", "\u202e", "\x1b", "\u200b", "\u2028", "\x07"):
                assert raw not in body, raw
            assert "54439" not in texts(body)

    on(path, scenario)


def test_a_megabyte_is_cut_and_its_rest_is_counted(tmp_path: Path) -> None:
    """The page stays small."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path, args={"text": "<" * 1_000_000}))

    async def scenario(server: Running, one: Browser) -> None:
        page = await one.get("/console/questions")
        assert len(page) < 60_000
        assert "more characters" in page or "characters more" in page

    on(path, scenario)


def test_a_page_is_told_of_changes(tmp_path: Path) -> None:
    """A first word at once, the next when a question comes."""
    path = tmp_path / "a.db"
    asyncio.run(asks(path))

    async def scenario(server: Running, one: Browser) -> None:
        async with one.http.stream("GET", "/console/live/questions") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = answer.aiter_lines()
            first = await anext(lines)
            assert first.startswith("data: ")
            await asks(path, run="r2")
            while not (second := await anext(lines)).startswith("data: "):
                pass
            assert second != first

    on(path, scenario)
