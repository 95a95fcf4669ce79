"""The hash chain: every execution verifies, and one row that was changed or taken out is noticed."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import rebuno
from rebuno.errors import RebunoError
from rebuno.model.decision import Verdict
from rebuno_cli.verifying.bench import Bench
from rebuno_cli.verifying.outcome import DoesNotApplyError, Findings

# The executions of the store whose chains are recomputed.
_MOST: Final = 1000
# Of these the first with a step that has succeeded is changed.
_LOOKED_AT: Final = 50


async def chains_verify(bench: Bench, found: Findings) -> None:
    """The chains of the newest executions are recomputed."""
    async with rebuno.operate(bench.store) as operator:
        executions = await operator.executions(limit=_MOST)
        for one in executions:
            verified = await operator.verify(one.id)
            found.expect(not verified.fault, f"execution {one.id}: {verified.fault}")
    found.tried.append(f"{len(executions)} executions, those that this command made included")


@dataclass(frozen=True, slots=True)
class _Change:
    """A row that is changed: in words, how it is found (one `?`: the execution's id), and the column with its new
    value; without a column the row is taken out."""

    what: str
    table: str
    row: str
    column: str = ""
    value: Callable[[Any], Any] = lambda old: old


_NEWEST: Final = "SELECT n FROM {0} WHERE execution_id = ? ORDER BY n DESC LIMIT 1"
_OLDEST: Final = "SELECT n FROM {0} WHERE execution_id = ? ORDER BY n LIMIT 1"
_ENDED: Final = "SELECT n FROM steps WHERE execution_id = ? AND result IS NOT NULL ORDER BY n LIMIT 1"
_CHANGES: Final = (
    _Change("the payload of an event", "events", _OLDEST.format("events"), "payload", lambda old: old[:-1] + ',"x":1}'),
    _Change("the time of an event", "events", _NEWEST.format("events"), "occurred_at", lambda old: "2001" + old[4:]),
    _Change("the newest event", "events", _NEWEST.format("events")),
    _Change("the result of a step", "steps", _ENDED, "result", lambda old: '"changed"'),
    _Change("the arguments of a step", "steps", _OLDEST.format("steps"), "args", lambda old: '{"changed":true}'),
    _Change("the verdict of a step", "steps", _OLDEST.format("steps"), "status", lambda old: _other_status(old)),
)


def _other_status(status: str) -> str:
    return "succeeded" if status == "denied" else "denied"


async def changed_rows_are_noticed(bench: Bench, found: Findings) -> None:
    """One row at a time is changed in the copy, of a run of this command and of the newest one of the store."""
    own, theirs = await _own(bench), await _theirs(bench)
    for execution_id in [own] + ([theirs] if theirs is not None else []):
        for change in _CHANGES:
            with _changed(bench.store, change, execution_id) as was_there:
                noticed = was_there and await _is_noticed(bench, execution_id)
            if was_there:
                whose = "a run of this command" if execution_id == own else f"execution {execution_id}"
                found.expect(noticed, f"{change.what} of {whose} was changed or taken out, and its chain verifies")
                found.tried.append(f"{change.what} of {whose}")


async def _own(bench: Bench) -> str:
    probes = [one.probe for verdict in (Verdict.ALLOW, Verdict.DENY) for one in bench.probes.of(verdict)[:1]]
    if not probes:
        raise DoesNotApplyError("no step ends without a person's answer")
    async with bench.kernel() as kernel:
        run = await bench.run(kernel, bench.name("changed"), bench.calls("changed", probes[:1]))
    return run.execution.id


async def _theirs(bench: Bench) -> str | None:
    """The newest execution of the store that has steps, else the newest one."""
    async with rebuno.operate(bench.store) as operator:
        executions = await operator.executions(limit=_MOST)
        found = [one.id for one in executions if not (one.idempotency_key or "").startswith(bench.mark)]
        for execution_id in found[:_LOOKED_AT]:
            if any(step.status == "succeeded" for step in await operator.steps(execution_id)):
                return execution_id
    return found[0] if found else None


async def _is_noticed(bench: Bench, execution_id: str) -> bool:
    try:
        async with rebuno.operate(bench.store) as operator:
            return bool((await operator.verify(execution_id)).fault)
    except RebunoError:
        # A row that cannot be read any more is noticed as well.
        return True


@contextmanager
def _changed(store: Path, change: _Change, execution_id: str) -> Iterator[bool]:
    """The store with the change, and as it was afterwards; gives False where it has no such row."""
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        number = next(iter(connection.execute(change.row, (execution_id,))), (None,))[0]
        if number is None:
            yield False
            return
        row = connection.execute(f"SELECT * FROM {change.table} WHERE n = ?", (number,))
        names = [column[0] for column in row.description]
        values = row.fetchone()
        if change.column:
            new = change.value(values[names.index(change.column)])
            connection.execute(f"UPDATE {change.table} SET {change.column} = ? WHERE n = ?", (new, number))
        else:
            connection.execute(f"DELETE FROM {change.table} WHERE n = ?", (number,))
    try:
        yield True
    finally:
        with closing(sqlite3.connect(store, isolation_level=None)) as connection:
            marks = ", ".join("?" * len(names))
            connection.execute(f"REPLACE INTO {change.table} ({', '.join(names)}) VALUES ({marks})", values)
