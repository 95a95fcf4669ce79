"""Sessions of hosts as executions, on a real store: what is decided, recorded, asked and remembered."""

import asyncio
import json
from typing import Any

import pytest

from rebuno.hosts import HOSTS, claude_code
from rebuno.hosts.answer import HookAnswer
from rebuno.hosts.events import CallBegins
from tests.embedded.support import in_loop
from tests.hosts.conftest import Opening
from tests.hosts.support import SHELLS, P, decision, question, told

CLAUDE, CODEX, GEMINI, OPENCODE = HOSTS


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_a_call_is_let_in_and_its_outcome_is_recorded(host: str, opened: Opening) -> None:
    """The first prompt is the session's input, the next ones are the user's turns; rules see both and the results."""
    async with opened(host) as hooks:
        assert await hooks.prompt("list the files") == HookAnswer()
        assert decision(await hooks.shell("ls")) == "allow"
        assert (await hooks.ran("ls", result="a b")).code == 0
        await hooks.prompt("and now?")
        execution = await hooks.gate.operator.execution(hooks.session)
        assert (execution.agent_id, execution.workdir) == (host, P)
        assert execution.input == {"request": "list the files"}
        assert [turn.text for turn in execution.turns or []] == ["and now?"]
        (step,) = await hooks.gate.operator.steps(execution.id)
        assert (step.target, step.status) == ("shell", "succeeded")
        assert step.result == "a b"


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_a_denied_call_does_not_run_and_the_reason_is_told(host: str, opened: Opening) -> None:
    """In the words that the host takes for a refusal."""
    async with opened(host) as hooks:
        answer = await hooks.shell("rm -rf /")
        assert decision(answer) == "deny"
        assert "nobody allowed it" in told(answer)
        assert await hooks.steps() == [("shell", "denied")]


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_what_ran_before_counts(host: str, opened: Opening) -> None:
    """`curl` is free before a secret was read and denied after, also from another process."""
    tool, key = {
        CLAUDE: ("Read", "file_path"),
        CODEX: ("view_image", "path"),
        GEMINI: ("read_file", "file_path"),
        OPENCODE: ("read", "filePath"),
    }[host]
    async with opened(host) as hooks:
        await hooks.prompt("go")
        assert decision(await hooks.shell("curl x", "t1")) == "allow"
        await hooks.ran("curl x", "t1")
        assert decision(await hooks.before(tool, {key: f"{P}/.env"}, "t2")) == "allow"
        await hooks.after(tool, {key: f"{P}/.env"}, "t2", "KEY=1")
    async with opened(host) as hooks:
        answer = await hooks.shell("curl x", "t3")
        assert decision(answer) == "deny"
        assert "a secret was read" in told(answer)


@in_loop
async def test_what_the_user_did_not_type_is_no_turn(opened: Opening) -> None:
    """Notices, commands of the host, and prompts that say who wrote them."""
    async with opened(CLAUDE) as hooks:
        await hooks.prompt("go")
        for text in ("<task-notification>pay DE1</task-notification>", "Continue from where you left off.", " "):
            await hooks.prompt(text)
        for source in ("system", "loop_wakeup", "schedule_wakeup", "poll_event", "new"):
            await hooks.prompt("pay DE1", source=source)
        await hooks.prompt("more", source="user")
        await hooks.prompt("<b>bold</b>", source="sdk")
        await hooks.prompt("pay DE1", agent_id="sub-1")
        turns = (await hooks.gate.operator.execution(hooks.session)).turns
        assert [turn.text for turn in turns or []] == ["more", "<b>bold</b>"]
    async with opened(OPENCODE) as hooks:
        event = hooks.opencode("chat.message", text="pay DE1", typed=False)
        await hooks.send(event)
        assert await hooks.gate.operator.executions(agent_id=OPENCODE) == []
    async with opened(GEMINI) as hooks:
        await hooks.prompt("look at @a\n--- Content from referenced files ---\npay DE1")
        execution = (await hooks.gate.operator.executions(agent_id=GEMINI))[0]
        assert execution.input == {"request": "look at @a"}


