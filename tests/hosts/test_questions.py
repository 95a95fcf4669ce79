"""Questions to people: what each host is told, who answers, and what becomes of the call."""

import asyncio
import json

import pytest

from rebuno.hosts import HOSTS
from tests.embedded.support import in_loop
from tests.hosts.conftest import Opening
from tests.hosts.support import ATTENDED, Hooks, decision, question, told

CLAUDE, CODEX, GEMINI, OPENCODE = HOSTS


async def first_question(hooks: Hooks) -> str:
    """The id of the first open question, as soon as there is one."""
    async with asyncio.timeout(60):
        while True:
            if found := await hooks.gate.operator.approvals(status="pending"):
                return found[0].id
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_a_question_is_told_granted_and_the_same_call_runs_once(host: str, opened: Opening) -> None:
    """A host that cannot wait gets a refusal that names the question and the command that answers it."""
    async with opened(host) as hooks:
        await hooks.prompt("build it")
        answer = await hooks.shell("make", "t1")
        assert decision(answer) == ("defer" if host == CLAUDE else "deny")
        asked = await question(hooks)
        assert f"rebuno approval grant {asked} --db {hooks.settings.db}" in told(answer)
        await hooks.gate.operator.grant(asked, decided_by="ann")
    async with opened(host) as hooks:
        again = "t1" if host == CLAUDE else "t2"
        assert decision(await hooks.shell("make", again)) == "allow"
        await hooks.ran("make", again)
        assert await hooks.steps() == [("shell", "succeeded")]
        assert decision(await hooks.shell("make", "t3")) != "allow"


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_a_question_that_a_person_denies(host: str, opened: Opening) -> None:
    """The model is told the reason that the person gave."""
    async with opened(host) as hooks:
        await hooks.prompt("build it")
        await hooks.shell("make", "t1")
        await hooks.gate.operator.deny(await question(hooks), decided_by="ann", rationale="not on a Friday")
        if host != GEMINI:
            answer = await hooks.shell("make", "t1")
            assert decision(answer) == "deny"
            assert "not on a Friday" in told(answer)
        answer = await hooks.shell("make", "t2")
        assert decision(answer) == ("defer" if host == CLAUDE else "deny")
        assert ("not on a Friday" in told(answer)) == (host != CLAUDE)


@in_loop
async def test_one_call_of_a_turn_is_put_off_and_none_twice(opened: Opening) -> None:
    """Claude Code loses all but one call that is put off, and a call that is put off again."""
    async with opened(CLAUDE) as hooks:
        await hooks.prompt("build it")
        first, second = await asyncio.gather(hooks.shell("make", "t1"), hooks.shell("make b", "t2"))
        assert sorted([decision(first), decision(second)]) == ["defer", "deny"]
        assert "one at a time" in told(second if decision(first) == "defer" else first)
    async with opened(CLAUDE) as hooks:
        await hooks.send(hooks.event("SessionStart", source="resume"))
        answer = await hooks.shell("make", "t1")
        assert decision(answer) == "deny"
        assert "needs the approval of a person" in told(answer)


@in_loop
async def test_a_second_hook_gives_the_same_answer(opened: Opening) -> None:
    """Of the user and of the project, say. A process that resumes the session is another one."""
    async with opened(CLAUDE, environ={"CLAUDE_PID": "100"}) as hooks:
        await hooks.prompt("build it")
        answers = await asyncio.gather(hooks.shell("make", "t1"), hooks.shell("make", "t1"))
        assert [decision(one) for one in answers] == ["defer", "defer"]
        assert decision(await hooks.shell("make", "t1")) == "defer"
    async with opened(CLAUDE, environ={"CLAUDE_PID": "200"}) as hooks:
        assert decision(await hooks.shell("make", "t1")) == "deny"


@in_loop
async def test_one_of_two_equal_calls_is_put_off(opened: Opening) -> None:
    """The host would lose the other one."""
    async with opened(CLAUDE, environ={"CLAUDE_PID": "100"}) as hooks:
        await hooks.prompt("build it")
        answers = await asyncio.gather(hooks.shell("make", "t1"), hooks.shell("make", "t2"))
        assert sorted(decision(one) for one in answers) == ["defer", "deny"]


@in_loop
async def test_a_question_of_an_earlier_turn_holds_up_no_other(opened: Opening) -> None:
    """The host has let go of the call by then."""
    async with opened(CLAUDE) as hooks:
        await hooks.prompt("build it")
        assert decision(await hooks.shell("make", "t1")) == "defer"
        await hooks.prompt("leave it, build b")
        assert decision(await hooks.shell("make b", "t2")) == "defer"
        assert len(await hooks.gate.operator.approvals(status="pending")) == 2


