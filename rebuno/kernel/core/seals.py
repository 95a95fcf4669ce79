"""What is sealed in one execution: how its steps are named, what of its texts is written as marks, and what of them is
kept as ciphertext beside."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Final

from rebuno.errors import NotJSON
from rebuno.journal.records import NewEvent, StepRow
from rebuno.journal.words import RootRow
from rebuno.kernel.core.effects import Identified
from rebuno.model import identity
from rebuno.model.obligation import Limit
from rebuno.policy import Facts, Measured, Parts, SealedPlaces, SealedValues, in_text, leaves, sealed_at
from rebuno.sealing import ExecutionKey, KeyRing

# The purposes of the ring's digests.
_IDENTITY: Final = "identity"
# What events say in words; the rest of them are names, numbers and hashes.
_WORDS: Final = ("reason", "message", "rationale", "raised", "call", "failure_reason")
# So many digests of 8 digits name a pot.
_POT_DIGESTS: Final = 8
# Of so many steps at once the output is kept back.
_MOST_PIECES: Final = 100
_RAISED: Final = "raised"
# The lengths at which the texts of an exception are cut; see `rebuno.model.raised`.
_CUT_AT: Final = (120, 200, 300, 1000)
# Where a value was sealed that is of no step.
INPUT: Final = "input"


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A value that is looked for in everything that is written later; `step_id` and `target` are those of the step that
    sealed it, the input has neither."""

    value: str | int | float
    step_id: str = ""
    target: str = ""


