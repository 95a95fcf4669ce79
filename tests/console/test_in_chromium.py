"""What people do in the console, in a real browser."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

import rebuno
from rebuno.model.step import Kind
from rebuno.sdk.context import current
from tests.console.chromium import PHONE, chromium, findings, opened, sign_in
from tests.console.support import ASKING, asks, served
from tests.server.support import TOKEN, Running

Scenario = Callable[[Running, Chromium], Awaitable[None]]
MOST_BYTES = 150_000
HOSTILE = (
    "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>\"'><svg/onload=window.pwned=1>\u202e\x07{{7*7}}"
)


def on(path: Path, scenario: Scenario) -> None:
    """Plays a scenario on a server over a store, with a Chromium."""

    async def whole() -> None:
        async with chromium() as browser, served(db=str(path)) as server:
            await scenario(server, browser)

    asyncio.run(whole())


async def goes_on(path: Path, run: str = "r1") -> rebuno.types.Execution:
    """Runs the agent of `asks` again, as its program does once the question is answered."""

    async def handler(given: Any) -> Any:
        execution = current()
        assert execution is not None
        return await execution.invoke(Kind.TOOL, "pay", given, lambda: {"paid": True}, idempotency="at_most_once")

    async with rebuno.open(path, policy=path.parent / f"{run}.rbp") as kernel:
        return await kernel.run(handler, {"order": "A-1"}, id=run, agent="shop")


def test_a_person_is_asked_sees_why_grants_and_the_run_goes_on(tmp_path: Path) -> None:
    """The question comes to the open page by itself."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        async with opened(browser, server.url) as (page, watched):
            await sign_in(page, TOKEN)
            await expect(page.get_by_text("No question is open")).to_be_visible()
            await asks(path)
            card = page.get_by_role("article")
            await expect(card).to_be_visible()
            await expect(page.get_by_role("status").filter(has_text="A new question")).to_have_count(1)
            for said in ("May this be paid?", "money leaves", "A-1", "shop"):
                await expect(card).to_contain_text(said)
            await card.get_by_label("Reason").fill("the order is right")
            await card.get_by_role("button", name="Grant").click()
            await expect(page.get_by_role("status").filter(has_text="pay: granted")).to_be_visible()
            ended = await goes_on(path)
            assert (ended.status, ended.output) == ("completed", {"paid": True})
            await page.goto(f"/console/runs/{ended.id}")
            await page.get_by_role("link", name=re.compile("pay")).click()
            await expect(page.locator("#detail")).to_contain_text("the order is right")
            assert watched.faults == []

    on(path, scenario)


EDITING = """bundle shop
default deny
rule pay {
  require approval for tool "pay"
  when args.amount <= 100
  edits args.amount
  message "May this be paid?"
}
"""


def test_a_person_changes_a_call_and_the_changed_one_runs(tmp_path: Path) -> None:
    """The amount of the form is what is paid."""
    path = tmp_path / "a.db"
    bundle = tmp_path / "edits.rbp"
    bundle.write_text(EDITING, encoding="utf-8")
    paid: list[int] = []

    @rebuno.tool(idempotency="at_most_once")
    def pay(order: str, amount: int) -> int:
        paid.append(amount)
        return amount

    async def run() -> rebuno.types.Execution:
        async def handler(given: Any) -> Any:
            return await pay("A-1", 90)

        async with rebuno.open(path, policy=bundle) as kernel:
            return await kernel.run(handler, {}, id="r1", agent="shop")

    async def scenario(server: Running, browser: Chromium) -> None:
        await run()
        async with opened(browser, server.url) as (page, watched):
            await sign_in(page, TOKEN)
            await page.get_by_text("Change the call").click()
            await page.get_by_label("amount (JSON)").fill("40")
            await page.get_by_role("button", name="Grant", exact=True).click()
            await expect(page.get_by_role("status").filter(has_text="pay: granted")).to_be_visible()
            assert watched.faults == []
        assert (await run()).status == "completed"
        assert paid == [40]

    on(path, scenario)


