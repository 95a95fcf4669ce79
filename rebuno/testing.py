"""For users' own tests: a kernel on a store in memory, a clock that stands still, and assertions about decisions and
about handlers that must go the way that was recorded."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rebuno.embedded import Kernel, PolicyLike, compiled
from rebuno.errors import Blocked
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel import (
    LONGEST_LINE,
    Recording,
    ReplayCheck,
    Replayed,
    ended_with_failure,
    ended_with_output,
    opened_recording,
    read_recording,
)
from rebuno.model import identity
from rebuno.model.clock import Clock, FixedClock
from rebuno.model.decision import Decision, Verdict
from rebuno.policy import Evidence, Facts, History, explain_decision
from rebuno.sdk.binding import bind
from rebuno.sdk.context import BODY_THREADS, ExecutionContext
from rebuno.sdk.ending import Completed, Failed, Waits, ending

__all__ = [
    "Evidence",
    "FixedClock",
    "History",
    "Recording",
    "Replayed",
    "assert_decision",
    "assert_replays",
    "memory_kernel",
    "recorded",
    "replay",
]


@asynccontextmanager
async def memory_kernel(policy: PolicyLike, *, clock: Clock | None = None) -> AsyncIterator[Kernel]:
    """A kernel that forgets everything at the end of the block: `async with memory_kernel("shell.rbp") as kernel`.

    `clock` is what rows are stamped with and grants grow old by; a `FixedClock` stands still until it is advanced.
    Raises as `rebuno.open` does.
    """
    store = await SQLiteStore.open(":memory:", clock=clock)
    try:
        kernel = Kernel(store, compiled(policy), strict=False)
        try:
            yield kernel
        finally:
            await kernel.shut()
    finally:
        await store.close()


def assert_decision(
    policy: PolicyLike,
    expect: str,
    target: str,
    args: Any = None,
    *,
    kind: str = "tool_call",
    input: Any = None,
    history: History | None = None,
    agent: str = "",
    parent: str = "",
    root_input: Any = None,
    turns: list[str] | None = None,
    workdir: str = "",
    rule: str | None = None,
) -> Decision:
    """The decision on one submission, which must be `expect` (`allow`, `deny`, `require_approval`), by `rule` if given.
    `parent` is the agent whose execution began this one, empty where a client did; `root_input` is then what the user
    wrote to the root of both. `turns` are what the user wrote later, and `workdir` is the folder that the host named.

    Raises:
        AssertionError: it is another; the message tells which rule decided, at which line, and every rule's outcome.
        ValueError: `expect` is no verdict.
        BundleError: the bundle has errors.
    """
    wanted = Verdict(expect)
    facts = Facts(
        kind,
        target,
        {} if args is None else args,
        agent=agent,
        input=input,
        history=history,
        parent=parent,
        root_input=root_input,
        turns=turns,
        workdir=workdir,
    )
    trace = explain_decision(compiled(policy), facts)
    decision = trace.decision
    if decision.verdict is wanted and rule in (None, decision.rule_id):
        return decision
    told = "\n".join(f"  {line.rule_id} (line {line.line}): {line.outcome.value}" for line in trace.rules)
    by = f" by `{rule}`" if rule else ""
    raise AssertionError(
        f"`{target}` should be {wanted.value}{by}, it is {decision.verdict.value} by `{decision.rule_id}`"
        f" (line {decision.line}: {trace.source})\n{told}"
    )


def recorded(path: str | Path) -> Recording:
    """The execution in a file that `rebuno exec export` wrote.

    Raises:
        OSError: it cannot be read.
        StoreCorrupt: it is damaged, or no history.
    """
    with Path(path).open("rb") as file:
        lines = iter(lambda: file.readline(LONGEST_LINE + 1), b"")
        return read_recording(lines, name=f"`{path}`")


async def replay(recording: Recording, handler: Callable[..., Any]) -> Replayed:
    """Runs a handler on the input of a recording, every step answered with what was recorded of it. No body runs; at
    the first step that was not recorded the handler is stopped.

    Raises:
        ValidationError: the handler does not take the recorded input.
        SealKeyMissing: the recording is sealed.
    """
    if recording.data_key is not None:
        recording = opened_recording(recording, None)
    execution = recording.execution
    check = ReplayCheck(recording)
    executor = ThreadPoolExecutor(BODY_THREADS, thread_name_prefix="rebuno-replay")
    context = ExecutionContext(
        check,
        executor,
        execution_id=execution.id,
        agent_id=execution.agent_id,
        input=identity.parse(execution.input),
    )
    task = asyncio.create_task(context.run(bind(handler, identity.parse(execution.input))))
    stopped = asyncio.create_task(check.stopped.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await check.others_first()
        ended = _end(task) if task.done() and not check.stopped.is_set() else ""
    finally:
        stopped.cancel()
        context.end()
        task.cancel()
        await asyncio.wait({task, stopped})
        await context.settle()
        executor.shutdown(wait=False, cancel_futures=True)
    return check.replayed(waits=context.blocked, ended=ended)


def _end(task: "asyncio.Task[Any]") -> str:
    waits = not task.cancelled() and isinstance(task.exception(), Blocked)
    match ending(task, blocked=waits):
        case Waits():
            return ""
        case Completed(output=output):
            return ended_with_output(output)
        case Failed(reason=reason):
            return ended_with_failure(reason)


def assert_replays(recording: Recording | str | Path, handler: Callable[..., Any]) -> Replayed:
    """Runs a handler against a recording, or the file of one, and insists that it goes the recorded way; see `replay`,
    which is for tests that run in an event loop.

    Raises:
        AssertionError: it takes another way, or ends otherwise; the message says where.
        OSError, StoreCorrupt, ValidationError
    """
    given = recording if isinstance(recording, Recording) else recorded(recording)
    found = asyncio.run(replay(given, handler))
    if not found.same:
        raise AssertionError("\n".join(_told(found)))
    return found


def _told(found: Replayed) -> list[str]:
    lines = [f"{found.visited} of {found.steps} recorded steps came again"]
    if found.came is not None:
        lines.append(f"came: {found.came.kind} `{found.came.target}` {found.came.args}")
        if (was := found.instead_of) is not None:
            lines.append(f"instead of: {was.kind} `{was.target}` {was.args}")
    lines += [f"did not come again: {step.kind} `{step.target}` {step.args}" for step in found.unvisited]
    if found.ended:
        lines.append(f"it {found.ended}; recorded is: {found.recorded or 'a run that goes on'}")
    return lines
