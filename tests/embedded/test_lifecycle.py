"""An execution's life from outside: cancelled, timed, pinned to its policy, removed when it is old."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno import embedded
from rebuno.embedded import Kernel
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel import cancel_execution
from rebuno.model.clock import FixedClock
from rebuno.policy import compile_policy, compile_text, read_source
from tests.embedded.support import answer, bundle, in_loop, journal, run
from tests.sdk.support import Crash

OPEN = bundle("allow")


class Waits:
    """A handler that is in a body, and says whether it was let go on."""

    def __init__(self) -> None:
        self.inside = asyncio.Event()
        self.stopped = False

    async def __call__(self) -> str:
        async def body() -> None:
            self.inside.set()
            await asyncio.Event().wait()

        try:
            await rebuno.step("body", body, idempotency="at_most_once")
        except asyncio.CancelledError:
            self.stopped = True
            raise
        return "never"


# ---------------------------------------------------------------- cancelling


@pytest.mark.parametrize("from_outside", [False, True])
@in_loop
async def test_a_cancelled_run_is_stopped_in_the_middle_of_a_body(tmp_path: Path, from_outside: bool) -> None:
    """By its own kernel at once, by another process once its lease is gone; the step it was in is `cancelled`."""
    path = tmp_path / "store.db"
    handler = Waits()
    store = await SQLiteStore.open(path, renew_seconds=0.05)
    kernel = Kernel(store, compile_text(OPEN), strict=False)
    running = asyncio.create_task(kernel.run(handler, id="run", agent="agent"))
    await handler.inside.wait()
    if from_outside:
        async with rebuno.operate(path) as operator:
            ended = await operator.cancel("run", reason="not needed")
    else:
        ended = await kernel.cancel("run", reason="not needed")
    assert (ended.status, ended.failure_reason, ended.holder) == ("cancelled", "not needed", None)
    result = await running
    assert (result.status, result.failure_reason, result.output) == ("cancelled", "not needed", None)
    assert handler.stopped
    again = await kernel.run(Waits(), id="run", agent="agent")
    assert (again.status, again.attempt) == ("cancelled", 1)
    await store.close()
    steps, events = await journal(path)
    assert [(step.target, step.status) for step in steps] == [("body", "cancelled")]
    assert [event.type for event in events][-2:] == ["step.cancelled", "execution.cancelled"]


@in_loop
async def test_what_a_cancelled_execution_waits_for_is_withdrawn(tmp_path: Path) -> None:
    """Nobody is asked any more, the step is denied, a late answer is a conflict, and so is a second cancellation."""
    path = tmp_path / "store.db"
    blocked = await run(path, bundle("ask"), rebuno.tool("act")(lambda: "acted"))
    async with rebuno.operate(path) as operator:
        await operator.cancel("run")
        with pytest.raises(rebuno.ConflictError, match="cancelled already"):
            await operator.cancel("run")
        assert [asked.status for asked in await operator.approvals()] == ["withdrawn"]
    with pytest.raises(rebuno.ConflictError, match="withdrawn"):
        await answer(path, blocked.approvals[0].id, granted=True)
    ended = await run(path, bundle("ask"), rebuno.tool("act")(lambda: "acted"))
    assert (ended.status, ended.approvals) == ("cancelled", [])
    (step,), _ = await journal(path)
    assert (step.status, step.error) == ("denied", {"reason": "execution_cancelled"})


@in_loop
async def test_a_run_that_writes_all_the_time_is_cancelled_too(tmp_path: Path) -> None:
    """The log grows while the cancellation is written; it is cancelled all the same, and grows no further."""
    path = tmp_path / "store.db"
    hot = asyncio.Event()

    async def handler() -> None:
        for i in range(100_000):
            await rebuno.step("step", lambda i: i, {"i": i}, idempotency="at_most_once")
            if i == 20:
                hot.set()

    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        running = asyncio.create_task(kernel.run(handler, id="run", agent="agent"))
        await hot.wait()
        await cancel_execution(kernel._core.store, (await kernel.operator.execution("run")).id)
        assert (await running).status == "cancelled"
    steps, events = await journal(path)
    assert events[-1].type == "execution.cancelled"
    assert {step.status for step in steps} <= {"succeeded", "cancelled"}


# ---------------------------------------------------------------- deadlines


@in_loop
async def test_a_run_is_cancelled_at_its_deadline(tmp_path: Path) -> None:
    """The handler is stopped then, wherever it is; the first deadline counts, whatever later calls say."""
    path, handler = tmp_path / "store.db", Waits()
    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        ended = await kernel.run(handler, id="run", agent="agent", deadline=0.2)
        assert (ended.status, ended.failure_reason) == ("cancelled", "deadline_exceeded")
        assert handler.stopped
        row = await kernel.operator.execution("run")
        assert row.created_at is not None
        assert row.updated_at is not None
        assert row.deadline_at is not None
        assert row.updated_at >= row.deadline_at > row.created_at
        assert await kernel.run(handler, id="run", agent="agent", deadline=100) == ended


@in_loop
async def test_a_deadline_that_passes_while_nobody_runs_is_noticed_by_the_next_run(tmp_path: Path) -> None:
    """No handler runs any more; and a deadline that has not passed stops nobody."""
    clock = FixedClock()
    store = await SQLiteStore.open(tmp_path / "store.db", clock=clock)
    kernel = Kernel(store, compile_text(bundle("ask")), strict=False)
    act = rebuno.tool("act")(lambda: "acted")
    await kernel.run(act, id="run", agent="agent", deadline=60)
    clock.advance(59)
    assert (await kernel.run(act, id="run", agent="agent")).status == "blocked"
    clock.advance(1)
    ended = await kernel.run(act, id="run", agent="agent")
    assert (ended.status, ended.failure_reason) == ("cancelled", "deadline_exceeded")
    await store.close()


@pytest.mark.parametrize(("seconds", "granted"), [(59.0, True), (60.0, False), (3600.0, False)])
@pytest.mark.parametrize("verdict", ["grant", "deny"])
@in_loop
async def test_an_answer_after_the_deadline_is_refused(
    tmp_path: Path, seconds: float, granted: bool, verdict: str
) -> None:
    """Nobody is told that something was granted which never happens; the execution is cancelled by then."""
    clock = FixedClock()
    store = await SQLiteStore.open(tmp_path / "store.db", clock=clock)
    kernel = Kernel(store, compile_text(bundle("ask")), strict=False)
    act = rebuno.tool("act")(lambda: "acted")
    asked = await kernel.run(act, id="run", agent="agent", deadline=60)
    clock.advance(seconds)
    answer = getattr(kernel.operator, verdict)
    if granted:
        await answer(asked.approvals[0].id, decided_by="ana")
        assert (await store.approval(asked.approvals[0].id)).status in ("granted", "denied")
    else:
        with pytest.raises(rebuno.ConflictError, match="deadline"):
            await answer(asked.approvals[0].id, decided_by="ana")
        found = await store.execution(asked.id)
        assert (found.status, found.failure_reason) == ("cancelled", "deadline_exceeded")
        assert (await store.approval(asked.approvals[0].id)).status == "withdrawn"
    await store.close()


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), float("inf"), "5"])
@in_loop
async def test_a_deadline_is_a_number_of_seconds(tmp_path: Path, deadline: Any) -> None:
    """Anything else is refused, and nothing is recorded."""
    async with rebuno.open(tmp_path / "store.db", policy=rebuno.PERMISSIVE) as kernel:
        with pytest.raises(rebuno.ValidationError, match="deadline"):
            await kernel.run(Waits(), agent="agent", deadline=deadline)
        assert await kernel.operator.executions() == []


# ---------------------------------------------------------------- pinned


def written(folder: Path, verdict: str) -> list[Path]:
    """Two layers, one of which takes its names from a file beside it, as files."""
    folder.mkdir(exist_ok=True)
    (folder / "names.yaml").write_text('["act"]\n')
    (folder / "org.rbp").write_text(
        'bundle org\ndefault allow\nlet names = file "names.yaml"\nrule r { deny tool names }\n'
    )
    if verdict != "deny":
        (folder / "names.yaml").write_text('["other"]\n')
    (folder / "own.rbp").write_text("bundle own\ndefault allow\n")
    return [folder / "org.rbp", folder / "own.rbp"]


@pytest.mark.parametrize(("pin", "output"), [(True, "acted"), (False, "act not allowed. reason: policy_denied")])
@in_loop
async def test_a_pinned_run_keeps_the_policy_of_its_start(tmp_path: Path, pin: bool, output: str) -> None:
    """Its layers and the files they use are those of then, although they have changed or are gone; the log says so."""
    path, folder = tmp_path / "store.db", tmp_path / "rules"
    stops = iter([True])
    act = rebuno.tool("act")(lambda: "acted")

    async def handler() -> object:
        await rebuno.step("before", lambda: None)
        if next(stops, False):
            raise Crash
        return await act()

    async with rebuno.open(path, policy=written(folder, "allow")) as kernel:
        with pytest.raises(Crash):
            await kernel.run(handler, id="run", agent="agent", pin=pin)
        began = kernel.policy.digest
    files = written(folder, "deny")
    async with rebuno.open(path, policy=files) as kernel:
        today = kernel.policy.digest
        for file in folder.iterdir():
            file.unlink()
        ended = await kernel.run(handler, id="run", agent="agent")
    assert ended.output == output
    steps, events = await journal(path)
    assert events[0].payload.get("pinned", False) is pin
    assert events[0].payload["digest"] == began
    in_force = began if pin else today
    assert [e.payload["digest"] for e in events if e.type == "execution.started"] == [began, in_force]
    assert steps[-1].digest == in_force


@in_loop
async def test_a_run_that_was_begun_without_pin_is_not_pinned_later(tmp_path: Path) -> None:
    """Which policy held so far cannot be changed afterwards; a conflict says so."""
    path = tmp_path / "store.db"
    act = rebuno.tool("act")(lambda: "acted")
    await run(path, bundle("ask"), act)
    async with rebuno.open(path, policy=compile_text(bundle("ask"))) as kernel:
        with pytest.raises(rebuno.ConflictError, match="without `pin`"):
            await kernel.run(act, id="run", agent="agent", pin=True)


@in_loop
async def test_a_pinned_run_whose_policy_cannot_be_made_again_is_refused(tmp_path: Path) -> None:
    """Nothing is recorded, and with the texts back it goes on."""
    path = tmp_path / "store.db"
    act = rebuno.tool("act")(lambda: "acted")
    async with rebuno.open(path, policy=compile_text(bundle("ask"))) as kernel:
        blocked = await kernel.run(act, id="run", agent="agent", pin=True)
        await kernel.operator.grant(blocked.approvals[0].id, decided_by="ana")
        _, before = await journal(path)
    async with rebuno.open(path, policy=compile_text(OPEN)) as kernel:
        store = kernel._core.store
        assert isinstance(store, SQLiteStore)
        texts = list(store._connection.execute("SELECT path, text FROM bundle_sources"))
        store._connection.execute("UPDATE bundle_sources SET text = 'rule'")
        with pytest.raises(rebuno.BundleError):
            await kernel.run(act, id="run", agent="agent")
        assert (await journal(path))[1] == before
        for name, text in texts:
            store._connection.execute("UPDATE bundle_sources SET text = ? WHERE path = ?", (text, name))
        assert (await kernel.run(act, id="run", agent="agent")).output == "acted"


# ---------------------------------------------------------------- bundle files that change


@in_loop
async def test_a_bundle_file_that_changed_since_open_is_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once for each change, at the next run; what it says does not count until the kernel is opened again."""
    rules = tmp_path / "agent.rbp"
    rules.write_text(OPEN)
    act = rebuno.tool("act")(lambda: "acted")
    async with rebuno.open(tmp_path / "store.db", policy=rules) as kernel:
        await kernel.run(act, agent="agent")
        assert caplog.messages == []
        rules.write_text(bundle("deny"))
        for _ in range(2):
            assert (await kernel.run(act, agent="agent")).output == "acted"
        (said,) = caplog.messages
        assert str(rules) in said
        rules.unlink()
        await kernel.run(act, agent="agent")
        assert len(caplog.messages) == 2
        assert {record.name for record in caplog.records} == {"rebuno"}