def test_a_question_is_answered_on_a_phone(tmp_path: Path) -> None:
    """Nothing is wider than the screen, and every button is large enough for a finger."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        id = await asks(path, args={"text": "w" * 3000, "order": "A-1"})
        async with opened(browser, server.url, viewport=PHONE, is_mobile=True, has_touch=True) as (page, watched):
            await sign_in(page, TOKEN)
            for place in (
                "/console/runs",
                f"/console/runs/{id}?step=3",
                f"/console/runs/{id}/fork",
                "/console/questions",
            ):
                await page.goto(place)
                assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], place
            for button in await page.get_by_role("article").get_by_role("button").all():
                box = await button.bounding_box()
                assert box is not None
                assert box["height"] >= 44
            await page.get_by_role("button", name="Deny", exact=True).tap()
            await expect(page.get_by_role("status").filter(has_text="pay: denied")).to_be_visible()
            assert watched.faults == []

    on(path, scenario)


def test_a_question_is_answered_by_the_keyboard_alone(tmp_path: Path) -> None:
    """Enter in a field answers nothing."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        await asks(path)
        async with opened(browser, server.url) as (page, watched):
            await sign_in(page, TOKEN)
            await page.keyboard.press("Tab")
            assert await page.evaluate("document.activeElement.className") == "skip"
            await page.keyboard.press("Enter")
            for _ in range(30):
                await page.keyboard.press("Tab")
                if await page.evaluate("document.activeElement.name") == "rationale":
                    break
            await page.keyboard.type("not today")
            await page.keyboard.press("Enter")
            async with rebuno.operate(path) as operator:
                assert len(await operator.approvals(status="pending")) == 1
            for _ in range(10):
                await page.keyboard.press("Tab")
                outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", await page.evaluate("document.activeElement.outerHTML")
                if await page.evaluate("document.activeElement.value") == "deny":
                    break
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("status").filter(has_text="pay: denied")).to_be_visible()
            assert watched.faults == []
        async with rebuno.operate(path) as operator:
            [answered] = await operator.approvals()
            assert (answered.status, answered.rationale) == ("denied", "not today")

    on(path, scenario)


def test_two_people_answer_at_once(tmp_path: Path) -> None:
    """Who is late is told so, and loses nothing of what they wrote; who only looks sees the question go."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        await asks(path)
        async with (
            opened(browser, server.url) as (first, _),
            opened(browser, server.url) as (writing, _),
            opened(browser, server.url) as (looking, _),
        ):
            for page in (first, writing, looking):
                await sign_in(page, TOKEN)
                await expect(page.get_by_role("article")).to_be_visible()
            await writing.get_by_role("article").get_by_label("Reason").fill("I am about to")
            await first.get_by_role("button", name="Grant", exact=True).click()
            await expect(first.get_by_role("status").filter(has_text="pay: granted")).to_be_visible()
            await expect(looking.get_by_role("article")).to_have_count(0)
            await expect(writing.get_by_text("This question has been answered")).to_be_visible()
            await expect(writing.get_by_label("Reason").first).to_have_value("I am about to")
            await expect(writing.get_by_role("button", name="Deny", exact=True)).to_be_disabled()

    on(path, scenario)


async def hostile(path: Path) -> list[str]:
    """Runs whose every text is hostile; the pages that show them."""
    policy = ASKING.replace('tool "look"', 'tool "look*"') + 'rule models {\n  allow llm "*"\n}\n'
    file = path.parent / "hostile.rbp"
    file.write_text(policy.replace('tool "pay"', 'tool "pay*"'), encoding="utf-8")

    async def handler(given: Any) -> Any:
        execution = current()
        assert execution is not None
        once = "at_most_once"
        await execution.invoke(
            Kind.LLM, f"m{HOSTILE}", {HOSTILE: HOSTILE}, lambda: {HOSTILE: HOSTILE}, idempotency=once
        )

        def fails() -> Any:
            raise RuntimeError(HOSTILE)

        try:
            await execution.invoke(Kind.TOOL, f"look{HOSTILE}", {}, fails, idempotency=once)
        except rebuno.ToolError:
            await execution.invoke(Kind.TOOL, f"pay{HOSTILE}", {"x": HOSTILE * 2000}, lambda: 1, idempotency=once)
        raise ValueError(HOSTILE)

    async with rebuno.open(path, policy=file) as kernel:
        first = await kernel.run(handler, {HOSTILE: HOSTILE}, id=f"k{HOSTILE}", agent=f"a{HOSTILE}")
        [question] = await kernel.operator.approvals(status="pending")
        await kernel.operator.say(first.id, HOSTILE, by="ann")
        await kernel.operator.grant(question.id, decided_by="ann", rationale=HOSTILE)
        failed = await kernel.run(handler, {HOSTILE: HOSTILE}, id=f"k{HOSTILE}", agent=f"a{HOSTILE}")
        assert failed.status == "failed"
        second = await kernel.run(handler, {HOSTILE: HOSTILE}, id="again", agent=f"a{HOSTILE}")
        [pending] = await kernel.operator.approvals(status="pending")
    run = f"/console/runs/{first.id}"
    return [
        "/console/questions",
        f"/console/questions/{question.id}",
        f"/console/questions/{pending.id}",
        "/console/runs",
        run,
        *[f"{run}?step={seq}" for seq in (3, 5)],
        f"{run}/events",
        f"{run}/fork",
        f"{run}/compare?with={second.id}",
        f"/console/policy?agent={quote(f'a{HOSTILE}', safe='')}",
        "/console/agents",
        f"/console/audit?run={first.id}",
    ]


def test_no_text_of_an_agent_acts_on_a_page(tmp_path: Path) -> None:
    """Names, arguments, results, errors, reasons: markup, control characters and texts without end are only shown. No
    page loads anything from elsewhere, and none weighs more than it may."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        pages = await hostile(path)
        async with opened(browser, server.url) as (page, _):
            await sign_in(page, TOKEN)
            state = await page.context.storage_state()
        for place in pages:
            async with opened(browser, server.url, storage_state=state) as (page, watched):
                answer = await page.goto(place)
                assert answer is not None
                assert answer.status == 200, place
                await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
                assert await page.evaluate("window.pwned") is None, place
                assert await page.locator("main script, main img, main [onerror], main [onload]").count() == 0
                assert "\u202e" not in await page.inner_text("main")
                assert watched.faults == [], place
                assert await watched.weigh() < MOST_BYTES, place

    on(path, scenario)


