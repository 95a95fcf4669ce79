"""The pages of policies, agents and the audit."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import rebuno
from tests.console.example import fill
from tests.console.support import ASKING, Browser, asks, browser, play, served, texts
from tests.server.support import Running, agent

Scenario = Callable[[Running, Browser], Awaitable[None]]
WIDER = ASKING.replace('require approval for tool "pay"', 'allow tool "pay"').replace("  message", "  # message")


def on(path: Path, scenario: Scenario) -> None:
    """Plays a scenario with a browser that is signed in, on a store with a run that asks."""

    async def whole() -> None:
        await asks(path)
        async with served(db=str(path)) as server, browser(server.url) as one:
            await scenario(server, await one.sign_in())

    asyncio.run(whole())


def test_a_bundle_has_a_margin_of_counts(tmp_path: Path) -> None:
    """How often each rule decided and what was answered; the only agent's policy comes at once."""

    async def scenario(server: Running, one: Browser) -> None:
        answer = await one.http.get("/console/policy")
        assert answer.headers["location"] == "/console/policy?agent=shop"
        page = await one.get("/console/policy?agent=shop")
        assert "1 asked (1 pending)" in texts(page)
        assert page.count('<tr class="unused">') == 1
        assert await one.get("/console/policy?agent=none")

    on(tmp_path / "a.db", scenario)


async def tried(one: Browser, text: str, **fields: str) -> str:
    """What the playground says of a bundle, and of a call under it."""
    answer = await one.post("/console/policy", {"agent": "shop", "text": text, **fields}, page="/console/runs")
    assert answer.status_code == 200, answer.text
    return texts(answer.text)


def test_a_change_is_checked_tried_and_held_against_recorded_runs(tmp_path: Path) -> None:
    """Nothing of that changes a policy in force."""

    async def scenario(server: Running, one: Browser) -> None:
        assert "bundle.rbp:2:" in await tried(one, "bundle b\nrule {")
        said = await tried(one, ASKING, target="pay", args='{"order": "A-1"}')
        assert "require approval by pay" in said
        assert "allow by pay" in await tried(one, WIDER.replace("expires 2h", ""), target="pay")
        wider = WIDER.replace("expires 2h", "")
        backtest = await tried(one, wider, do="backtest")
        assert "1 step of 1 run" in backtest
        assert "1 step less strictly" in backtest
        for bad in ({"args": "{"}, {"kind": "odd"}):
            fields = {"agent": "shop", "text": ASKING, "target": "pay", **bad}
            answer = await one.post("/console/policy", fields, page="/console/runs")
            assert answer.status_code == 400, bad
        async with rebuno.operate(tmp_path / "a.db") as operator:
            assert len(await operator.approvals(status="pending")) == 1

    on(tmp_path / "a.db", scenario)


def test_a_bundle_reads_no_file_of_the_server(tmp_path: Path) -> None:
    """A text that uses one is refused."""
    (tmp_path / "secret.rbp").write_text("let x = 1\n", encoding="utf-8")

    async def scenario(server: Running, one: Browser) -> None:
        said = await tried(one, f'bundle b\nuse "{tmp_path}/secret.rbp"\ndefault deny\n')
        assert "The bundle has no errors" not in said

    on(tmp_path / "a.db", scenario)


def test_who_may_not_write_policies_tries_none(tmp_path: Path) -> None:
    """They read the bundle."""

    async def scenario(server: Running, one: Browser) -> None:
        scopes = ["agents:read", "executions:read"]
        key = await server.post("/v0/api-keys", {"name": "r", "scopes": scopes}, status=201)
        bound = {"name": "b", "scopes": [*scopes, "approvals:read"], "agents": ["shop"]}
        own = await server.post("/v0/api-keys", bound, status=201)
        async with browser(server.url) as other:
            await other.sign_in(key["token"])
            assert "playground" not in await other.get("/console/policy?agent=shop")
            fields = {"agent": "shop", "text": ASKING}
            assert (await other.post("/console/policy", fields, page="/console/runs")).status_code == 403
            stop = await other.post("/console/stops", {"what": "everything"}, page="/console/runs")
            assert stop.status_code == 403
            assert "Keys" not in texts(await other.get("/console/agents"))
        async with browser(server.url) as other:
            await other.sign_in(own["token"])
            for path in ("/console/policy", "/console/agents", "/console/audit"):
                assert (await other.http.get(path)).status_code == 403
            assert ">Audit<" not in await other.get("/console/runs")
            async with rebuno.operate(tmp_path / "a.db") as operator:
                run = await operator.execution("r1")
                [step] = await operator.steps(run.id)
            assert (await other.http.get(f"/console/runs/{run.id}/trace/{step.step_id}")).status_code == 403
            assert "/trace/" not in await other.get(f"/console/runs/{run.id}?step={step.decided_seq}")
            assert (await other.http.get(f"/console/runs/{run.id}/compare?with=r1")).status_code == 404

    on(tmp_path / "a.db", scenario)


