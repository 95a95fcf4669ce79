"""What a rule sees of earlier steps and of the time: in a running attempt, after a crash, under another bundle."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

import rebuno
from rebuno.model.answer import AnswerKind
from rebuno.policy.compile import compile_text
from rebuno.policy.matcher.policy import Policy
from rebuno.testing import FixedClock, memory_kernel
from tests.kernel.support import Bench, bench
from tests.sdk.support import Crash

GUARD = """bundle office
default allow

rule no-mail-after-web {
  deny tool "send_mail"
  when after tool "web_*"
  because "the web was read"
}

rule few-orders {
  deny tool "order"
  when count(tool "order" where (args.shop == this.args.shop)) >= 2
  because "two orders a shop"
}

rule report {
  allow tool "report" when after tool "check"
}

rule no-report {
  deny tool "report" because "nothing was checked"
}
"""


@rebuno.tool
async def web_get(fails: bool = False) -> str:
    if fails:
        raise OSError("gone")
    return "page"


@rebuno.tool
async def send_mail() -> str:
    return "sent"


@rebuno.tool
async def order(shop: str, n: int = 0) -> str:
    return "ordered"


@rebuno.tool
async def check(fails: bool = False) -> None:
    if fails:
        raise OSError("broken")


@rebuno.tool
async def report() -> str:
    return "reported"


async def said(call: Callable[[], Awaitable[object]]) -> str:
    """The result, or why there is none."""
    try:
        return str(await call())
    except rebuno.RebunoError as error:
        return str(error)


async def runs(path: Path, policy: Path, handler: Callable[[], Awaitable[list[str]]]) -> object:
    async with rebuno.open(path, policy=policy) as kernel:
        return (await kernel.run(handler, id="run", agent="agent")).output


@pytest.fixture
def guard(tmp_path: Path) -> Path:
    path = tmp_path / "office.rbp"
    path.write_text(GUARD, encoding="utf-8")
    return path


def test_what_was_done_before_decides(tmp_path: Path, guard: Path) -> None:
    """Mail goes until the web was read, and orders until there are enough of the shop's."""

    async def handler() -> list[str]:
        mails = [await said(send_mail), await said(web_get), await said(send_mail)]
        orders = [await said(partial(order, shop, n)) for n, shop in enumerate("aaab")]
        return [*mails, *orders]

    output = asyncio.run(runs(tmp_path / "a.db", guard, handler))
    assert isinstance(output, list)
    assert ["web was read" in text or text for text in output[:3]] == ["sent", "page", True]
    assert ["two orders" in text or text for text in output[3:]] == ["ordered", "ordered", True, "ordered"]


def test_a_step_that_failed_is_in_doubt(tmp_path: Path, guard: Path) -> None:
    """A deny rule fires on a failed read, an allow rule does not rest on a failed check."""

    async def handler() -> list[str]:
        failures = [await said(partial(web_get, fails=True)), await said(partial(check, fails=True))]
        doubtful = [await said(send_mail), await said(report)]
        return [*failures, *doubtful, await said(check), await said(report)]

    output = asyncio.run(runs(tmp_path / "a.db", guard, handler))
    assert isinstance(output, list)
    assert "the web was read" in output[2]
    assert "nothing was checked" in output[3]
    assert output[4:] == ["None", "reported"]


def test_a_resumed_run_goes_on_from_what_was_done(tmp_path: Path, guard: Path) -> None:
    """After a crash, under another bundle: what was judged before the read stands, what comes after it does not."""
    crashes = iter([True])

    async def handler() -> list[str]:
        before = [await said(send_mail), await said(partial(order, "a")), await said(web_get)]
        if next(crashes, False):
            raise Crash
        return [*before, await said(send_mail), *[await said(partial(order, "a", n)) for n in (1, 2)]]

    with pytest.raises(Crash):
        asyncio.run(runs(tmp_path / "a.db", guard, handler))
    guard.write_text(f"# Another text is another bundle.\n{GUARD}", encoding="utf-8")
    output = asyncio.run(runs(tmp_path / "a.db", guard, handler))
    assert isinstance(output, list)
    assert output[:3] == ["sent", "ordered", "page"]
    assert "the web was read" in output[3]
    assert output[4] == "ordered"
    assert "two orders a shop" in output[5]


def test_the_clock_of_the_store_is_the_rules(tmp_path: Path) -> None:
    """`during` looks at the time of the submission."""
    text = 'default deny\nrule open { allow tool "report" when during "Mon-Fri 09:00-17:00 Europe/London" }'

    async def scenario() -> None:
        clock = FixedClock("2026-06-29T15:59:00Z")

        async def handler() -> list[str]:
            first = await said(report)
            clock.advance(60)
            return [first, await said(report)]

        async with memory_kernel(compile_text(text), clock=clock) as kernel:
            output = (await kernel.run(handler, agent="agent")).output
        assert isinstance(output, list)
        assert output[0] == "reported"
        assert "policy_denied" in output[1]

    asyncio.run(scenario())


# ---------------------------------------------------------------- as of a submission


def mail(rule: str) -> Policy:
    """Everything is allowed but for what `rule` says of mail."""
    return compile_text(f"default allow\n{rule}\n")