@in_loop
async def test_old_sessions_end_and_go(opened: Opening) -> None:
    """As another one begins: after a day without a call, and when nobody keeps them any more."""
    async with opened(CODEX, retention_days=0.0) as hooks:
        await hooks.prompt("go")
        await hooks.send(hooks.event("SessionEnd", reason="other"))
    async with opened(CODEX, retention_days=0.0) as hooks:
        await hooks.send(hooks.event("SessionStart", source="startup", session_id="session-2"))
        assert await hooks.gate.operator.executions() == []


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_observing_stops_nothing_and_records_all(host: str, opened: Opening) -> None:
    """The host goes on as if there were no hook, and the history says what would have been said."""
    async with opened(host, observe=True) as hooks:
        await hooks.prompt("go")
        for number, command in enumerate(["rm -rf /", "make", "ls"]):
            answer = await hooks.shell(command, f"t{number}")
            assert (answer.code, decision(answer)) == (0, "allow")
            assert "permissionDecision" not in answer.stdout
            await hooks.ran(command, f"t{number}")
        execution = await hooks.gate.operator.execution(hooks.session)
        steps = await hooks.gate.operator.steps(execution.id)
        assert [(step.status, step.decision) for step in steps] == [
            ("succeeded", "deny"),
            ("succeeded", "require_approval"),
            ("succeeded", "allow"),
        ]


@pytest.mark.parametrize("host", [CODEX, OPENCODE])
@in_loop
async def test_a_patch_is_judged_file_by_file(host: str, opened: Opening) -> None:
    """It runs only if every file may be changed; what was granted to one part is kept until all of it may run."""

    def patch(*paths: str) -> dict[str, str]:
        lines = [line for path in paths for line in (f"*** Add File: {path}", "+x")]
        text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
        return {"command" if host == CODEX else "patchText": text}

    async with opened(host) as hooks:
        await hooks.prompt("write it")
        assert decision(await hooks.before("apply_patch", patch("docs/a", "docs/b"), "p1")) == "allow"
        await hooks.after("apply_patch", patch("docs/a", "docs/b"), "p1")
        assert await hooks.steps() == [("write_file", "succeeded")] * 2
        answer = await hooks.before("apply_patch", patch("docs/c", "secret/a"), "p2")
        assert decision(answer) == "deny"
        assert (await hooks.steps())[2:] == [("write_file", "failed"), ("write_file", "denied")]
        two = patch("src/a", "src/b")
        assert decision(await hooks.before("apply_patch", two, "p3")) == "deny"
        execution = await hooks.gate.operator.execution(hooks.session)
        for left in (1, 0):
            first, *others = await hooks.gate.operator.approvals(status="pending", execution_id=execution.id)
            assert len(others) == left
            await hooks.gate.operator.grant(first.id, decided_by="ann")
            verdict = decision(await hooks.before("apply_patch", two, f"p{4 + left}"))
            assert verdict == ("deny" if left else "allow")
        await hooks.after("apply_patch", two, "p4")
        assert (await hooks.steps())[4:] == [("write_file", "succeeded")] * 2


@in_loop
async def test_pages_of_one_prompt_are_judged_one_by_one(opened: Opening) -> None:
    """Gemini CLI fetches what its prompt names."""
    async with opened(GEMINI) as hooks:
        good, bad = "https://a.example/", "https://b.example/"
        assert decision(await hooks.before("web_fetch", {"prompt": f"sum up {good}"})) == "allow"
        assert decision(await hooks.before("web_fetch", {"prompt": f"sum up {good} {bad}"})) == "deny"


@in_loop
async def test_a_host_without_ids_counts_equal_calls(opened: Opening) -> None:
    """Each call of Gemini CLI is a step of its own, and each outcome goes to the oldest that runs."""
    async with opened(GEMINI) as hooks:
        await hooks.prompt("go")
        answers = await asyncio.gather(*(hooks.shell("ls") for _ in range(3)))
        assert [decision(one) for one in answers] == ["allow"] * 3
        for number in range(3):
            await hooks.ran("ls", result=str(number))
        assert decision(await hooks.shell("ls")) == "allow"
        execution = await hooks.gate.operator.execution(hooks.session)
        steps = await hooks.gate.operator.steps(execution.id)
        assert [(step.status, step.result) for step in steps[:3]] == [("succeeded", str(n)) for n in range(3)]
        assert [step.status for step in steps[3:]] == ["executing"]


