"""Whose answer counts, what it is bound to, and that nothing outranks a deny in the file."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import rebuno
from rebuno.policy import Policy, compile_text, read_source
from tests.cases.playing import HERE

ROOT = HERE.parents[1]

TRANSFERS = compile_text("""\
bundle bank
default deny because "not a tool of the bank"
rule asks { require approval for tool "transfer", "wire" because "money leaves the house" }
rule notes { allow tool "note" }
rule wipes { deny tool "wipe" because "nothing is wiped" }
""")


class Agent:
    """An agent whose effects are lines of a file, and whose model answers what it is told to."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self.store = store or str(folder / "agent.db")
        self.effects = folder / "effects.txt"
        self.dies_before = ""

    async def run(
        self, key: str, *calls: tuple[str, Any], policy: Policy = TRANSFERS, together: bool = False
    ) -> rebuno.Execution:
        """One run in a store that is opened for it; its model makes these calls, one after the other or `together`."""
        async with rebuno.open(self.store, policy=policy) as kernel:
            return await self.run_in(kernel, key, *calls, together=together)

    async def run_in(
        self, kernel: rebuno.Kernel, key: str, *calls: tuple[str, Any], together: bool = False
    ) -> rebuno.Execution:
        """The same in a kernel that is open."""

        async def act(name: str, argument: Any) -> str:
            def body(command: Any) -> str:
                with self.effects.open("a") as file:
                    file.write(f"{key} {name}({command})\n")
                return "done"

            if name == self.dies_before:
                os.kill(os.getpid(), signal.SIGKILL)
            # One name has one idempotency in a process.
            idempotency = "safe_to_retry" if name == "shell" else "at_most_once"
            return str(await rebuno.tool(name, idempotency=idempotency)(body)(argument))

        async def handler(input: Any) -> list[str]:
            if together:
                return await asyncio.gather(*(act(*call) for call in calls))
            return [await act(*call) for call in calls]

        return await kernel.run(handler, {}, id=key, agent="agent")

    async def wire_each(self, numbers: range) -> list[rebuno.Execution]:
        """A run for each number, `r0` and so on, that wires it."""
        async with rebuno.open(self.store, policy=TRANSFERS) as kernel:
            return [await self.run_in(kernel, f"r{number}", ("wire", number)) for number in numbers]

    def lines(self, key: str) -> list[str]:
        """The effects of one run, in order."""
        text = self.effects.read_text() if self.effects.exists() else ""
        return [line.removeprefix(f"{key} ") for line in text.splitlines() if line.startswith(f"{key} ")]

    async def grant(self, approval_id: str, scope: str = "once") -> None:
        """Somebody allows it."""
        async with rebuno.operate(self.store) as operator:
            await operator.grant(approval_id, decided_by="ana", scope=scope)

    async def events(self, key: str) -> list[str]:
        """The types of one run's events."""
        async with rebuno.operate(self.store) as operator:
            execution = await operator.execution(key)
            return [event.type for event in await operator.events(execution.id)]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent with a store of its own."""
    return Agent(tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    """An agent whose store other processes use too."""
    return Agent(tmp_path, request.getfixturevalue("postgres") if request.param == "postgres" else "")


class Others:
    """People in another process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def prepare(self, approval_id: str, answers: dict[str, bool]) -> None:
        """Each has opened the store and waits when this returns."""
        self._say(json.dumps({"approval": approval_id, "answers": answers}))
        assert self._hear() == "ready"

    def go(self) -> None:
        """They answer now."""
        self._say("go")

    def told(self) -> dict[str, str]:
        """What each was told: the status of the approval, or who had answered before."""
        told: dict[str, str] = json.loads(self._hear())
        return told

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def others(store: str) -> Iterator[Others]:
    """A process of people."""
    command = [sys.executable, "-m", "tests.cases.answering", store]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Others(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


def _answered(told: dict[str, str]) -> tuple[list[str], list[str]]:
    """Whose answers were accepted, and what the others heard."""
    accepted = [name for name, said in told.items() if said in ("granted", "denied")]
    return accepted, [said for name, said in told.items() if name not in accepted]


# ---------------------------------------------------------------- D09: two people answer the same approval


def test_of_twenty_grants_at_once_in_two_processes_one_counts(shared: Agent) -> None:
    """D09.1: the others are told by whom and how it was decided; the effect happens once."""
    asked = asyncio.run(shared.run("r", ("wire", 1)))
    (question,) = asked.approvals
    with others(shared.store) as here, others(shared.store) as there:
        here.prepare(question.id, {f"here{n}": True for n in range(10)})
        there.prepare(question.id, {f"there{n}": True for n in range(10)})
        here.go()
        there.go()
        accepted, refused = _answered(here.told() | there.told())
    (winner,) = accepted
    assert len(refused) == 19
    assert all(f"is granted by {winner} already" in said for said in refused)
    assert asyncio.run(shared.run("r", ("wire", 1))).status == "completed"
    assert shared.lines("r") == ["wire(1)"]
    events = asyncio.run(shared.events("r"))
    assert (events.count("approval.granted"), events.count("execution.resumed")) == (1, 1)


def test_of_a_grant_and_a_denial_at_once_one_counts(shared: Agent) -> None:
    """D09.2: fifty times; where the denial won nothing happens."""
    # Connecting is slow, and a server decides each round just as the file does.
    rounds = range(20 if "://" in shared.store else 50)
    asked = asyncio.run(shared.wire_each(rounds))
    won = []
    with others(shared.store) as yes, others(shared.store) as no:
        for number in rounds:
            (question,) = asked[number].approvals
            yes.prepare(question.id, {"ana": True})
            no.prepare(question.id, {"ben": False})
            # The caller who is told first is a little ahead; each is first half of the time.
            for first in (yes, no) if number % 2 else (no, yes):
                first.go()
            told = yes.told() | no.told()
            (winner,), (refused,) = _answered(told)
            assert f"is {told[winner]} by {winner} already" in refused
            won.append(told[winner])
    asyncio.run(shared.wire_each(rounds))
    for number in rounds:
        assert shared.lines(f"r{number}") == ([f"wire({number})"] if won[number] == "granted" else [])


def test_what_is_done_cannot_be_denied_afterwards(agent: Agent) -> None:
    """D09.3: the denial is refused, and the log keeps one decision."""
    (question,) = asyncio.run(agent.run("r", ("wire", 1))).approvals
    asyncio.run(agent.grant(question.id))
    asyncio.run(agent.run("r", ("wire", 1)))

    async def deny() -> None:
        async with rebuno.operate(agent.store) as operator:
            await operator.deny(question.id, decided_by="ben")

    with pytest.raises(rebuno.ConflictError, match="is granted by ana already"):
        asyncio.run(deny())
    events = asyncio.run(agent.events("r"))
    assert [type for type in events if type.startswith("approval.")] == ["approval.requested", "approval.granted"]


DYING = """\
import asyncio, sys
from pathlib import Path
from tests.cases.test_answers import Agent

agent = Agent(Path(sys.argv[1]), sys.argv[2])
agent.dies_before = "wire"
asyncio.run(agent.run("r", ("note", 1), ("wire", 1)))
"""


def test_a_grant_survives_a_kill_before_its_step_starts(shared: Agent, tmp_path: Path) -> None:
    """D09.4: the run resumes under it, nobody is asked again, and a second grant is refused."""
    calls = ("note", 1), ("wire", 1)
    (question,) = asyncio.run(shared.run("r", *calls)).approvals
    asyncio.run(shared.grant(question.id))
    killed = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path), shared.store], cwd=ROOT, timeout=60, check=False
    )
    assert killed.returncode == -9
    with pytest.raises(rebuno.ConflictError, match="is granted by ana already"):
        asyncio.run(shared.grant(question.id))
    assert asyncio.run(shared.run("r", *calls)).status == "completed"
    assert shared.lines("r") == ["note(1)", "wire(1)"]
    assert asyncio.run(shared.events("r")).count("approval.requested") == 1