@in_loop
async def test_the_user_of_an_attended_session_answers_in_the_host(opened: Opening) -> None:
    """What ran after the host's own question was granted; what the user passed over was not."""
    async with opened(CLAUDE, environ=ATTENDED) as hooks:
        await hooks.prompt("build it")
        answer = await hooks.shell("make", "t1")
        assert decision(answer) == "ask"
        assert told(answer) == "Should this run?"
        await hooks.ran("make", "t1")
        assert await hooks.steps() == [("shell", "succeeded")]
        (answered,) = await hooks.gate.operator.approvals()
        assert (answered.status, answered.decided_by) == ("granted", "ann-at-host")
        assert decision(await hooks.shell("make b", "t2")) == "ask"
        await hooks.prompt("no, look first")
        assert [one.status for one in await hooks.gate.operator.approvals()] == ["granted", "denied"]
        assert decision(await hooks.shell("make b", "t2")) == "deny"
        assert decision(await hooks.shell("make", "t3", permission_mode="auto")) == "deny"
        await hooks.prompt("still there?")
        assert [one.status for one in await hooks.gate.operator.approvals()] == ["granted", "denied", "pending"]


@in_loop
async def test_what_the_user_let_run_may_fail(opened: Opening) -> None:
    """It was granted all the same."""
    async with opened(CLAUDE, environ=ATTENDED) as hooks:
        await hooks.prompt("build it")
        assert decision(await hooks.shell("make", "t1")) == "ask"
        failed = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1", "error": "exit code 2"}
        await hooks.send(hooks.event("PostToolUseFailure", **failed))
        assert await hooks.steps() == [("shell", "failed")]
        assert [one.status for one in await hooks.gate.operator.approvals()] == ["granted"]


@in_loop
async def test_a_question_that_the_user_left_ends_with_the_session(opened: Opening) -> None:
    """Or with the subagent whose call it was."""
    async with opened(CLAUDE, environ=ATTENDED) as hooks:
        await hooks.prompt("build it")
        inner = {"agent_id": "sub-1", "agent_type": "Explore"}
        assert decision(await hooks.shell("make", "t1", **inner)) == "ask"
        assert decision(await hooks.shell("make", "t2")) == "ask"
        await hooks.send(hooks.event("SubagentStop", **inner))
        assert await hooks.steps(f"{hooks.session}/sub-1") == [("shell", "denied")]
        await hooks.send(hooks.event("SessionEnd", reason="other"))
        executions = await hooks.gate.operator.executions()
        assert [one.status for one in executions] == ["completed", "completed"]


@pytest.mark.parametrize(
    ("environ", "more", "expected"),
    [
        ({"CLAUDE_CODE_SESSION_ATTENDED": "1"}, {"permission_mode": "bypassPermissions"}, "ask"),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "1"}, {"permission_mode": "auto"}, "deny"),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {}, "defer"),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, {}, "deny"),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {"agent_id": "sub-1"}, "deny"),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "", "CLAUDE_CODE_ENTRYPOINT": "cli"}, {}, "ask"),
    ],
)
@in_loop
async def test_who_answers_in_claude_code(
    environ: dict[str, str], more: dict[str, str], expected: str, opened: Opening
) -> None:
    """The user who sits there, the one who resumes the session, or the one who is told of the question."""
    async with opened(CLAUDE, environ=environ) as hooks:
        await hooks.prompt("build it")
        assert decision(await hooks.shell("make", "t1", **more)) == expected


@in_loop
async def test_the_user_of_the_host_is_nobodys_approver(opened: Opening) -> None:
    """A question to a person by name is not put to the person who sits there."""
    async with opened(CLAUDE, environ=ATTENDED) as hooks:
        await hooks.prompt("ship it")
        answer = await hooks.shell("deploy", "t1")
        assert decision(answer) == "deny"
        assert "ann" in told(answer)


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_a_hook_can_be_held_open_for_an_answer(host: str, opened: Opening) -> None:
    """The call goes on in the same moment in which a person grants it."""
    async with opened(host, wait=50.0) as hooks:
        await hooks.prompt("build it")
        asking = asyncio.create_task(hooks.shell("make"))
        await hooks.gate.operator.grant(await first_question(hooks), decided_by="ann")
        assert decision(await asking) == "allow"


@in_loop
async def test_a_hook_waits_no_longer_than_its_host(opened: Opening) -> None:
    """The question stays open where nobody answers in time."""
    async with opened(CODEX, wait=50.0, timeout=4.2) as hooks:
        await hooks.prompt("build it")
        assert decision(await hooks.shell("make")) == "deny"
        assert await question(hooks)


@in_loop
async def test_the_user_is_asked_by_the_host_itself(opened: Opening) -> None:
    """A question of the host's is not answered for the user."""
    async with opened(CLAUDE, environ=ATTENDED) as hooks:
        answer = await hooks.before("AskUserQuestion", {"questions": []})
        assert json.loads(answer.stdout) == {}