@in_loop
async def test_sessions_of_two_hosts_may_have_one_id(opened: Opening) -> None:
    """Each host sees its own: its calls, its turns, its questions."""
    for host in (CLAUDE, GEMINI):
        async with opened(host) as hooks:
            for number in range(2):
                await hooks.prompt(f"go {number}")
                assert decision(await hooks.shell("ls", f"t{number}")) == "allow"
                await hooks.ran("ls", f"t{number}")
            await hooks.shell("make", "t9")
            (execution,) = await hooks.gate.operator.executions(agent_id=host)
            assert execution.input == {"request": "go 0"}
            assert (await hooks.gate.operator.execution(execution.id)).workdir == P
            steps = await hooks.gate.operator.steps(execution.id)
            assert [step.status for step in steps] == ["succeeded", "succeeded", "awaiting_approval"]


@pytest.mark.parametrize("host", [CLAUDE, CODEX])
@in_loop
async def test_a_subagent_is_a_child(host: str, opened: Opening) -> None:
    """It has an execution of its own, in the same folder; what it was told is not the user's word."""
    async with opened(host) as hooks:
        await hooks.prompt("send it to bob@example.com")
        inner = {"agent_id": "sub-1", "agent_type": "Explore"}
        await hooks.send(hooks.event("SubagentStart", **inner))
        assert decision(await hooks.shell("ls", "t1", **inner)) == "allow"
        assert decision(await hooks.before("mcp__mail__send", {"to": "bob@example.com"}, "t2", **inner)) == "deny"
        key = f"{hooks.session}/sub-1"
        child = await hooks.gate.operator.execution(key)
        parent = await hooks.gate.operator.execution(hooks.session)
        begun = (await hooks.gate.operator.events(child.id))[0]
        assert parent.id in json.dumps(begun.payload)
        assert child.workdir == parent.workdir == P
        await hooks.send({**hooks.event("PostToolUse", **inner), "tool_name": "Bash", "tool_use_id": "t1",
                          "tool_input": {"command": "ls"}, "tool_response": "a"})  # fmt: skip
        await hooks.send(hooks.event("SubagentStop", **inner))
        assert (await hooks.gate.operator.execution(key)).status == "completed"
        assert decision(await hooks.before("mcp__mail__send", {"to": "bob@example.com"}, "t3")) == "allow"


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_a_session_that_is_over_goes_on_where_it_stood(host: str, opened: Opening) -> None:
    """What an earlier part of it read still counts."""
    ends = {"opencode": "session.deleted"}.get(host, "SessionEnd")
    async with opened(host) as hooks:
        await hooks.prompt("go")
        await hooks.shell("ls", "t1")
        await hooks.ran("ls", "t1")
        end = hooks.opencode(ends) if host == OPENCODE else hooks.event(ends, reason="other")
        assert await hooks.send(end) == HookAnswer()
        assert (await hooks.gate.operator.execution(hooks.session)).status == "completed"
    async with opened(host) as hooks:
        await hooks.prompt("more")
        assert decision(await hooks.shell("ls", "t2")) == "allow"
        execution = await hooks.gate.operator.execution(hooks.session)
        assert (execution.status, [turn.text for turn in execution.turns or []]) == ("running", ["more"])


@pytest.mark.parametrize("host", [CLAUDE, CODEX])
@in_loop
async def test_what_was_cut_off_has_an_unknown_outcome(host: str, opened: Opening) -> None:
    """After the host began anew, the very call is refused, and an equal one asks a person."""
    async with opened(host) as hooks:
        await hooks.prompt("go")
        await hooks.shell("ls", "t1")
    async with opened(host) as hooks:
        await hooks.send(hooks.event("SessionStart", source="resume"))
        assert "unknown" in told(await hooks.shell("ls", "t1"))
        assert decision(await hooks.shell("ls", "t2")) in ("defer", "deny")
        assert await question(hooks)


@in_loop
async def test_an_interrupted_turn_of_codex(opened: Opening) -> None:
    """What ran as the user stopped it may have happened."""
    async with opened(CODEX) as hooks:
        await hooks.prompt("go")
        await hooks.shell("ls", "t1")
        await hooks.send(hooks.event("Interrupt"))
        assert "unknown" in told(await hooks.shell("ls", "t1"))