def test_a_step_has_its_trace(tmp_path: Path) -> None:
    """Each test with its value, on the facts of then."""
    policy = ASKING.replace('tool "pay"\n', 'tool "pay"\n  when args.order == "A-1"\n')

    async def scenario() -> None:
        id = await asks(tmp_path / "a.db", policy=policy)
        async with served(db=str(tmp_path / "a.db")) as server, browser(server.url) as one:
            await one.sign_in()
            async with rebuno.operate(tmp_path / "a.db") as operator:
                [step] = await operator.steps(id)
            said = texts(await one.part(f"/console/runs/{id}/trace/{step.step_id}"))
            assert "require approval by pay" in said
            assert 'yes args.order == "A-1"' in said
            assert (await one.http.get(f"/console/runs/{id}/trace/{'0' * 64}")).status_code == 404

    asyncio.run(scenario())


def test_agents_are_stopped_and_the_stop_is_lifted() -> None:
    """The page shows what is stopped, by whom and why; keys are named without their tokens."""

    async def scenario(server: Running, one: Browser) -> None:
        async with agent(server, id="bot", bundle='bundle b\ndefault deny\nrule look {\n  allow tool "look"\n}\n'):
            await one.sign_in()
            key = await server.post("/v0/api-keys", {"name": "ann", "scopes": ["agents:read"]}, status=201)
            fields = {"what": "agent", "name": "bot", "reason": "it errs"}
            assert (await one.post("/console/stops", fields, page="/console/agents")).status_code == 303
            page = await one.get("/console/agents")
            said = texts(page)
            assert "agent bot" in said
            assert "it errs" in said
            assert "ann" in said
            assert key["token"] not in page
            [stop] = await server.get("/v0/stops")
            lifted = await one.post(f"/console/stops/{stop['id']}/lift", {}, page="/console/agents")
            assert lifted.status_code == 303
            assert await server.get("/v0/stops") == []
            for bad in ({"what": "agent", "name": ""}, {}, {"what": "tool", "name": " "}):
                answer = await one.post("/console/stops", bad, page="/console/agents")
                assert answer.status_code == 400, bad
            assert "default deny" in texts(await one.get("/console/policy?agent=bot"))

    play(scenario)


def test_a_bundle_is_put_in_force_with_a_reason_and_over_no_other_change(caplog: pytest.LogCaptureFixture) -> None:
    """One with errors is not, nor one that was made from a bundle that is not in force any more."""
    first = 'bundle b\ndefault deny\nrule look {\n  allow tool "look"\n}\n'
    second, third = first.replace('"look"', '"look2"'), first.replace('"look"', '"look3"')

    async def scenario(server: Running, one: Browser) -> None:
        async with agent(server, id="bot", bundle=first):
            await one.sign_in()
            page = await one.get("/console/policy?agent=bot")
            found = re.search(r'name="base" value="([0-9a-f]{64})"', page)
            assert found is not None

            async def put(text: str, reason: str) -> int:
                fields = {"agent": "bot", "text": text, "base": found[1], "reason": reason}
                return (await one.post("/console/policy/put", fields, page="/console/runs")).status_code

            assert await put("bundle b\nrule {", "broken") == 400
            assert await put(second, "") == 400
            assert (await server.get("/v0/agents/bot"))["policy_bundle"] == first
            assert await put(second, "looks more") == 303
            assert (await server.get("/v0/agents/bot"))["policy_bundle"] == second
            assert await put(third, "late") == 409
            assert (await server.get("/v0/agents/bot"))["policy_bundle"] == second

    play(scenario)
    [record] = [one for one in caplog.records if one.name == "rebuno.console"]
    assert record.__dict__["reason"] == "looks more"