class Seals:
    """What is sealed in the execution of a `key`. `places` are those of the policy that it began under, and what it
    takes along from others. `whole`: every payload is sealed besides."""

    def __init__(self, ring: KeyRing, key: ExecutionKey, places: SealedPlaces, *, whole: bool = False) -> None:
        self.execution_id = key.execution_id
        self.key = key
        self.places = places
        self.whole = whole
        self._ring = ring
        self._ring_key = ring.key(key.key_id, execution_id=key.execution_id)
        self._lock = RLock()
        self._values = SealedValues(self.mark)
        self._known: list[SealedValue] = []
        # Values that have not been written yet.
        self._unwritten: list[SealedValue] = []
        # What is kept back of the output of steps.
        self._pieces: dict[str, str] = {}
        # The arguments that were masked last.
        self._latest: tuple[str, str, int, str] | None = None

    # ------------------------------------------------------------ identity

    def args_hash(self, canonical_text: str) -> str:
        """As `identity.args_hash`, keyed."""
        return self.digest(canonical_text)

    def digest(self, text: str) -> str:
        """What stands for a text's SHA-256: keyed, 64 hex digits."""
        return self._ring_key.digest(_IDENTITY, text.encode()).hex()

    def step_id(self, scope_id: str, kind: str, target: str, args_hash: str, occurrence: int) -> str:
        """As `identity.step_id`, keyed."""
        return self._ring_key.digest(
            _IDENTITY, identity.step_bytes(scope_id, kind, target, args_hash, occurrence)
        ).hex()

    def mark(self, value: Any) -> str:
        """The digest that is shown for a value."""
        return f"#{self._ring.mark(identity.canonical(value).encode())}"

    def measured(self, limit: Limit, found: Measured, kind: str, target: str) -> Measured:
        """What a limit measures, with a keyed digest in the place of that of a sealed value. It stays when the ring's
        current key changes, so that a new key opens no new pot."""
        if limit.key is None or not self.places.of_value(limit.key, kind, target):
            return found
        parts = (self._ring.mark(f"pot {number} {found.key}".encode()) for number in range(_POT_DIGESTS))
        return Measured(found.amount, "".join(parts))

    # ------------------------------------------------------------ values

    @property
    def quiet(self) -> bool:
        """Whether nothing is sealed, so that texts are written as they are."""
        return not self.places and not self._values

    def learn(self, known: Iterable[SealedValue], *, on_record: bool = True) -> None:
        """Takes in values, which stand in this execution's own record already, or have yet to be written to it."""
        for one in known:
            if self._add(one) and not on_record:
                self._unwritten.append(one)

    def _add(self, one: SealedValue) -> bool:
        with self._lock:
            if not self._values.add(one.value):
                return False
            self._known.append(one)
            return True

    def _seal(self, values: Iterable[Any], step_id: str, target: str) -> set[Any]:
        """Takes in what was found at sealed places; all its texts and numbers."""
        found = {leaf for value in values for leaf in leaves(value)}
        for leaf in sorted(found, key=repr):
            one = SealedValue(leaf, step_id, target)
            if self._add(one):
                self._unwritten.append(one)
        return found

    def take(self) -> list[SealedValue]:
        """The values that must be written with the next batch."""
        with self._lock:
            found, self._unwritten = self._unwritten, []
        return found

    def give_back(self, values: Iterable[SealedValue]) -> None:
        """They were not written."""
        with self._lock:
            self._unwritten.extend(values)

    def all(self) -> list[SealedValue]:
        """Every value that is looked for."""
        with self._lock:
            return list(self._known)

    # ------------------------------------------------------------ what is written

    def args(self, step: StepRow | Identified) -> str:
        """The arguments of a step as they are written."""
        if self.quiet:
            return step.args
        latest = self._latest
        if latest is not None and latest[:3] == (step.step_id, step.args, len(self._values)):
            return latest[3]
        value = identity.parse(step.args)
        text = self._written(self._masked_args(value, step.kind, step.target, step.step_id), value)
        self._latest = (step.step_id, step.args, len(self._values), text)
        return text

    def result(self, step: StepRow) -> str | None:
        """The result of a step as it is written."""
        if step.result is None or self.quiet:
            return step.result
        value = identity.parse(step.result)
        cut, found = sealed_at(value, self.places.of_result(step.kind, step.target), self.mark)
        also = self._seal(found, step.step_id, step.target)
        return self._written(self._masked(cut, also), value)

    def written(self, step: StepRow) -> StepRow:
        """The row of a step as it is written."""
        args, result = self.args(step), self.result(step)
        error = None if step.error is None else self.json(step.error)
        return replace(step, args=args, result=result, error=error, reason=self.text(step.reason))

    def input(self, text: str) -> str:
        """The input as it is written."""
        if self.quiet:
            return text
        return self._at(text, self.places.input)

    def root(self, root: RootRow) -> RootRow:
        """What the user wrote to the root, as it is written."""
        if self.quiet:
            return root
        read = None if root.read_args is None else self._at(root.read_args, self.places.read_args)
        return replace(root, input=self._at(root.input, self.places.root), turns=self.json(root.turns), read_args=read)

    def json(self, text: str) -> str:
        """Any other canonical JSON as it is written."""
        return text if self.quiet else self._at(text, ())

    def _at(self, text: str, places: Sequence[Parts]) -> str:
        value = identity.parse(text)
        cut, found = sealed_at(value, places, self.mark)
        also = self._seal(found, "", INPUT)
        return self._written(self._masked(cut, also), value)

    def text(self, text: str) -> str:
        """A plain text as it is written."""
        if not text or self.quiet:
            return text
        with self._lock:
            return self._values.text(text)

    def piece(self, step_id: str, data: str) -> str:
        """A piece of a step's output as it is shown. What may be the beginning of a sealed value is kept back until the
        next piece says; of a step that has ended nobody needs the rest, which stands in its result."""
        if self.quiet:
            return data
        with self._lock:
            whole = self._pieces.pop(step_id, "") + data
            at = self._values.begins(whole)
            if at < len(whole):
                self._pieces[step_id] = whole[at:]
                while len(self._pieces) > _MOST_PIECES:
                    self._pieces.pop(next(iter(self._pieces)))
            return self._values.text(whole[:at])

    def value(self, value: Any) -> Any:
        """A JSON value as it is shown."""
        return value if self.quiet else self._masked(value)

    def _masked_args(self, value: Any, kind: str, target: str, step_id: str) -> Any:
        cut, found = sealed_at(value, self.places.of_args(kind, target), self.mark)
        return self._masked(cut, self._seal(found, step_id, target))

    def _masked(self, value: Any, also: Collection[Any] = ()) -> Any:
        with self._lock:
            return self._values.masked(value, also=also)

    def _written(self, masked: Any, value: Any) -> str:
        try:
            return identity.canonical(masked)
        except NotJSON:
            # Marks are longer than what they stand for.
            return identity.canonical({"secret": self.mark(value)})

    def shown_facts(self, step_id: str, facts: Facts) -> Facts:
        """The facts of a step with marks, for texts that tell of them."""
        shown = copy(facts)
        shown.args = self._masked_args(facts.args, facts.kind, facts.target, step_id)
        shown.input = self._masked(sealed_at(facts.input, self.places.input, self.mark)[0])
        shown.turns = self._masked(facts.turns)
        shown.shown = None
        return shown

    def shows(self, step: StepRow | Identified) -> bool:
        """Whether a mark stands in the arguments of a step as they are written."""
        return self.args(step) != step.args

    def named(self, text: str, args: str) -> str:
        """The message of a question, which names the step that sealed each value whose mark stands in it or in the
        arguments as they are written."""
        lines = [text] if text else []
        for one in self._known:
            digest = self.mark(one.value)
            if digest in text or digest in args:
                by = f"the step `{one.target}` ({one.step_id[:12]})" if one.step_id else "the input"
                lines.append(f"{in_text(digest)} was sealed by {by}")
        return "\n".join(lines)

    # ------------------------------------------------------------ events

    def event(
        self,
        event: NewEvent,
        hashes: Mapping[str, str],
        kept: Mapping[str, str | None],
        own: Collection[Any] = (),
    ) -> NewEvent:
        """An event as it is written: `hashes` take the place of its own, `kept` are the texts that stand in the rows it
        speaks of, and its words have marks in them. `own` are the texts and numbers at the sealed places of its step's
        arguments, which are sealed where they stand alone."""
        payload = event.payload
        assert isinstance(payload, dict)
        made = {**payload, **{name: keyed for name, keyed in hashes.items() if name in payload}}
        if not self.quiet:
            for word in _WORDS:
                if made.get(word):
                    made[word] = self._masked(made[word] if word != _RAISED else _as_cut(made[word]), own)
            if isinstance(payload.get("call"), dict):
                made["call"] = self._call(made["call"], payload["call"], kept=not own)
        stands = {name: identity.args_hash(text) for name, text in kept.items() if text is not None}
        if stands:
            made["kept"] = stands
        return NewEvent(event.type, made, event.occurred_at)

    def _call(self, masked: dict[str, Any], call: dict[str, Any], *, kept: bool) -> dict[str, Any]:
        """A call as its host wrote it; where its step has sealed arguments only a hash of it."""
        if "raw_hash" in call:
            return {**masked, "raw_hash": self.digest(str(call["raw_hash"]))}
        if "raw" not in call or kept:
            return masked
        rest = {name: value for name, value in masked.items() if name != "raw"}
        return {**rest, "raw_hash": self.digest(identity.canonical(call["raw"]))}

    def own(self, step: StepRow) -> set[Any]:
        """The texts and numbers at the sealed places of a step's arguments."""
        places = self.places.of_args(step.kind, step.target)
        if not places:
            return set()
        _, found = sealed_at(identity.parse(step.args), places, self.mark)
        return {leaf for value in found for leaf in leaves(value)}


def _as_cut(value: Any) -> Any:
    """What is kept of an exception, with a sign at the end of each text that may have been cut."""
    if isinstance(value, dict):
        return {key: _as_cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_cut(item) for item in value]
    return f"{value}…" if isinstance(value, str) and len(value) in _CUT_AT else value


def sealed_slots(step: StepRow, written: StepRow, *, fresh: bool) -> Iterator[tuple[str, str]]:
    """What of a step is kept as ciphertext, by slot: the texts that are written with marks; of one that is not `fresh`
    what may have come since."""
    for name in ("args", "reason", "result", "error") if fresh else ("result", "error"):
        clear = getattr(step, name)
        if clear is not None and clear != getattr(written, name):
            yield f"step:{step.step_id}:{name}", clear
