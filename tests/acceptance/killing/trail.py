"""What a run has left behind: its rows in the journal, the notes of its bodies, and what the provider was asked."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import rebuno
from rebuno.journal.records import Event, Execution, Step
from rebuno.kernel import Operator
from rebuno.model import identity
from rebuno.model.step import Kind
from tests.llm.provider import Request


@dataclass(frozen=True, slots=True)
class Mark:
    """A body's note, or a request at the provider: the effect's number, `start` or `end`, and in which process."""

    i: int
    at: str
    pid: int


@dataclass(frozen=True, slots=True)
class Trail:
    """All that is left of one run. `execution` is None where nothing is committed yet; `fault` is what `exec verify`
    found; `marks` are those of bodies, `asked` the requests of this run at the provider by their numbers there, from
    1, each with the process that sent it."""

    run: str
    start: int
    execution: Execution | None
    steps: tuple[Step, ...]
    events: tuple[Event, ...]
    marks: tuple[Mark, ...]
    asked: dict[int, Mark]
    fault: str

    @property
    def ended(self) -> bool:
        """Whether the execution has ended."""
        return self.execution is not None and self.execution.status.terminal

    def begun(self) -> list[Mark]:
        """The beginnings of all bodies, the model's calls among them."""
        return [mark for mark in self.marks if mark.at == "start"] + list(self.asked.values())

    def first_start(self, pid: int) -> int | None:
        """The number of the event by which a process took the execution over for the first time."""
        pids = (e.event_seq for e in self.events if e.type == "execution.started" and e.payload["pid"] == pid)
        return next(pids, None)


def effect(step: Step) -> int:
    """The number of a step's effect."""
    args = identity.parse(step.args)
    return int(args["i"]) if step.kind is not Kind.LLM else int(args["messages"][0]["content"].split()[1])


def unknown(step: Step) -> bool:
    """Whether nobody knows how the step ended."""
    return step.error is not None and identity.parse(step.error).get("reason") == "indeterminate"


async def follow(
    operator: Operator, run: str, start: int, folder: Path, requests: Iterable[tuple[int, Request]]
) -> Trail:
    """The trail of a run whose process is gone; `requests` are the provider's with their numbers. Raises
    `StoreError`."""
    marks, asked = _notes(folder / f"{run}.notes"), _asked(run, requests)
    try:
        execution = await operator.execution(run)
    except rebuno.NotFoundError:
        return Trail(run, start, None, (), (), marks, asked, "")
    verified = await operator.verify(execution.id)
    # A server may still have finished what a killed process had sent: the row of now, after everything else.
    steps = tuple(await operator.steps(execution.id))
    events = tuple(await operator.events(execution.id))
    return Trail(run, start, await operator.execution(run), steps, events, marks, asked, verified.fault)


def noted(run: str, start: int, folder: Path) -> Trail:
    """As much of a run's trail as its bodies noted, where the store is not to be had."""
    return Trail(run, start, None, (), (), _notes(folder / f"{run}.notes"), {}, "")


def _notes(path: Path) -> tuple[Mark, ...]:
    # A line that has no end yet was never synced.
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return tuple(Mark(**json.loads(line)) for line in lines)


def _asked(run: str, requests: Iterable[tuple[int, Request]]) -> dict[int, Mark]:
    found = {}
    for number, request in requests:
        words = str(request.body["messages"][0]["content"]).split()
        if words[0] == run:
            found[number] = Mark(int(words[1]), "start", int(request.headers["x-process"]))
    return found