# ---------------------------------------------------------------- D10: approved one call, ran another


def test_a_grant_is_for_the_call_that_was_shown(agent: Agent) -> None:
    """D10.1: another amount is asked about anew, and the report shows both; the granted call stays unused."""
    (first,) = asyncio.run(agent.run("r", ("transfer", 100))).approvals
    asyncio.run(agent.grant(first.id))
    again = asyncio.run(agent.run("r", ("transfer", 900)))
    (second,) = again.approvals
    assert (again.status, second.id != first.id, second.args) == ("blocked", True, {"command": 900})
    assert agent.lines("r") == []

    async def told() -> list[tuple[Any, str]]:
        async with rebuno.operate(agent.store) as operator:
            return [(step.args, step.went.value) for step in (await operator.story("r")).steps]

    assert asyncio.run(told()) == [
        ('{"command":100}', "granted, not started"),
        ('{"command":900}', "waits for approval"),
    ]


def test_nothing_is_edited_by_who_answers(agent: Agent) -> None:
    """D10.2 and 3: an answer has no arguments to give; what runs is what was shown, and what is denied stays so."""
    (question,) = asyncio.run(agent.run("r", ("transfer", 100))).approvals

    async def edit() -> None:
        async with rebuno.operate(agent.store) as operator:
            grant: Any = operator.grant
            await grant(question.id, decided_by="ana", args={"command": 50})

    with pytest.raises(TypeError, match="args"):
        asyncio.run(edit())
    asyncio.run(agent.grant(question.id))
    ended = asyncio.run(agent.run("r", ("transfer", 100), ("wipe", "d1")))
    assert agent.lines("r") == ["transfer(100)"]
    assert "nothing is wiped" in str(ended.output)