# ---------------------------------------------------------------- retention


async def again_and_again(kernel: Kernel, id: str) -> None:
    """Asks for the run until it is refused."""
    for _ in range(2000):
        assert (await kernel.run(lambda: "done", id=id, agent="agent")).output == "done"
        await asyncio.sleep(0.005)


@in_loop
async def test_an_open_kernel_removes_what_is_not_kept_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key is never run again: the error says what became of it. An execution that has not ended stays."""
    monkeypatch.setattr(embedded, "SWEEP_SECONDS", 0.01)
    path = tmp_path / "store.db"
    act = rebuno.tool("act")(lambda: "acted")
    async with rebuno.open(path, policy=compile_text(bundle("ask")), retention=0) as kernel:
        await kernel.run(act, id="waits", agent="agent")
        done = await kernel.run(lambda: "done", id="run", agent="agent")
        with pytest.raises(rebuno.ExecutionExpired) as caught:
            await again_and_again(kernel, "run")
        assert (caught.value.execution_id, caught.value.status) == (done.id, "completed")
        assert len(caught.value.output_hash) == 64
        for ref in (done.id, done.id[:-2], "run"):
            with pytest.raises(rebuno.ExecutionExpired, match=ref):
                await kernel.operator.execution(ref)
        for ref in (done.id[:3], "ru"):
            with pytest.raises(rebuno.NotFoundError):
                await kernel.operator.execution(ref)
        assert [row.idempotency_key for row in await kernel.operator.executions()] == ["waits"]
        # Another agent's id is another id.
        assert (await kernel.run(lambda: "done", id="run", agent="other")).status == "completed"


def test_a_restored_policy_is_the_same_policy(tmp_path: Path) -> None:
    """Digest, name and layers, from the texts alone."""
    from rebuno.policy import restore_policy

    files = written(tmp_path / "rules", "deny")
    policy = compile_policy([read_source(file) for file in files])
    for file in files:
        file.unlink()
    again = restore_policy(policy.digest, [(source.path, source.text) for source in policy.sources])
    assert (again.digest, again.name, len(again.layers)) == (policy.digest, policy.name, 2)
    with pytest.raises(rebuno.BundleError, match="do not make that policy"):
        restore_policy("0" * 64, [(source.path, source.text) for source in policy.sources])
