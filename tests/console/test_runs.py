"""The list of runs, a run as a timeline, its steps, forks and comparisons."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.console.drawing import WIDTH, ShownAttempt, drawn
from rebuno.journal.overview import StepLine
from rebuno.model.step import Kind
from rebuno.sdk.context import current
from tests.console.support import ASKING, Browser, asks, browser, served, texts
from tests.server.support import Running

Scenario = Callable[[Running, Browser], Awaitable[None]]


def on(path: Path, scenario: Scenario) -> None:
    """Plays a scenario with a browser that is signed in."""

    async def whole() -> None:
        async with served(db=str(path)) as server, browser(server.url) as one:
            await scenario(server, await one.sign_in())

    asyncio.run(whole())


async def call(target: str, result: Any = None, *, kind: Kind = Kind.TOOL, args: Any = None, once: bool = True) -> Any:
    """A step of the execution that runs."""
    execution = current()
    assert execution is not None

    def body() -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    idempotency = "at_most_once" if once else "safe_to_retry"
    return await execution.invoke(kind, target, args or {}, body, idempotency=idempotency)


POLICY = ASKING.replace('tool "look"', 'tool "look*"') + 'rule models {\n  allow llm "*"\n}\n'


async def ran(path: Path, *, id: str = "r1", amount: int = 1, fails: bool = False) -> str:
    """A run with a model, tools, a failure, a denial, and a question that was answered; its id."""
    file = path.parent / "shop.rbp"
    file.write_text(POLICY, encoding="utf-8")

    async def handler(given: Any) -> Any:
        await call("model-1", {"text": "hm"}, kind=Kind.LLM, args={"prompt": "<b>go</b>"})
        await call("look", {"amount": amount}, args={"order": 1}, once=False)
        with contextlib.suppress(rebuno.ToolError):
            await call("look_bad", RuntimeError("boom <script>"))
        with contextlib.suppress(rebuno.PolicyError):
            await call("remove")
        await call("pay", {"paid": amount}, args={"order": 1})
        if fails:
            raise ValueError("at the end")
        return "done"

    async with rebuno.open(path, policy=file) as kernel:
        blocked = await kernel.run(handler, {"order": 1}, id=id, agent="shop")
        [question] = await kernel.operator.approvals(status="pending", execution_id=blocked.id)
        await kernel.operator.grant(question.id, decided_by="ann")
        return (await kernel.run(handler, {"order": 1}, id=id, agent="shop")).id


def test_the_list_shows_runs_and_takes_filters(tmp_path: Path) -> None:
    """Each filter by itself; one that is no filter is refused."""
    path = tmp_path / "a.db"
    asyncio.run(ran(path))
    asyncio.run(asks(path, run="r2"))

    async def scenario(server: Running, one: Browser) -> None:
        page = texts(await one.get("/console/runs"))
        assert "completed" in page
        assert "1 question" in page
        for query, fits in (
            ("agent=shop", 2),
            ("agent=other", 0),
            ("status=blocked", 1),
            ("verdict=deny", 1),
            ("verdict=require_approval", 2),
            ("rule=models", 1),
            ("person=ann", 1),
            ("since=2000-01-01T00:00", 2),
            ("until=2000-01-01T00:00", 0),
            ("session=none", 0),
        ):
            found = await one.get(f"/console/runs?{query}")
            assert found.count('class="main"') == fits, query
        for bad in ("status=odd", "verdict=odd", "since=yesterday", "before=none", f"agent={'x' * 301}", "agent=%00"):
            answer = await one.http.get(f"/console/runs?{bad}")
            assert answer.status_code in (400, 404), bad

    on(path, scenario)


def test_a_run_is_a_timeline_of_its_steps(tmp_path: Path) -> None:
    """With both attempts, the kinds and verdicts, the question, and what each step came to."""
    path = tmp_path / "a.db"
    id = asyncio.run(ran(path))

    async def scenario(server: Running, one: Browser) -> None:
        page = await one.get(f"/console/runs/{id}")
        said = texts(page)
        for part in ("5 steps", "attempt 1: blocked", "attempt 2: completed", "3 steps replayed", "remove", "denied"):
            assert part in said, part
        for part in ('class="tool"', 'class="model"', 'class="wait"', 'class="again"', '"failed allow', '"denied deny'):
            assert part in page, part
        # The question stood between the attempts.
        async with rebuno.operate(path) as operator:
            steps = {step.target: step for step in await operator.steps(id)}
        step = steps["look_bad"]
        shown = await one.part(f"/console/runs/{id}/steps/{step.decided_seq}")
        assert "<html" not in shown
        assert "boom <script>" in texts(shown).replace("&lt;", "<")
        assert "<script>" not in shown
        assert step.step_id in shown
        asked = await one.get(f"/console/runs/{id}?step={steps['pay'].decided_seq}")
        assert "by ann" in texts(asked)
        to = await one.http.get(f"/console/runs/{id}/step/{steps['pay'].step_id}")
        assert to.headers["location"].startswith(f"/console/runs/{id}?step={steps['pay'].decided_seq}#")
        log = texts(await one.get(f"/console/runs/{id}/events"))
        assert "step.succeeded" in log
        for bad in ("steps/1", "steps/99999", f"step/{'0' * 64}"):
            assert (await one.http.get(f"/console/runs/{id}/{bad}", headers={"hx-request": "true"})).status_code == 404
        assert (await one.http.get(f"/console/runs/{id}?from=x")).status_code == 400
        assert (await one.http.get("/console/runs/none")).status_code == 404

    on(path, scenario)


def test_a_key_of_another_agent_sees_no_run_of_this_one(tmp_path: Path) -> None:
    """Neither in the list nor by any address of it."""
    path = tmp_path / "a.db"
    id = asyncio.run(ran(path))

    async def scenario(server: Running, one: Browser) -> None:
        scopes = ["executions:read", "executions:write", "approvals:read"]
        body = {"name": "bot", "scopes": scopes, "agents": ["other"]}
        made = await server.post("/v0/api-keys", body, status=201)
        async with browser(server.url) as other:
            await other.sign_in(made["token"])
            assert "No run fits" in await other.get("/console/runs?agent=shop")
            for path in ("", "/events", "/compare", "/fork", "/steps/3"):
                answer = await other.http.get(f"/console/runs/{id}{path}", headers={"hx-request": "true"})
                assert answer.status_code == 403, path
            token = await other.form_token("/console/runs")
            for path in ("/fork", "/retry", "/cancel"):
                answer = await other.send(f"/console/runs/{id}{path}", {"form_token": token, "at": "2"})
                assert answer.status_code == 403, path
            assert (await other.http.get(f"/console/live/runs/{id}")).status_code == 403

    on(path, scenario)


def test_a_fork_says_what_it_takes_along_and_is_made(tmp_path: Path) -> None:
    """From an event of the run; a key that may only read is not offered one."""
    path = tmp_path / "a.db"
    id = asyncio.run(ran(path))

    async def scenario(server: Running, one: Browser) -> None:
        async with rebuno.operate(path) as operator:
            step = (await operator.steps(id))[1]
        said = texts(await one.get(f"/console/runs/{id}/fork?at={step.outcome_seq}"))
        assert "2 steps that had ended by then come along" in said
        assert "3 later steps are left behind" in said
        made = await one.post(f"/console/runs/{id}/fork", {"at": str(step.outcome_seq)}, page="/console/runs")
        assert made.status_code == 303, made.text
        place = made.headers["location"]
        assert f"A fork of {id[:13]}" in texts(await one.get(place))
        for bad in ("", "-1", "99999", "x"):
            answer = await one.post(f"/console/runs/{id}/fork", {"at": bad}, page="/console/runs")
            assert answer.status_code == 400, bad
        again = await one.post(f"/console/runs/{id}/retry", {}, page="/console/runs")
        assert again.status_code == 409
        key = await server.post("/v0/api-keys", {"name": "r", "scopes": ["executions:read"]}, status=201)
        async with browser(server.url) as reader:
            await reader.sign_in(key["token"])
            assert "/fork" not in await reader.get(f"/console/runs/{id}")
            assert (await reader.http.get(f"/console/runs/{id}/fork")).status_code == 403
        ended = await one.post(f"{place}/cancel", {}, page="/console/runs")
        assert ended.status_code == 303
        assert "cancelled" in texts(await one.get(place))

    on(path, scenario)


def test_a_failed_run_is_tried_again(tmp_path: Path) -> None:
    """As a fork from right before its failure."""
    path = tmp_path / "a.db"
    id = asyncio.run(ran(path, fails=True))

    async def scenario(server: Running, one: Browser) -> None:
        page = await one.get(f"/console/runs/{id}")
        assert f"/console/runs/{id}/retry" in page
        assert "at the end" in texts(page)
        made = await one.post(f"/console/runs/{id}/retry", {}, page="/console/runs")
        assert made.status_code == 303
        assert f"A fork of {id[:13]}" in texts(await one.get(made.headers["location"]))

    on(path, scenario)


def test_two_runs_stand_beside_each_other(tmp_path: Path) -> None:
    """Equal calls in one row; a call that came to something else is marked."""
    path = tmp_path / "a.db"
    first = asyncio.run(ran(path))
    asyncio.run(ran(path, id="r2", amount=2))

    async def scenario(server: Running, one: Browser) -> None:
        page = await one.get(f"/console/runs/{first}/compare?with=r2")
        assert page.count('<tr class="changed"') == 2
        assert page.count('<tr class="same"') == 3
        assert (await one.http.get(f"/console/runs/{first}/compare?with=none")).status_code == 404

    on(path, scenario)


def line(number: int, start: float, end: float, **changes: Any) -> StepLine:
    """A step that ran from one time to another."""
    told: dict[str, Any] = {
        "step_id": f"s{number}",
        "parent_id": "",
        "kind": "tool_call",
        "target": "t",
        "status": "succeeded",
        "verdict": "allow",
        "rule_id": "r",
        "attempt": 1,
        "approval_id": "",
        "decided_seq": number,
        "started_seq": number,
        "outcome_seq": number + 1,
        "decided_at": start,
        "started_at": start,
        "completed_at": end,
        "input_tokens": None,
        "output_tokens": None,
        "args": "{}",
        "error": None,
    }
    return StepLine(**told | changes)


ATTEMPTS = [ShownAttempt(1, 0.0, 1, 10.0, "blocked"), ShownAttempt(2, 1000.0, 20, 1010.0, "completed", 1)]


def test_a_wait_of_days_is_a_gap_and_attempts_are_columns() -> None:
    """Two attempts of ten seconds are as wide as each other, whatever lies between."""
    asked = line(3, 9.0, 1004.0, started_at=1001.0, approval_id="a")
    picture = drawn(ATTEMPTS, [line(2, 0.0, 9.0), asked], [], began=0.0, now=1010.0)
    first, second = picture.columns
    assert abs(first.width - second.width) < WIDTH / 2
    assert second.x > first.x + first.width
    wait, run = picture.rows[1].bars
    assert (wait.what, run.what) == ("wait", "run")
    assert wait.x < second.x <= run.x
    assert [bar.what for bar in picture.rows[0].bars] == ["run", "again"]


@pytest.mark.parametrize("attempts", [[], ATTEMPTS, [ShownAttempt(n, n * 10.0, n, n * 10.0 + 5) for n in range(1, 40)]])
def test_every_bar_lies_in_the_picture(attempts: list[ShownAttempt]) -> None:
    """Whatever the times are: none, before the start, behind the end, all the same."""
    steps = [line(n, start, end) for n, (start, end) in enumerate([(0, 0), (5, 2000), (-9, -9), (7, 7), (400, 401)], 2)]
    steps.append(line(9, 3.0, 0.0, status="executing", completed_at=0.0))
    steps.append(line(10, 3.0, 0.0, status="awaiting_approval", started_seq=0, started_at=0.0, completed_at=0.0))
    picture = drawn(attempts, steps, [], began=0.0, now=2100.0)
    assert len(picture.columns) <= 10
    for row in picture.rows:
        for bar in row.bars:
            assert 0 <= bar.x <= WIDTH
            assert bar.x + bar.width <= WIDTH + 6
            assert bar.width >= 3