def test_every_page_is_made_of_a_store_on_postgresql_too(postgres: str) -> None:
    """The same store that an agent works on."""

    async def scenario() -> None:
        async with served(db=postgres) as server, browser(server.url) as one:
            await one.sign_in()
            with TemporaryDirectory() as folder:
                id = await fill(Path(folder) / "unused.db", postgres)
            pages = [
                "questions",
                "runs",
                "runs?person=ann&verdict=deny&rule=default",
                f"runs/{id}",
                f"runs/{id}?step=3",
            ]
            pages += [
                f"runs/{id}/events",
                f"runs/{id}/fork",
                f"runs/{id}/compare?with=case-2",
                "agents",
                "audit?run=case-1",
            ]
            for page in [*pages, "policy?agent=help-desk"]:
                assert "help-desk" in await one.get(f"/console/{page}") or page.startswith(("runs/", "audit")), page
            said = texts(await one.get("/console/questions"))
            assert "Questions 2" in said
            assert "What this rule was answered last granted refund" in said
            async with rebuno.operate(postgres) as operator:
                [step] = [one for one in await operator.steps(id) if one.target == "refund"]
            assert "require approval by refund" in texts(await one.part(f"/console/runs/{id}/trace/{step.step_id}"))

    asyncio.run(scenario())


def test_the_audit_counts_verifies_and_exports(tmp_path: Path) -> None:
    """By rule and by person; a head that is not the newest one is told; the file can be imported elsewhere."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, one: Browser) -> None:
        async with rebuno.operate(path) as operator:
            [question] = await operator.approvals()
            await operator.grant(question.id, decided_by="ann")
            run = await operator.execution("r1")
        said = texts(await one.get("/console/audit"))
        assert "pay shop 0 1 0 1 granted" in said
        assert "ann 1 granted" in said
        sound = texts(await one.get(f"/console/audit?run=r1&head={run.head_hash}"))
        assert f"The log of {run.id[:13]} is sound" in sound
        assert "is not sound" in texts(await one.get(f"/console/audit?run=r1&head={'0' * 64}"))
        file = await one.http.get(f"/console/runs/{run.id}/export")
        assert file.headers["content-disposition"] == f'attachment; filename="{run.id}.jsonl"'
        assert [json.loads(line) for line in file.text.splitlines()]
        for bad in ("days=x", "in=x", "in=1e5", "run=none"):
            assert (await one.http.get(f"/console/audit?{bad}")).status_code in (400, 404), bad

    on(path, scenario)


def test_models_and_their_tokens_are_plotted() -> None:
    """A bar a day, the largest model at the bottom, and a price for a million tokens."""
    from decimal import Decimal

    from rebuno.console.audit import by_model, plotted
    from rebuno.journal.overview import UsageCount

    usage = [UsageCount("a", "small", 10, 1, 100, 0), UsageCount("a", "large", 10, 2, 3_000_000, 1_000_000)]
    plot = plotted(usage, 8, 4)
    assert plot.names == ("large", "small")
    assert plot.peak == 4_000_100
    assert all(bar.x >= 0 and bar.x + bar.width <= 720 and 0 <= bar.y <= 120 for bar in plot.bars)
    assert [line.cost for line in by_model(usage, Decimal(3), Decimal("0.5"))] == [Decimal("9.50"), Decimal("0.00")]
    assert by_model(usage, None, None)[0].cost is None
    assert plotted([], 8, 4).bars == ()


@pytest.mark.parametrize("path", ["/console/policy", "/console/agents", "/console/audit", "/console/runs"])
def test_an_empty_store_has_pages_too(path: str) -> None:
    """Each says that there is nothing yet."""

    async def scenario(server: Running, one: Browser) -> None:
        await one.sign_in()
        await one.get(path)

    play(scenario)
