"""Which execution began another one: what a parent passed on to a child is not the user's word, unless the user wrote
it to the root of both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.journal.records import EventRow, ExecutionRow, StepRow
from rebuno.journal.store import Store
from rebuno.journal.words import RootRow, TurnRow
from rebuno.kernel.core.background import NOTHING, Background
from rebuno.kernel.core.heavy import read
from rebuno.model import identity
from rebuno.model.clock import from_rfc3339, rfc3339
from rebuno.policy import MISSING, UNREADABLE, HistoryDependencies

# What `execution.created` says of where an input comes from; a copy says the same.
_KEPT: Final = (
    *("delegated", "hosted", "parent_agent", "parent_seq", "read_hash", "root", "root_input_at", "root_input_hash"),
    *("root_turn_times", "root_turns_hash", "workdir"),
)
_NO_INPUT: Final = "null"
_NO_TURNS: Final = "[]"


@dataclass(frozen=True, slots=True)
class InputOrigin:
    """What a new execution records of where its input comes from, and where it works: `said` in its first event, `root`
    beside it."""

    said: Mapping[str, object] = field(default_factory=dict)
    root: RootRow | None = None

    def of(self, execution_id: str) -> RootRow | None:
        """The row of the execution."""
        return None if self.root is None else replace(self.root, execution_id=execution_id)

    def in_folder(self, workdir: str, *, by_host: bool) -> "InputOrigin":
        """The same with the folder that was named (empty: none was). Only a host names one, for what it begins: what an
        agent begins works in the folder of its own execution.

        Raises:
            ValidationError: another one is named.
        """
        if not workdir or workdir == self.said.get("workdir"):
            return self
        if not by_host:
            raise ValidationError(
                "an agent names no `workdir`: what it begins works in the folder of its own execution"
            )
        return replace(self, said={**self.said, "workdir": workdir})

    def of_host(self) -> "InputOrigin":
        """The same of an execution whose agent runs in another program."""
        return replace(self, said={**self.said, "hosted": True})


CLIENT: Final = InputOrigin()
# Begun by a key that is bound to an agent: no user has written the input.
NO_USER: Final = InputOrigin({"delegated": True})


# ---------------------------------------------------------------- who began it


def recorded(execution: ExecutionRow, events: Iterable[EventRow]) -> str | None:
    """The id of the execution that began this one, or the one whose copy it is; empty where a client did. None: a fork
    whose log, written by an older version, does not say so."""
    if execution.spawned_execution_id or not execution.forked_from:
        return execution.spawned_execution_id
    said = next((event.payload for event in events if event.type == "execution.forked"), {})
    parent = said.get("parent")
    return parent if isinstance(parent, str) else None


async def began_by(store: Store, execution: ExecutionRow) -> str:
    """As `recorded`, looked up in the source where the log does not say, and where that is gone the source's id: doubt
    falls on the strict side. Asks the store about forks only.

    Raises:
        StoreError
    """
    if execution.spawned_execution_id or not execution.forked_from:
        return execution.spawned_execution_id
    # The fork's own event is its second.
    parent = recorded(execution, await store.events(execution.id, after=0, limit=2))
    if parent is not None:
        return parent
    try:
        source = await store.execution(execution.forked_from)
        events = await store.events(source.id, after=0, limit=1)
    except NotFoundError:
        return execution.forked_from
    # Nobody is named who began it, but no user did: the log of the copy does not say that either.
    return await began_by(store, source) or (source.id if _created(events).get("delegated") is True else "")


# ---------------------------------------------------------------- the facts


async def background(store: Store, execution: ExecutionRow, looks: HistoryDependencies | None = None) -> Background:
    """What policies may know of an execution besides its steps, as far as a policy `looks` at it (None: all of it).

    Raises:
        StoreError
    """
    turns = await store.turns(execution.id) if looks is None or looks.turns else ()
    plain = not execution.spawned_execution_id and not execution.forked_from and not execution.served
    if looks is not None and not looks.zone and not looks.workdir and (plain or not looks.origin):
        return Background(turns=turns, weight=_size(turns)) if turns else NOTHING
    events = await store.events(execution.id, after=0, limit=2)
    parent = await began_by(store, execution)
    root = await store.root(execution.id) if parent else None
    long = None if root is None else await read(root.input)
    return _told(events, turns, root, parent, long)


def in_rows(
    execution: ExecutionRow, events: Sequence[EventRow], turns: Sequence[TurnRow], root: RootRow | None
) -> Background:
    """The same by the rows of an execution alone, of which `events` are the first. Where they do not say who began it,
    the source of the copy stands in the place of what may have."""
    parent = recorded(execution, events)
    return _told(
        events,
        turns,
        root,
        execution.forked_from if parent is None else parent,
        None if root is None else identity.parse(root.input),
    )


def _told(
    events: Sequence[EventRow], turns: Sequence[TurnRow], root: RootRow | None, parent: str, root_input: Any
) -> Background:
    said = _created(events)
    input_at, workdir = _input_at(events), _workdir(said)
    if not parent and said.get("delegated") is not True:
        return Background(input_at=input_at, workdir=workdir, turns=turns, weight=_size(turns))
    agent = said.get("parent_agent")
    found = Background(
        # An older version did not record the agent.
        parent=agent if isinstance(agent, str) and agent else UNREADABLE,
        delegated=True,
        input_at=input_at,
        workdir=workdir,
        turns=turns,
        weight=_size(turns),
    )
    if root is not None:
        found.weight += len(root.input) + len(root.turns) + len(root.read_args or "")
        found.root_input = root_input
        found.root_turns = texts_of(root.turns)
        found.read_args = MISSING if root.read_args is None else identity.parse(root.read_args)
        found.root_input_at = _time(said.get("root_input_at"))
        times = said.get("root_turn_times")
        found.root_turn_times = tuple(map(_time, times)) if isinstance(times, list) else ()
    return found


def texts_of(turns: str) -> list[str] | None:
    """The texts of a root's turns, which are canonical JSON; None where there are none, or it is no list of texts."""
    said = identity.parse(turns)
    return said if isinstance(said, list) and said and all(isinstance(text, str) for text in said) else None