OPEN = mail("")
IN_DOUBT = mail('rule r { deny tool "mail" when after tool "web" because "x" }')
FOR_SURE = mail('rule a { allow tool "mail" when after tool "web" }\nrule r { deny tool "mail" because "x" }')
AGAIN = mail('rule r { deny tool "mail" when after tool "web" because "y" }')


def scenario(play: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with bench() as b:
            await play(b)

    asyncio.run(whole())


async def mail_while_the_web_is_read(b: Bench) -> None:
    await b.begin(OPEN)
    web = await b.submit(target="web")
    await b.succeed(await b.submit(target="mail"))
    await b.succeed(web)


@pytest.mark.parametrize("under", [IN_DOUBT, FOR_SURE], ids=["deny", "allow"])
def test_what_ran_then_is_in_doubt_for_ever(under: Policy) -> None:
    """A read that had started when mail was sent, and succeeded since, is still a maybe: a person must look."""

    async def play(b: Bench) -> None:
        await mail_while_the_web_is_read(b)
        await b.begin(under)
        assert (await b.submit(target="web")).kind is AnswerKind.REPLAY
        assert (await b.submit(target="mail")).kind is AnswerKind.BLOCKED

    scenario(play)


def test_what_came_later_is_not_seen() -> None:
    """Mail that was sent before the read replays under a bundle that denies it after one; new mail is denied."""

    async def play(b: Bench) -> None:
        await b.begin(OPEN)
        await b.succeed(await b.submit(target="mail"))
        await b.succeed(await b.submit(target="web"))
        await b.begin(IN_DOUBT)
        assert (await b.submit(target="mail")).kind is AnswerKind.REPLAY
        assert (await b.submit(target="mail")).kind is AnswerKind.DENIED

    scenario(play)


def test_a_step_that_is_started_again_keeps_its_first_start() -> None:
    """What was sent while the first try ran stays in doubt when a second try begins later."""

    async def play(b: Bench) -> None:
        await b.begin(OPEN)
        await b.submit(target="web")
        await b.succeed(await b.submit(target="mail"))
        await b.begin(OPEN)
        assert (await b.submit(target="web")).kind is AnswerKind.PROCEED
        await b.begin(AGAIN)
        assert (await b.submit(target="mail")).kind is AnswerKind.BLOCKED

    scenario(play)


@pytest.mark.parametrize("verdict", ["require approval for", "deny"])
def test_what_never_started_does_not_count(verdict: str) -> None:
    """Neither a question nor a refusal is a step that ran."""

    async def play(b: Bench) -> None:
        web = f'rule w {{ {verdict} tool "web" because "w" }}'
        rest = 'rule a { allow tool "mail" when not after tool "web" }\nrule r { deny tool "mail" because "x" }'
        await b.begin(mail(f"{web}\n{rest}"))
        # In a body steps go on while the attempt waits for an answer.
        outer = await b.submit(target="outer")
        await b.submit(target="web", parent=outer.step_id)
        assert (await b.submit(target="mail", parent=outer.step_id)).kind is AnswerKind.PROCEED

    scenario(play)


@pytest.mark.parametrize(
    ("web", "sent"), [("allow", True), ("deny", False)], ids=["one that succeeded", "one that never ran"]
)
def test_the_next_attempt_knows_the_steps_of_the_last(web: str, sent: bool) -> None:
    """What succeeded before a crash counts for sure after it; what was refused does not even perhaps."""

    async def play(b: Bench) -> None:
        policy = mail(f'rule w {{ {web} tool "web" }}\nrule a {{ deny tool "mail" when not after tool "web" }}')
        await b.begin(policy)
        read = await b.submit(target="web")
        if sent:
            await b.succeed(read)
        await b.begin(policy)
        assert ((await b.submit(target="mail")).kind is AnswerKind.PROCEED) is sent
        # Perhaps would be enough to deny this.
        await b.begin(mail('rule r { deny tool "mail" when after tool "web" }'))
        assert ((await b.submit(target="mail", args={"n": 1})).kind is AnswerKind.DENIED) is sent

    scenario(play)


def test_inside_a_body_the_step_around_it_has_started() -> None:
    """It counts as a maybe for the steps of its own body, and for sure once it has succeeded."""

    async def play(b: Bench) -> None:
        await b.begin(FOR_SURE)
        outer = await b.submit(target="web")
        assert (await b.submit(target="mail", parent=outer.step_id)).kind is AnswerKind.DENIED
        await b.succeed(outer)
        assert (await b.submit(target="mail")).kind is AnswerKind.PROCEED

    scenario(play)


def test_what_another_process_wrote_does_not_undo_what_is_known() -> None:
    """An answer to a question makes the attempt read its log again; started and ended steps are still there."""

    async def play(b: Bench) -> None:
        ask = 'rule q { require approval for tool "ask" because "q" }'
        await b.begin(mail(f'{ask}\nrule r {{ deny tool "mail" when count(tool "web") >= 2 because "x" }}'))
        for n in range(2):
            await b.succeed(await b.submit(target="web", args={"n": n}))
        outer = await b.submit(target="outer")
        question = await b.submit(target="ask")
        await b.answer(question.approval_id, granted=True)
        assert (await b.submit(target="mail", parent=outer.step_id)).kind is AnswerKind.DENIED

    scenario(play)
