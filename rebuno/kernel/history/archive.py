"""One execution as a file: JSON lines that hold its log, its rows and its bundles, checked when they are read."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rebuno.errors import ConflictError, NotFoundError, SealErased, SealKeyMissing, StoreCorrupt, ValidationError
from rebuno.journal.data_keys import ALL, SECRETS, DataKeyRow, SealedText
from rebuno.journal.records import (
    NO_COLUMNS,
    ApprovalRow,
    Copied,
    EventRow,
    ExecutionRow,
    NewEvent,
    StepRow,
)
from rebuno.journal.resource_records import NO_RESOURCES, CheckpointRow, ResourceRow, ResourceRows
from rebuno.journal.sealed.kept import KeptPayloads, ShownRows, raw
from rebuno.journal.sealed.seal import check
from rebuno.journal.store import Store
from rebuno.journal.words import RootRow, TurnRow
from rebuno.kernel.core.loading import load
from rebuno.kernel.history.audit import Audit
from rebuno.kernel.history.encoding import UnfitError, decode, encode
from rebuno.kernel.history.external import held, taken_over
from rebuno.kernel.history.imports import continued, places_of, takes_of
from rebuno.model import identity
from rebuno.model.definition import described, digest_of, recorded

if TYPE_CHECKING:
    from rebuno.kernel.core.seals import Seals
    from rebuno.sealing import KeyRing

T = TypeVar("T")

VERSION: Final = 1
# In bytes. A step's line holds its args and its result, each of at most 10 MiB, written in ASCII.
LONGEST_LINE: Final = 8 * identity.MAX_BYTES
LARGEST_FILE: Final = 1 << 30
LONGEST_ID: Final = 256
_PAGE: Final = 1000
# How often a log that grows meanwhile is read again.
_TRIES: Final = 20
# What a line may be.
_SORTS: Final = ("bundle", "definition", "event", "step", "approval", "turn", "root", "data_key", "sealed", "end")


@dataclass(frozen=True, slots=True)
class ArchivedBundle:
    """What a policy was compiled from: (path, text) pairs under their digest."""

    digest: str
    sources: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """One execution with all that the journal holds of it, nobody running it. Events and steps stand in the order of
    the log."""

    execution: ExecutionRow
    events: tuple[EventRow, ...]
    steps: tuple[StepRow, ...]
    approvals: tuple[ApprovalRow, ...]
    bundles: tuple[ArchivedBundle, ...] = ()
    turns: tuple[TurnRow, ...] = ()
    root: RootRow | None = None
    # What servers say of the tools: texts by their digests.
    definitions: tuple[tuple[str, str], ...] = ()
    external: ResourceRows = NO_RESOURCES
    # Of an execution that is sealed: its wrapped data key, and what is kept beside its rows as ciphertext.
    data_key: DataKeyRow | None = None
    sealed: tuple[SealedText, ...] = ()
    # What opened it, where its texts are clear; no part of the file.
    seals: "Seals | None" = None


async def record(store: Store, execution_id: str) -> Recording:
    """An execution as it is in the store.

    Raises:
        NotFoundError: there is no such execution.
        StoreCorrupt: its log or its rows were changed.
        ConflictError: a live process writes faster than this reads.
        StoreError
    """
    for _ in range(_TRIES):
        execution = await store.execution(execution_id)
        data_key = await store.data_key(execution.id) if execution.seal else None
        if data_key is not None and data_key.covers == ALL:
            # What is sealed leaves the store so.
            store = raw(store)
            execution = await store.execution(execution_id)
        steps, approvals = await load(store, execution.id)
        events = [event async for event in _events(store, execution.id)]
        turns, root = await store.turns(execution.id), await store.root(execution.id)
        external = await held(store, execution.id)
        if (await store.execution(execution.id)).head_seq != execution.head_seq:
            continue
        rested = replace(execution, holder=None, lease_until=0.0)
        found = Recording(
            rested,
            tuple(events),
            tuple(steps.values()),
            tuple(approvals.values()),
            turns=tuple(turns),
            root=root,
            external=external,
            data_key=data_key,
            sealed=tuple(await store.sealed_beginning(execution.id, "")) if execution.seal else (),
        )
        if fault := _fault(found):
            raise StoreCorrupt(f"the history of execution `{execution.id}` is damaged: {fault}; restore a copy")
        bundles = tuple([bundle async for bundle in _bundles(store, found)])
        return replace(found, bundles=bundles, definitions=tuple([pair async for pair in _definitions(store, found)]))
    raise ConflictError(f"the execution `{execution_id}` is being written all the time; ask again later")


async def _events(store: Store, execution_id: str) -> AsyncIterator[EventRow]:
    after = 0
    while page := await store.events(execution_id, after=after, limit=_PAGE):
        for event in page:
            yield event
        after = page[-1].event_seq


async def _bundles(store: Store, recording: Recording) -> AsyncIterator[ArchivedBundle]:
    said = (event.payload.get("digest") for event in recording.events)
    named = chain([recording.execution.digest], (step.digest for step in recording.steps), said)
    for digest in dict.fromkeys(digest for digest in named if isinstance(digest, str)):
        if sources := await store.bundle(digest):
            yield ArchivedBundle(digest, tuple(sources))


async def _definitions(store: Store, recording: Recording) -> AsyncIterator[tuple[str, str]]:
    said = (recorded(event.payload.get("definition")) for event in recording.events)
    for digest in dict.fromkeys(defined.digest for defined in said if defined is not None):
        if digest and (text := await store.definition(digest)) is not None:
            yield digest, text


def _fault(recording: Recording) -> str:
    key = recording.data_key
    if key is None or key.covers != ALL:
        return _audited(recording)
    kept = KeptPayloads()
    kept.events(recording.events)
    kept.execution(recording.execution)
    for step in recording.steps:
        kept.step(step)
    for turn in recording.turns:
        kept.turn(turn)
    kept.root(recording.root)
    return kept.fault or _audited(_shown(recording, ShownRows(key)))


def _shown(recording: Recording, rows: ShownRows) -> Recording:
    return replace(
        recording,
        execution=rows.execution(recording.execution),
        events=tuple(map(rows.event, recording.events)),
        steps=tuple(map(rows.step, recording.steps)),
        approvals=tuple(map(rows.approval, recording.approvals)),
        turns=tuple(map(rows.turn, recording.turns)),
        root=rows.root(recording.root),
        external=rows.external(recording.external),
    )


def opened(recording: Recording, ring: "KeyRing | None") -> Recording:
    """A recording with what is sealed in it in the clear, to be replayed and not to be kept.

    Raises:
        SealKeyMissing, SealErased, SealBroken: it cannot be opened.
    """
    row, execution = recording.data_key, recording.execution
    if row is None:
        return recording
    if row.wrapped is None:
        raise SealErased(execution.id)
    if ring is None:
        raise SealKeyMissing(row.key_id, execution_id=execution.id)
    key = ring.open_key(execution.id, row.key_id, row.wrapped)
    found = recording
    if row.covers == ALL:
        found = _shown(recording, ShownRows(row, key))
        first = found.execution
        texts = (text for step in found.steps for text in (step.args, step.result, step.error))
        check(first.input, first.output, first.state, *texts)
    # Few recordings are sealed.
    from rebuno.kernel.core.sealed_texts import OpenedTexts

    marked = OpenedTexts(ring, key, recording.sealed)
    return replace(
        found,
        execution=marked.execution(found.execution),
        steps=tuple(map(marked.step, found.steps)),
        data_key=None,
        seals=marked.seals,
    )


def _audited(recording: Recording) -> str:
    audit = Audit(recording.execution)
    audit.events(recording.events)
    if not audit.fault:
        for step in recording.steps:
            audit.step(step)
        for approval in recording.approvals:
            audit.approval(approval)
        for turn in recording.turns:
            audit.turn(turn)
        audit.root(recording.root)
        audit.external(recording.external)
        audit.end()
    return audit.fault


# ---------------------------------------------------------------- the file


def lines(recording: Recording) -> Iterator[str]:
    """The lines of the file, each with its end: the execution, its bundles, events, steps and approvals, and at last
    how many lines there were and the SHA-256 of them. All of it is ASCII."""
    hashed, count = sha256(), 0
    for data in _lines(recording):
        line = json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n"
        hashed.update(line.encode())
        count += 1
        yield line
    yield json.dumps({"end": {"lines": count, "sha256": hashed.hexdigest()}}, separators=(",", ":")) + "\n"


def _lines(recording: Recording) -> Iterator[dict[str, Any]]:
    yield {"history": VERSION, "execution": encode(recording.execution)}
    for bundle in recording.bundles:
        yield {"bundle": {"digest": bundle.digest, "sources": [list(pair) for pair in bundle.sources]}}
    for digest, text in recording.definitions:
        yield {"definition": {"digest": digest, "text": text}}
    rows_of: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("event", recording.events),
        ("step", recording.steps),
        ("approval", recording.approvals),
        ("turn", recording.turns),
        ("root", () if recording.root is None else (recording.root,)),
        ("resource", recording.external.resources),
        ("checkpoint", recording.external.checkpoints),
        ("data_key", () if recording.data_key is None else (recording.data_key,)),
        ("sealed", recording.sealed),
    )
    for name, rows in rows_of:
        for row in rows:
            yield {name: {key: value for key, value in encode(row).items() if key != "execution_id"}}


def read(given: Iterable[bytes], *, name: str = "the history") -> Recording:
    """The recording that the lines of a file hold, once all of its hashes have been recomputed.

    Raises:
        StoreCorrupt: it is no history, damaged, cut off, too large, or written by a newer version; the message begins
            with `name` and says where.
    """
    reader = _Reader()
    hashed, size, number = sha256(), 0, 0
    try:
        for number, line in enumerate(given, 1):
            size += len(line)
            if size > LARGEST_FILE or len(line) > LONGEST_LINE:
                raise UnfitError(f"more than {LARGEST_FILE:,} bytes, or {LONGEST_LINE:,} in a line")
            reader.line(line, number, hashed.hexdigest() if line.startswith(b'{"end"') else "")
            hashed.update(line)
        found = reader.recording(number)
    except (UnfitError, ValidationError) as error:
        raise StoreCorrupt(
            f"{name} is no history that can be read: line {max(number, 1)}: {error}", path=name
        ) from None
    if fault := _fault(found):
        raise StoreCorrupt(f"{name} is damaged: {fault}; export it again", path=name)
    return found


class _Reader:
    """What the lines so far have told."""

    def __init__(self) -> None:
        self.execution: ExecutionRow | None = None
        self.bundles: list[ArchivedBundle] = []
        self.definitions: list[tuple[str, str]] = []
        self.events: list[EventRow] = []
        self.steps: list[StepRow] = []
        self.approvals: list[ApprovalRow] = []
        self.turns: list[TurnRow] = []
        self.root: RootRow | None = None
        self.resources: list[ResourceRow] = []
        self.checkpoints: list[CheckpointRow] = []
        self.data_key: DataKeyRow | None = None
        self.sealed: list[SealedText] = []
        self.ended = False

    def line(self, line: bytes, number: int, hashed: str) -> None:
        """Reads one line; `hashed` is the SHA-256 of those before the last."""
        data = identity.parse(line, LONGEST_LINE)
        if not isinstance(data, dict) or self.ended:
            raise UnfitError("something stands after the end" if self.ended else "it is no object")
        if number == 1:
            self._first(data)
            return
        if len(data) != 1 or self.execution is None:
            raise UnfitError("it holds not one thing that a history holds")
        [(sort, held)] = data.items()
        own = {"execution_id": self.execution.id}
        match sort:
            case "bundle":
                self.bundles.append(_bundle(held))
            case "definition":
                self.definitions.append(_definition(held))
            case "event" if isinstance(held, dict):
                self.events.append(decode(EventRow, held | own))
            case "step" if isinstance(held, dict):
                self.steps.append(_step(decode(StepRow, held | own)))
            case "approval" if isinstance(held, dict):
                self.approvals.append(decode(ApprovalRow, held | own))
            case "turn" if isinstance(held, dict):
                self.turns.append(decode(TurnRow, held | own))
            case "root" if isinstance(held, dict) and self.root is None:
                self.root = _root(decode(RootRow, held | own))
            case "resource" if isinstance(held, dict):
                self.resources.append(_resource(decode(ResourceRow, held | own)))
            case "checkpoint" if isinstance(held, dict):
                self.checkpoints.append(decode(CheckpointRow, held | own))
            case "data_key" if isinstance(held, dict) and self.data_key is None:
                self.data_key = _data_key(decode(DataKeyRow, held | own), self.execution)
            case "sealed" if isinstance(held, dict):
                self.sealed.append(decode(SealedText, held))
            case "end":
                if held != {"lines": number - 1, "sha256": hashed}:
                    raise UnfitError("the lines before are not those that were written")
                self.ended = True
            case _:
                raise UnfitError(f"`{sort}` is unknown")

    def _first(self, data: dict[str, Any]) -> None:
        version = data.get("history")
        if type(version) is not int or set(data) != {"history", "execution"}:
            raise UnfitError("a history begins with its version and its execution")
        if version != VERSION:
            raise UnfitError(f"its version is {version}, this rebuno knows {VERSION}; upgrade rebuno")
        execution = decode(ExecutionRow, data["execution"])
        if execution.lease_until:
            raise UnfitError("somebody runs the execution")
        for text in (execution.input, execution.output):
            _canonical(text)
        for named in (execution.id, execution.agent_id, execution.key or "-"):
            if not 0 < len(named.encode()) <= LONGEST_ID:
                raise UnfitError(f"an id has no or more than {LONGEST_ID} bytes")
        self.execution = execution

    def recording(self, number: int) -> Recording:
        """All of it, after the last line."""
        if self.execution is None or not self.ended:
            raise UnfitError("the file is empty" if not number else "the end is missing")
        if bool(self.execution.seal) is not (self.data_key is not None):
            raise UnfitError("an execution that is sealed has a data key, and no other has one")
        return Recording(
            self.execution,
            tuple(self.events),
            tuple(self.steps),
            tuple(self.approvals),
            tuple(self.bundles),
            tuple(self.turns),
            self.root,
            tuple(self.definitions),
            ResourceRows(tuple(self.resources), tuple(self.checkpoints)),
            self.data_key,
            tuple(self.sealed),
        )


def _bundle(held: object) -> ArchivedBundle:
    match held:
        case {"digest": str(digest), "sources": list(sources), **rest} if not rest:
            pairs = [(pair[0], pair[1]) for pair in sources if isinstance(pair, list) and len(pair) == 2]
            if len(pairs) == len(sources) and all(isinstance(text, str) for pair in pairs for text in pair):
                return ArchivedBundle(digest, tuple(pairs))
    raise UnfitError("a bundle is a digest with its sources")


def _definition(held: object) -> tuple[str, str]:
    match held:
        case {"digest": str(digest), "text": str(text), **rest} if not rest and digest_of(text) == digest:
            described(text)
            return digest, text
    raise UnfitError("a definition is a text with its own digest")


def _data_key(key: DataKeyRow, execution: ExecutionRow) -> DataKeyRow:
    if key.key_id != execution.seal or key.covers not in (ALL, SECRETS) or len(key.wrapped or b"") > LONGEST_ID:
        raise UnfitError("a data key belongs to its execution")
    # Whether the files of another store held it says nothing here.
    return replace(key, purged_at=0.0)


def _step(step: StepRow) -> StepRow:
    for name in NO_COLUMNS:
        # They are said by events, whose hashes are recomputed.
        if getattr(step, name):
            raise UnfitError(f"a Step has the unknown field `{name}`")
    for text in (step.args, step.result, step.error):
        _canonical(text)
    return step


def _root(root: RootRow) -> RootRow:
    for text in (root.input, root.turns, root.read_args):
        _canonical(text)
    return root


def _resource(row: ResourceRow) -> ResourceRow:
    for text in (row.configuration, row.binding):
        _canonical(text)
    return row


def _canonical(text: str | None) -> None:
    if text is not None:
        identity.parse(text)


# ---------------------------------------------------------------- into a store


async def restore(store: Store, recording: Recording) -> ExecutionRow:
    """Adds a recorded execution to a store: same ids, times and hashes, its steps with their places in limits, and
    nobody runs it.

    One that had not ended can be resumed there. Its log says that it was imported; it is judged by the policy of
    anyone who runs it, pinned or not, and has no deadline. The store that it is from may have gone on with it: each
    `at_most_once` step that is new, or was granted and had not started, asks a person before it runs.

    Raises:
        ConflictError: the store has it, or had it, or its agent has another one under its id, or one that has not
            ended in its session.
        StoreCorrupt: its log names limits that are none.
        StoreError
    """
    places, takes = tuple(places_of(recording)), takes_of(recording)
    for bundle in recording.bundles:
        await store.save_bundle(bundle.digest, bundle.sources)
    for digest, text in recording.definitions:
        await store.save_definition(digest, text)
    events = [NewEvent(event.type, event.payload, event.occurred_at) for event in recording.events]
    execution, copied = recording.execution, Copied(recording.steps, recording.approvals)
    external = recording.external
    if not execution.status.terminal:
        execution, more, copied = continued(recording, store.now())
        began, external = taken_over(external)
        events += [*more, *began]
    copied = replace(copied, places=places, takes=takes, turns=recording.turns, root=recording.root, external=external)
    copied = replace(copied, data_key=recording.data_key, sealed=recording.sealed)
    if await raw(store).create(execution, events, copied):
        return await store.execution(execution.id)
    with suppress(NotFoundError):
        await store.execution(execution.id)
        raise ConflictError(f"the store has the execution `{execution.id}` already")
    key, agent = execution.key, execution.agent_id
    if key is not None and (await store.find(agent, key) or await store.tombstone(agent, key)):
        raise ConflictError(f"the store has, or had, an execution of agent `{agent}` with the id `{key}`")
    if execution.session and not execution.status.terminal:
        session = execution.session
        raise ConflictError(f"the session `{session}` of the agent `{agent}` is in use in the store; let it end first")
    raise ConflictError(f"the store had the execution `{execution.id}`, and it was removed since")