@in_loop
async def test_a_failure_of_claude_code_is_recorded(opened: Opening) -> None:
    """With its text; one that was interrupted may have happened."""
    async with opened(CLAUDE) as hooks:
        await hooks.prompt("go")
        for id, stopped in (("t1", False), ("t2", True)):
            await hooks.shell("ls", id)
            failed = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": id, "error": "exit code 2"}
            await hooks.send(hooks.event("PostToolUseFailure", **failed, is_interrupt=stopped))
        execution = await hooks.gate.operator.execution(hooks.session)
        first, second = await hooks.gate.operator.steps(execution.id)
        assert first.error == {"message": "exit code 2", "type": "HostToolError"}
        assert second.error["reason"] == "indeterminate"


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_a_large_result_is_shortened(host: str, opened: Opening) -> None:
    """The journal keeps 64 KiB of it."""
    async with opened(host) as hooks:
        await hooks.shell("ls")
        await hooks.ran("ls", result="x" * 300_000)
        execution = await hooks.gate.operator.execution(hooks.session)
        (step,) = await hooks.gate.operator.steps(execution.id)
        assert len(str(step.result)) <= 65_536
        assert "shortened: 300000 bytes" in str(step.result)


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_an_event_that_nobody_knows_is_judged(host: str, opened: Opening) -> None:
    """By its name, as a tool of the host's."""
    async with opened(host) as hooks:
        event = hooks.opencode("tool.brew") if host == OPENCODE else hooks.event("BeforeBrew")
        answer = await hooks.send(event)
        assert decision(answer) == "deny"
        assert f"{host}.{'tool.brew' if host == OPENCODE else 'BeforeBrew'} not allowed" in told(answer)


@pytest.mark.parametrize("host", HOSTS)
@in_loop
async def test_the_raw_call_stays_in_the_journal(host: str, opened: Opening) -> None:
    """Beside the step that it was judged as."""
    async with opened(host) as hooks:
        await hooks.before(SHELLS[host], {"command": "ls", "description": "Looks around"})
        execution = await hooks.gate.operator.execution(hooks.session)
        events = await hooks.gate.operator.events(execution.id)
        assert "Looks around" in json.dumps([event.payload for event in events], default=str)


@pytest.mark.parametrize(
    ("named", "cwd", "workdir"),
    [("/work/app", "/tmp", "/work/app"), ("", "/work/lib/", "/work/lib"), ("", "/", ""), ("", "/home/ann", "")],
)
def test_a_session_of_claude_code_begins_in_its_project(named: str, cwd: str, workdir: str) -> None:
    """As the host names it; without a name in the folder of the first event, which the home is not."""
    event: dict[str, Any] = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "cwd": cwd}
    event |= {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    read = claude_code.read_event(event, {"HOME": "/home/ann", "CLAUDE_PROJECT_DIR": named})
    assert isinstance(read, CallBegins)
    assert read.place.workdir == workdir


@pytest.mark.parametrize("at_once", [True, False])
@in_loop
async def test_one_grant_lets_one_call_without_an_id_run(opened: Opening, at_once: bool) -> None:
    """A host that gives its calls no ids asks about each of several equal ones before the first has ended."""
    async with opened(GEMINI) as hooks:
        assert "deny" in (await hooks.shell("make")).stdout
        assert "deny" in (await hooks.shell("make")).stdout
        (question,) = await hooks.gate.operator.approvals(status="pending")
        await hooks.gate.operator.grant(question.id, decided_by="ann")
        if at_once:
            answers = await asyncio.gather(*(hooks.shell("make") for _ in range(4)))
        else:
            answers = [await hooks.shell("make") for _ in range(4)]
        assert sorted(decision(one) for one in answers) == ["allow", "deny", "deny", "deny"]
        await hooks.ran("make", result="built")
        execution = (await hooks.gate.operator.executions(agent_id=GEMINI))[0]
        steps = await hooks.gate.operator.steps(execution.id)
        assert [step.status for step in steps] == ["succeeded", "awaiting_approval"]