def _size(turns: Iterable[TurnRow]) -> int:
    return sum(len(turn.text) for turn in turns)


def _created(events: Sequence[EventRow]) -> dict[str, Any]:
    return events[0].payload if events and events[0].type == "execution.created" else {}


def _workdir(said: Mapping[str, Any]) -> str:
    folder = said.get("workdir")
    return folder if isinstance(folder, str) else ""


async def workdir_of(store: Store, execution: ExecutionRow) -> str:
    """The folder that the host named when the execution began; empty without one.

    Raises:
        StoreError
    """
    return _workdir(_created(await store.events(execution.id, after=0, limit=1)))


async def check_same_folder(store: Store, execution: ExecutionRow, workdir: str) -> None:
    """Refuses another folder than the one that the execution began with; an empty text names none.

    Raises:
        ConflictError, StoreError
    """
    if workdir and workdir != await workdir_of(store, execution):
        name = execution.key or execution.id
        raise ConflictError(
            f"the id `{name}` belongs to an execution with another workdir; leave it out, or use another id"
        )


def _input_at(events: Sequence[EventRow]) -> float | None:
    # The input of a copy is as old as that of its source.
    copied = _time(_created(events).get("input_at"))
    if copied is not None or not events:
        return copied
    # A fork that does not say so, by an older version, is younger than its input.
    forked = len(events) > 1 and events[1].type == "execution.forked"
    return None if forked else _time(events[0].occurred_at)


def _time(text: object) -> float | None:
    try:
        return from_rfc3339(text) if isinstance(text, str) else None
    except ValueError:
        return None


# ---------------------------------------------------------------- a new execution


async def of_child(store: Store, parent_id: str, step_id: str) -> InputOrigin:
    """Where the input of an execution comes from that another one begins, in the body of a step or (empty) beside all
    of them: what the user had written to the root of both when that step was submitted, and the arguments of the step
    if a person read and granted it. Of a parent in another store nothing is known.

    Raises:
        StoreError
    """
    try:
        parent = await store.execution(parent_id)
    except NotFoundError:
        return InputOrigin()
    step = await _step(store, parent, step_id)
    at = step.decided_seq if step is not None else parent.head_seq
    events = await store.events(parent.id, after=0, limit=2)
    above = _created(events)
    said: dict[str, object] = {"parent_agent": parent.agent_id, "parent_seq": at}
    said |= {"workdir": folder} if (folder := _workdir(above)) else {}
    if await began_by(store, parent) or above.get("delegated") is True:
        # What the user wrote to the root stands in the parent's own record, or nobody knows it.
        found = await store.root(parent.id)
        known = above if found is not None else {}
        root_id = found.root_id if found is not None else parent.id
        input, turns = (found.input, found.turns) if found is not None else (_NO_INPUT, _NO_TURNS)
        said |= {key: known[key] for key in ("root_input_at", "root_turn_times") if key in known}
    else:
        heard = [turn for turn in await store.turns(parent.id) if step is None or turn.event_seq < at]
        root_id, input = parent.id, parent.input
        turns = identity.canonical([turn.text for turn in heard])
        input_at = _input_at(events)
        said |= {} if input_at is None else {"root_input_at": rfc3339(input_at)}
        said |= {"root_turn_times": [rfc3339(turn.said_at) for turn in heard]} if heard else {}
    read_args = step.args if step is not None and await _was_read(store, step) else None
    said |= {
        "root": root_id,
        "root_input_hash": identity.args_hash(input),
        "root_turns_hash": identity.args_hash(turns),
    }
    said |= {} if read_args is None else {"read_hash": identity.args_hash(read_args)}
    return InputOrigin(said, RootRow("", root_id, input, turns, read_args))


async def _step(store: Store, parent: ExecutionRow, step_id: str) -> StepRow | None:
    if not step_id:
        return None
    try:
        step = await store.step(step_id)
    except NotFoundError:
        # It is not written yet, as a local step that may be run again: nobody was asked about it.
        return None
    return step if step.execution_id == parent.id else None


async def _was_read(store: Store, step: StepRow) -> bool:
    # A grant for more than one step was read for the step that asked.
    if not step.approval_id:
        return False
    asked = await store.approval(step.approval_id)
    return asked.step_id == step.step_id and asked.status == "granted" and asked.cause == "policy"


async def of_copy(store: Store, source: ExecutionRow) -> InputOrigin:
    """What a copy of an execution records: the same as its source, whose input it has.

    Raises:
        StoreError
    """
    events = await store.events(source.id, after=0, limit=2)
    created, input_at = _created(events), _input_at(events)
    said: dict[str, object] = {key: created[key] for key in _KEPT if key in created}
    if input_at is not None:
        said["input_at"] = rfc3339(input_at)
    return InputOrigin(said, await store.root(source.id))