def test_an_answer_to_one_question_answers_no_other(agent: Agent) -> None:
    """D10.4: the other stays open, nothing runs meanwhile, and no answer is assumed."""
    calls = ("transfer", 1), ("transfer", 2)
    first, second = asyncio.run(agent.run("r", *calls, together=True)).approvals
    asyncio.run(agent.grant(second.id))
    again = asyncio.run(agent.run("r", *calls, together=True))
    assert ([question.id for question in again.approvals], agent.lines("r")) == ([first.id], [])


def test_a_grant_of_nothing_changes_nothing(agent: Agent) -> None:
    """D10.5: an approval that does not exist is an error."""
    asyncio.run(agent.run("r", ("transfer", 1)))
    before = asyncio.run(agent.events("r"))
    with pytest.raises(rebuno.NotFoundError):
        asyncio.run(agent.grant("01890000-0000-7000-8000-000000000000"))
    assert asyncio.run(agent.events("r")) == before


# ---------------------------------------------------------------- P28: a deny against standing approvals and modes

SHELL = read_source(HERE / "bundles" / "good.rbp").text


@pytest.mark.parametrize(
    ("scope", "same", "wider"),
    [("once", "require_approval", "require_approval"), ("execution", "allow", "allow"), ("rule", "allow", "allow")],
)
def test_no_grant_outranks_a_deny(scope: str, same: str, wider: str, agent: Agent) -> None:
    """P28: a grant covers other calls only where it was given, and shown, as one for the whole tool or rule; never a
    denied one, and never another run."""
    policy = compile_text(SHELL)

    async def granted(key: str, *commands: str) -> list[str]:
        """How the commands fare in a run that was granted the first one."""
        calls = [("shell", command) for command in commands]
        (question,) = (await agent.run(key, calls[0], policy=policy)).approvals
        await agent.grant(question.id, scope)
        return await verdicts(key, *commands)

    async def verdicts(key: str, *commands: str) -> list[str]:
        execution = await agent.run(key, *(("shell", command) for command in commands), policy=policy)
        async with rebuno.operate(agent.store) as operator:
            steps = await operator.steps(execution.id)
        went = {"succeeded": "allow", "awaiting_approval": "require_approval", "denied": "deny"}
        return [went[step.status] for step in steps]

    assert asyncio.run(granted("denied", "cargo test", "git push")) == ["allow", "deny"]
    assert asyncio.run(granted("same", "cargo test", "cargo test")) == ["allow", same]
    assert asyncio.run(granted("wider", "cargo test", "cargo publish")) == ["allow", wider]
    assert asyncio.run(verdicts("next", "cargo test")) == ["require_approval"]
    assert agent.lines("denied") == ["shell(cargo test)"]


MODES = dict.fromkeys(
    (f"REBUNO_{name}" for name in ("PERMISSIVE", "MODE", "POLICY", "DEV", "ALLOW", "SKIP_POLICY", "AUTO_APPROVE")), "1"
)


def test_no_variable_turns_a_deny_into_an_allow(agent: Agent) -> None:
    """P28: nothing beside the file has a say."""
    with patch.dict(os.environ, MODES):
        execution = asyncio.run(agent.run("r", ("shell", "git push"), policy=compile_text(SHELL)))
    assert agent.lines("r") == []
    assert "a person pushes" in str(execution.output)
