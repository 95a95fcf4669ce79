"""Agents of the Claude Agent SDK behind a guard. The program that the SDK ships runs them, and speaks to a simulated
provider, which calls tools as it is told to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from rebuno.adapters import Guard
from rebuno.adapters.claude_agent import rebuno_hooks
from rebuno.policy import compile_text
from tests.adapters.scripted import Scripted, Turn, scripted
from tests.adapters.support import answer, steps, tells_no_repetition
from tests.embedded.support import in_loop

POLICY = """bundle shop
default deny because "no rule allows it"
known asked = input or turns
rule read { allow tool "shop.look_up", "shop.fail" }
rule refund { require approval for tool "shop.refund" message "Is this refund right?" }
rule shell { allow tool "shell" when args.command == "echo allowed > canary" }
"""
QUIET = {
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
}


class Shop:
    """An agent with a server of the shop's tools, and what they did."""

    def __init__(self, opened: Guard, provider: Scripted, folder: Path) -> None:
        self.did: list[str] = []
        self.guard, self.provider, self.folder = opened, provider, folder

        @tool("look_up", "Looks an order up.", {"order": int})
        async def look_up(args: dict[str, Any]) -> dict[str, Any]:
            self.did.append(f"look_up {args['order']}")
            return {"content": [{"type": "text", "text": "paid 40"}]}

        @tool("refund", "Pays money back.", {"order": int})
        async def refund(args: dict[str, Any]) -> dict[str, Any]:
            self.did.append(f"refund {args['order']}")
            return {"content": [{"type": "text", "text": "refunded"}]}

        @tool("fail", "Fails.", {})
        async def fail(args: dict[str, Any]) -> dict[str, Any]:
            raise ValueError("no such printer")

        self.server = create_sdk_mcp_server("shop", tools=[look_up, refund, fail])

    async def run(self, prompt: str, session: str | None = None) -> ResultMessage:
        """One run."""
        (self.folder / "home").mkdir(exist_ok=True)
        options = ClaudeAgentOptions(
            hooks=rebuno_hooks(self.guard, cwd=self.folder),
            mcp_servers={"shop": self.server},
            cwd=self.folder,
            resume=session,
            setting_sources=[],
            env={**QUIET, "HOME": str(self.folder / "home"), "ANTHROPIC_BASE_URL": self.provider.url},
        )
        found = None
        async for message in query(prompt=prompt, options=options):
            found = message if isinstance(message, ResultMessage) else found
        assert found is not None
        return found


@asynccontextmanager
async def shop(tmp_path: Path, *plan: Turn) -> AsyncIterator[tuple[Shop, Scripted]]:
    with scripted(*plan) as provider, Guard(tmp_path / "shop.db", policy=compile_text(POLICY)) as opened:
        yield Shop(opened, provider, tmp_path), provider


def shell(command: str) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": command, "description": "a test"}


@in_loop
async def test_an_allowed_call_runs_once_and_a_denied_one_never(tmp_path: Path) -> None:
    """Of the host's own tools and of a server's; the model is told the reason."""
    calls = [("mcp__shop__look_up", {"order": 1}), shell("echo allowed > canary"), shell("echo denied > canary")]
    async with shop(tmp_path, *([call] for call in calls)) as (it, provider):
        result = await it.run("what about order 1?")
        assert result.result == "done"
        assert it.did == ["look_up 1"]
        assert (tmp_path / "canary").read_text() == "allowed\n"
        assert provider.told["call_0_0"] == "paid 40"
        assert "shell not allowed. reason: no rule allows it" in provider.told["call_2_0"]
        tells_no_repetition(provider.told["call_2_0"])
    recorded = steps(tmp_path, result.session_id)
    assert [(step.target, step.status) for step in recorded] == [
        ("shop.look_up", "succeeded"),
        ("shell", "succeeded"),
        ("shell", "denied"),
    ]
    assert recorded[0].result == "paid 40"


@in_loop
async def test_a_call_waits_for_a_person_over_processes(tmp_path: Path) -> None:
    """The run ends with the call put off; resumed after the grant it runs once, and the model goes on."""
    plan = [("mcp__shop__look_up", {"order": 1})], [("mcp__shop__refund", {"order": 1})]
    async with shop(tmp_path, *plan) as (it, _):
        first = await it.run("refund order 1")
        assert first.deferred_tool_use is not None
        assert first.deferred_tool_use.name == "mcp__shop__refund"
        (question,) = await it.guard.apending(first.session_id, "claude-code")
        assert question.message == "Is this refund right?"
        assert it.did == ["look_up 1"]
    answer(tmp_path, "grant", question.id)
    async with shop(tmp_path, *plan) as (it, provider):
        requests = provider.requests
        last = await it.run("", first.session_id)
        assert (last.deferred_tool_use, it.did) == (None, ["refund 1"])
        assert provider.told["call_1_0"] == "refunded"
        assert provider.requests > requests
    assert [step.status for step in steps(tmp_path, first.session_id)] == ["succeeded", "succeeded"]


@in_loop
async def test_a_denied_question_is_told(tmp_path: Path) -> None:
    """The person's words reach the model, and the tool does not run."""
    async with shop(tmp_path, [("mcp__shop__refund", {"order": 1})]) as (it, provider):
        first = await it.run("refund order 1")
        (question,) = await it.guard.apending(first.session_id, "claude-code")
        answer(tmp_path, "deny", question.id, "--rationale", "it was sent back late")
        await it.run("", first.session_id)
        assert "it was sent back late" in provider.told["call_0_0"]
        assert it.did == []


@in_loop
async def test_a_tool_that_raises_is_recorded(tmp_path: Path) -> None:
    """The host's own way with it goes on."""
    async with shop(tmp_path, [("mcp__shop__fail", {})]) as (it, provider):
        result = await it.run("go")
        assert "no such printer" in provider.told["call_0_0"]
    (step,) = steps(tmp_path, result.session_id)
    assert step.status == "failed"
    assert isinstance(step.error, dict)
    assert "no such printer" in step.error["message"]


@in_loop
async def test_a_failing_guard_lets_nothing_run(tmp_path: Path) -> None:
    """The guard is closed in the middle of a session: the call is refused, and the model is told why."""
    async with shop(tmp_path, [("mcp__shop__look_up", {"order": 1})]) as (it, provider):
        judged = it.guard.agate

        async def closes(work: Any) -> Any:
            found = await judged(work)
            it.guard.close()
            return found

        it.guard.agate = closes  # type: ignore[method-assign]
        await it.run("go")
        assert "the guard is closed" in provider.told["call_0_0"]
        assert it.did == []