def test_the_page_of_another_site_answers_no_question(tmp_path: Path) -> None:
    """Also one on the same host, to which the browser sends the cookie: its port is another."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        await asks(path)
        async with rebuno.operate(path) as operator:
            [question] = await operator.approvals(status="pending")
        target = f"{server.url}/console/questions/{question.id}"

        class Evil(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = f'<form id=f method=post action="{target}"><input name=answer value=grant></form>'.encode()
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Evil) as evil:
            Thread(target=evil.serve_forever, daemon=True).start()
            try:
                async with opened(browser, server.url) as (page, _):
                    await sign_in(page, TOKEN)
                    for host in ("127.0.0.1", "localhost"):
                        await page.goto(f"http://{host}:{evil.server_port}/")
                        async with page.expect_navigation():
                            await page.evaluate("document.getElementById('f').submit()")
                        await expect(page.get_by_role("heading")).to_be_visible()
                        async with rebuno.operate(path) as operator:
                            assert len(await operator.approvals(status="pending")) == 1
            finally:
                evil.shutdown()

    on(path, scenario)


def test_a_key_without_a_scope_is_told_what_is_missing(tmp_path: Path) -> None:
    """And is shown no page that it cannot open."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        await asks(path)
        body = {"name": "reader", "scopes": ["approvals:read"]}
        key = await server.post("/v0/api-keys", body, status=201)
        async with opened(browser, server.url) as (page, _):
            await sign_in(page, key["token"])
            await expect(page.get_by_role("article")).to_be_visible()
            await expect(page.get_by_role("button", name="Grant")).to_have_count(0)
            await expect(page.get_by_role("link", name="Runs")).to_have_count(0)
            await page.goto("/console/runs")
            await expect(page.get_by_role("alert")).to_contain_text("executions:read")

    on(path, scenario)


def test_questions_are_read_and_answered_without_javascript(tmp_path: Path) -> None:
    """Forms and links are enough."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        id = await asks(path)
        async with opened(browser, server.url, java_script_enabled=False) as (page, _):
            await sign_in(page, TOKEN)
            await page.goto(f"/console/runs/{id}")
            await page.locator("ol.steps a").first.click()
            await expect(page.locator("#detail")).to_contain_text("A-1")
            await page.goto("/console/questions")
            await page.get_by_role("button", name="Grant", exact=True).click()
            await expect(page.get_by_role("status").filter(has_text="pay: granted")).to_be_visible()

    on(path, scenario)


def test_a_bundle_is_checked_while_it_is_written(tmp_path: Path) -> None:
    """And a call is tried under it, with its trace."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        await asks(path)
        async with opened(browser, server.url) as (page, watched):
            await sign_in(page, TOKEN)
            await page.goto("/console/policy?agent=shop")
            await page.get_by_label("Target").press_sequentially("pay")
            await expect(page.locator("#tried")).to_contain_text("require approval by pay")
            await page.locator("textarea").fill("bundle b\nrule {")
            await expect(page.locator("#tried")).to_contain_text("bundle.rbp:2:")
            run = await page.locator("a[href*='/console/runs?rule=pay']").get_attribute("href")
            await page.goto(str(run))
            await page.get_by_role("list", name="Runs, newest first").get_by_role("link").click()
            await page.locator("ol.steps a").first.click()
            await page.get_by_text("Decision trace").click()
            await expect(page.locator("#detail")).to_contain_text("Under the policy of then")
            assert watched.faults == []

    on(path, scenario)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_axe_finds_nothing_serious(tmp_path: Path, scheme: str, phone: bool) -> None:
    """On any page: names of fields, contrast, landmarks, what the keyboard reaches."""
    path = tmp_path / "a.db"

    async def scenario(server: Running, browser: Chromium) -> None:
        pages = await hostile(path)
        more: dict[str, Any] = {"viewport": PHONE} if phone else {}
        async with opened(browser, server.url, color_scheme=scheme, **more) as (page, _):
            await page.goto("/console/sign-in")
            assert await findings(page) == []
            await sign_in(page, TOKEN)
            for place in [*pages, "/console/none"]:
                await page.goto(place)
                assert await findings(page) == [], place

    on(path, scenario)
