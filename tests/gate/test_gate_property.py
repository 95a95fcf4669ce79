"""Random lives of a session: whatever its host, people and other processes do, its log stays whole, and nothing runs
that was not let in, or runs twice."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.errors import ConflictError
from rebuno.gate import Allow, Ask, Deny, Gate, Recorded, open_gate
from rebuno.policy import compile_text

POLICY = """bundle lives
default deny because "no rule"
rule never { deny tool "wipe" because "never" }
rule after { deny tool "send" when after tool "read_secret" because "a secret was read" }
rule pay { require approval for tool "pay" message "pay?" }
rule few { allow tool "mail" limit 2 per execution }
rule rest { allow tool "send", "read_secret", "note" }
"""
AGENT, SESSION = "host", "session"
TOOLS = ("wipe", "send", "read_secret", "pay", "mail", "note", "unknown")

_call = st.integers(0, 7).map("c{}".format)
_event = st.one_of(
    st.tuples(st.just("judge"), _call, st.sampled_from(TOOLS), st.integers(0, 1)),
    st.tuples(st.just("judge"), _call, st.sampled_from(TOOLS), st.integers(0, 1)),
    st.tuples(st.just("settle"), _call, st.sampled_from(("result", "error", "unknown"))),
    st.tuples(st.just("grant")),
    st.tuples(st.just("refuse")),
    st.tuples(st.just("say"), st.sampled_from(("hello", "go on"))),
    st.tuples(st.just("resume")),
    st.tuples(st.just("restart")),
    st.tuples(st.just("end")),
)


class Life:
    """What the host knows: the calls that it asked about, and what it ran."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[str, int]] = {}
        self.running: dict[str, str] = {}
        # The steps that began, each with how often.
        self.began: dict[str, int] = {}
        self.secret = False

    async def judge(self, gate: Gate, call: str, tool: str, n: int) -> None:
        asked = self.calls.setdefault(call, (tool, n))
        tool, n = asked
        try:
            verdict = await gate.judge(SESSION, call, tool, {"n": n}, AGENT, safe=tool == "note")
        except ConflictError:
            return
        if isinstance(verdict, Allow):
            assert tool not in ("wipe", "unknown")
            assert not (tool == "send" and self.secret and call not in self.running)
            if self.running.get(call) != verdict.step_id:
                self.began[verdict.step_id] = self.began.get(verdict.step_id, 0) + (tool != "note")
            self.running[call] = verdict.step_id
            self.secret |= tool == "read_secret"
        elif isinstance(verdict, Ask):
            assert tool in ("pay", "send", "read_secret", "mail")
            assert call not in self.running
        else:
            assert isinstance(verdict, Deny | Recorded)
            if isinstance(verdict, Deny):
                assert verdict.reason

    async def settle(self, gate: Gate, call: str, how: str) -> None:
        given: dict[str, Any] = {"result": call} if how == "result" else {"error": "no"} if how == "error" else {}
        recorded = await gate.settle(SESSION, call, AGENT, unknown=how == "unknown", **given)
        if recorded:
            self.running.pop(call, None)


async def live(events: list[tuple[Any, ...]], store: Path) -> None:
    """Plays the events, then looks at what is recorded."""
    policy, life, at = compile_text(POLICY), Life(), 0
    while at < len(events):
        async with open_gate(store, policy=policy) as gate:
            while at < len(events):
                what, *given = events[at]
                at += 1
                if what == "restart":
                    break
                match what:
                    case "judge":
                        await life.judge(gate, *given)
                    case "settle":
                        await life.settle(gate, *given)
                    case "grant" | "refuse":
                        for question in (await gate.operator.approvals(status="pending"))[:1]:
                            answer = gate.operator.grant if what == "grant" else gate.operator.deny
                            await answer(question.id, decided_by="ana")
                    case "say":
                        await gate.say(SESSION, AGENT, *given)
                    case "resume":
                        await gate.start(SESSION, AGENT, resumed=True)
                    case "end":
                        await gate.end(SESSION, AGENT)
    async with open_gate(store, policy=policy) as gate:
        for execution in await gate.operator.executions():
            assert not (await gate.operator.verify(execution.id)).fault
        if life.calls:
            await gate.start(SESSION, AGENT)
            newest = await gate.operator.execution(SESSION)
            steps = await gate.operator.steps(newest.id)
            assert not [step for step in steps if step.target in ("wipe", "unknown") and step.status != "denied"]
            assert sum(step.target == "mail" and step.started_seq != 0 for step in steps) <= 2
    assert all(times <= 1 for times in life.began.values())


@settings(max_examples=100, deadline=None)
@given(st.lists(_event, max_size=25))
def test_lives_of_a_session(events: list[tuple[Any, ...]]) -> None:
    """Denied tools never run, a limit holds over restarts and forks, and every log is whole."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live(events, Path(folder) / "store.db"))
