"""Where the promises are tried: a copy of the store, the bundle, and runs whose bodies note that they ran."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import rebuno
from rebuno.errors import Blocked, ConflictError, ForbiddenError, PolicyError, RateLimited, ToolError
from rebuno.kernel import Panel
from rebuno.model.step import Idempotency
from rebuno.policy import Policy
from rebuno.sdk.context import required
from rebuno.types import Approval, Execution
from rebuno_cli.verifying.probes import Probe, Probes

_PERSON: Final = "rebuno-verify"


@dataclass(frozen=True, slots=True)
class Call:
    """A submission of a probe; `label` stands in the notes when its body runs, and `result` is what the body gives."""

    probe: Probe
    label: str
    once: bool = True
    result: Any = "done"


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended: `value`, `denied`, `blocked`, `limited` or `failed`, with its value or its reason."""

    how: str
    said: Any = None


class Notes:
    """A file in which bodies note that they run, synced line by line: it outlives their process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, label: str) -> None:
        """Notes that a body ran."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{label}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def times(self, label: str) -> int:
        """How often the body of this label has run."""
        return self.path.read_text("utf-8").splitlines().count(label) if self.path.exists() else 0


async def submit(call: Call, notes: Notes, stop: Callable[[], None] | None = None) -> CallEnd:
    """Submits a call from the handler that runs. Its body does nothing but note that it ran, and then `stop`."""

    async def body(**_: Any) -> Any:
        notes.add(call.label)
        if stop is not None:
            stop()
        return call.result

    probe, promise = call.probe, Idempotency.ONCE if call.once else Idempotency.SAFE
    try:
        invoke = required("the step").invoke
        value = await invoke(probe.kind, probe.target, probe.args, body, idempotency=promise, named=True)
    except RateLimited as error:
        return CallEnd("limited", str(error))
    except PolicyError as error:
        return CallEnd("denied", error.reason)
    except Blocked:
        return CallEnd("blocked")
    except ToolError as error:
        return CallEnd("failed", error.error)
    return CallEnd("value", value)


@dataclass(slots=True)
class BenchRun:
    """A run of a handler: the execution as it stands, and how each call ended; None where the handler did not come."""

    execution: Execution
    ends: list[CallEnd | None] = field(default_factory=list)


class Bench:
    """`store` is the copy, `paths` are the files of the bundle, `folder` is where else there is room."""

    def __init__(self, folder: Path, store: Path, paths: Sequence[Path], policy: Policy, probes: Probes) -> None:
        self.folder = folder
        self.store = store
        self.paths = list(paths)
        self.policy = policy
        self.probes = probes
        self.notes = Notes(folder / "bodies")
        self._numbers = count(1)
        # With it the names of all runs of this command begin.
        self.mark = f"verify-{uuid4().hex[:8]}"

    def name(self, what: str) -> str:
        """A name that no run and no body has had."""
        return f"{self.mark}-{what}-{next(self._numbers)}"

    def calls(self, what: str, probes: Sequence[Probe], **options: Any) -> list[Call]:
        """A call of each probe, with a label of its own."""
        return [Call(probe, self.name(what), **options) for probe in probes]

    @asynccontextmanager
    async def kernel(self, policy: Policy | None = None) -> AsyncIterator[rebuno.Kernel]:
        """The kernel on the copy, under the bundle or another policy."""
        async with rebuno.open(self.store, policy=self.policy if policy is None else policy) as kernel:
            yield kernel

    async def run(
        self,
        kernel: rebuno.Kernel,
        name: str,
        calls: Sequence[Call],
        *,
        before: Sequence[Call] = (),
        parallel: bool = True,
    ) -> BenchRun:
        """Begins or resumes the run of this name, whose handler makes the calls, all at once or one by one, after those
        `before`, one by one."""
        ends: list[CallEnd | None] = [None] * len(calls)

        async def one(at: int) -> None:
            ends[at] = await submit(calls[at], self.notes)

        async def handler() -> str:
            for call in before:
                await submit(call, self.notes)
            if parallel:
                await asyncio.gather(*(one(at) for at in range(len(calls))))
            else:
                for at in range(len(calls)):
                    await one(at)
            return "ended"

        probe = calls[0].probe
        execution = await kernel.run(handler, probe.input, id=name, agent=probe.agent, workdir=probe.workdir)
        return BenchRun(execution, ends)

    def ran(self, calls: Sequence[Call]) -> int:
        """How many bodies of these calls have run, each as often as it did."""
        return sum(self.notes.times(label) for label in {call.label for call in calls})

    async def answer(
        self, kernel: rebuno.Kernel, execution: Execution, *, granted: bool = True, scope: str = "once"
    ) -> Approval | None:
        """Has the right people answer the open question of an execution. None where it has none, or where they may not:
        a limit may have no room for the step."""
        question = next((one for one in execution.approvals if one.status == "pending"), None)
        if question is None:
            return None
        answered = question
        try:
            for person in _people(await kernel.operator.panels(question.id)):
                if not granted:
                    return await kernel.operator.deny(question.id, decided_by=person)
                answered = await kernel.operator.grant(question.id, decided_by=person, scope=scope)
                if answered.status != "pending":
                    break
        except (ConflictError, ForbiddenError):
            return None
        return answered if answered.status == "granted" else None

    async def decisions(self, kernel: rebuno.Kernel, execution: Execution) -> set[str | None]:
        """What the rules said of the steps of an execution when these were first submitted."""
        return {step.decision for step in await kernel.operator.steps(execution.id)}


def _people(panels: Sequence[Panel]) -> Iterator[str]:
    # Each panel in full; who sits in two of them answers once.
    named = dict.fromkeys(name for panel in panels for name in panel.approvers)
    yield from named
    anyone = max((panel.quorum for panel in panels if not panel.approvers), default=0)
    for number in range(max(0, anyone - len(named))):
        yield f"{_PERSON}-{number}"
