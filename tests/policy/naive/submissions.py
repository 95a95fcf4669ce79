"""Hypothesis strategies for submissions and their pasts: few names and numbers, so that tests hit."""

from copy import copy
from typing import Any, Final

from hypothesis import strategies as st

from rebuno.model.step import StepStatus
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.values.json_values import MISSING
from tests.policy.naive.constructs import on

NAMES: Final = ["ann", "ann", "bob", "bob", "Ann", "ann bob", "ann-4711", ""]
NUMBERS: Final = [0, 1, 1, 2, 2.0, 50, 0.1, -1]
ODD: Final[list[Any]] = [None, [], {}, True, "1", "50", 4711, ["ann"], {"to": "ann"}, "\ud800"]
TEXTS: Final = [
    "ann", "to ann, 50", "pay Bob 2.", "bob's 1", "k=ann-4711", "ann%2D4711 it is", "a n n - 4 7 1 1", "4711",
    "ann bob", "x", "",
]  # fmt: skip
DIGESTS: Final = ["d1", "d2"]
LET_IN: Final[list[Any]] = ["allowed", "allowed", "approved", "approved", "granted", "", None]
START: Final = 1_000_000.0

names = st.sampled_from(NAMES)
numbers = st.sampled_from(NUMBERS)
odd = st.sampled_from(ODD)
texts = st.sampled_from(TEXTS)


def mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The usual values, and an odd one at times."""
    return st.one_of(usual, usual, usual, usual, odd)


row = st.fixed_dictionaries(
    {}, optional={"to": mostly(names), "by": mostly(names), "n": mostly(numbers), "l": st.lists(names, max_size=2)}
)
full_row = st.fixed_dictionaries({"to": names, "by": names, "n": numbers, "t": texts, "l": st.lists(names, max_size=2)})
rows = st.one_of(row, full_row, full_row)
keyed = st.dictionaries(st.sampled_from(["ann", "bob", "k"]), st.one_of(rows, rows, names, odd), max_size=2)
arguments = st.fixed_dictionaries(
    {},
    optional={
        "to": mostly(names),
        "n": mostly(numbers),
        "t": mostly(texts),
        "l": mostly(st.lists(st.one_of(names, names, odd), max_size=3)),
        "rows": mostly(st.lists(st.one_of(rows, rows, odd), max_size=2)),
        "m": mostly(keyed),
    },
)
full_arguments = st.fixed_dictionaries(
    {
        "to": names,
        "n": numbers,
        "t": texts,
        "l": st.lists(names, max_size=2),
        "rows": st.lists(full_row, max_size=2),
        "m": keyed,
    }
)
args = st.one_of(full_arguments, full_arguments, arguments, arguments, odd)
results = st.one_of(
    st.lists(full_row, min_size=1, max_size=2),
    st.lists(full_row, min_size=1, max_size=3),
    st.lists(rows, max_size=2),
    keyed,
    full_row,
    st.lists(names, max_size=2),
    texts,
    odd,
)
inputs = st.one_of(
    st.fixed_dictionaries({"request": texts}, optional={"who": names, "l": st.lists(texts, max_size=2)}),
    st.fixed_dictionaries({"request": mostly(texts), "who": mostly(names), "n": mostly(numbers)}),
    st.one_of(texts, odd),
)
turns = st.one_of(st.none(), st.lists(texts, max_size=2))
definitions = st.one_of(
    st.none(),
    st.fixed_dictionaries({"server": names, "name": st.just("pay")}, optional={"digest": st.sampled_from(DIGESTS)}),
)
errors = st.one_of(
    st.none(),
    st.fixed_dictionaries({"type": st.sampled_from(["Late", "ann", "subagent_failed"]), "message": texts}),
    st.fixed_dictionaries({"reason": st.sampled_from(["indeterminate", "policy_revoked"]), "message": texts}),
)
ENDS: Final = [
    StepStatus.SUCCEEDED,
    StepStatus.SUCCEEDED,
    StepStatus.SUCCEEDED,
    StepStatus.FAILED,
    StepStatus.CANCELLED,
    StepStatus.DENIED,
    StepStatus.EXECUTING,
]


@st.composite
def pasts(draw: st.DrawFn, least: int = 0) -> History:
    """Steps in every state, some of them recorded in several pieces, and arguments that a person approved. `least` is
    the least number of pieces."""
    seq = 0
    running: list[Evidence] = []
    evidence: list[Evidence] = []
    for number in range(draw(st.sampled_from([size for size in (0, 2, 3, 4, 5, 6, 7) if size >= least]))):
        seq += draw(st.sampled_from([1, 1, 1, 2]))
        if running and draw(st.sampled_from([True, False])):
            start = draw(st.sampled_from(running))
            status = draw(st.sampled_from(ENDS))
            piece = _piece(draw, seq, status, start.kind, start.target, start.args, start.step)
            piece.at, piece.let_in, piece.definition = start.at, start.let_in, start.definition
            piece.submitted = start.submitted
            for name in {"submitted_at"}.intersection(Evidence.__slots__):
                setattr(piece, name, getattr(start, name))
            if status is not StepStatus.EXECUTING:
                running.remove(start)
        else:
            kind = draw(st.sampled_from(["tool_call", "tool_call", "tool_call", "tool_call", "local"]))
            target = draw(st.sampled_from(["pay", "list", "list", "see"]))
            status = draw(st.sampled_from([StepStatus.EXECUTING, *ENDS]))
            # A step that is told in one piece has no id.
            step = f"s{number}" if status is StepStatus.EXECUTING or draw(st.sampled_from([True, False])) else ""
            piece = _piece(draw, seq, status, kind, target, draw(args), step)
            if on("since"):
                piece.submitted = draw(st.sampled_from([seq, seq, max(1, seq - 1), max(1, seq - 2)]))
            if on("within"):
                piece.at = draw(st.sampled_from([None, *(START + shift for shift in (0, 30, 60, 90, 120, 200))]))
                earlier = draw(st.sampled_from([0, 0, 30, 60]))
                for name in {"submitted_at"}.intersection(Evidence.__slots__):
                    setattr(piece, name, None if piece.at is None else piece.at - earlier)
            piece.let_in = "allowed"
            if on("who") or on("who in known"):
                piece.let_in = draw(st.sampled_from(LET_IN))
            if on("definition"):
                piece.definition = draw(definitions)
            if status is StepStatus.EXECUTING:
                running.append(piece)
        evidence.append(piece)
        if draw(st.integers(0, 5)) == 0:
            evidence.append(Evidence(seq, "tool_call", "pay", draw(args), approved=True, step=piece.step))
    return History(evidence)


def _piece(draw: st.DrawFn, seq: int, status: StepStatus, kind: str, target: str, given: Any, step: str) -> Evidence:
    result = draw(results) if status is StepStatus.SUCCEEDED else None
    piece = Evidence(seq, kind, target, given, result, status=status, step=step)
    if on("error") and status is StepStatus.FAILED:
        piece.error, piece.nothing_done = draw(errors), draw(st.sampled_from([True, False, None]))
    return piece


@st.composite
def submissions(draw: st.DrawFn) -> Facts:
    """One submission."""
    facts = Facts(
        draw(st.sampled_from(["tool_call", "tool_call", "tool_call", "tool_call", "local", "llm_call"])),
        draw(st.sampled_from(["pay", "pay", "pay", "list", "see"])),
        draw(args),
        agent=draw(st.sampled_from(["bot", "ann"])),
        input=draw(inputs),
        history=draw(st.one_of(st.none(), pasts(), pasts(), pasts(), pasts())),
        parent=draw(st.sampled_from(["", "", "", "bot"])),
    )
    if on("as of"):
        facts.as_of = draw(st.one_of(st.none(), st.none(), st.integers(0, 9)))
    if on("within"):
        facts.now = draw(st.sampled_from([None, START + 120, START + 120, START + 150]))
    if on("delegation"):
        for name in {"delegated"}.intersection(Facts.__slots__):
            setattr(facts, name, bool(facts.parent) or draw(st.sampled_from([True, False])))
        facts.root_input = draw(inputs)
        facts.root_turns = draw(turns)
        facts.read_args = draw(st.one_of(st.just(MISSING), args))
    if on("turns"):
        facts.turns = draw(turns)
    if on("definition"):
        facts.definition = draw(definitions)
    return facts


def afresh(given: Facts) -> Facts:
    """The same submission, with a history that no policy has read."""
    again = copy(given)
    if given.history is not None:
        again.history = History(given.history.evidence)
    return again


def described(facts: Facts) -> str:
    """The submission for a failure's message, without what nobody set."""
    fields = {name: getattr(facts, name, None) for name in Facts.__slots__}
    lines = [
        f"{name} = {value!r}" for name, value in fields.items() if value not in (None, "", False) and name != "history"
    ]
    for one in facts.history.evidence if facts.history else []:
        told = {name: getattr(one, name) for name in Evidence.__slots__}
        lines.append(str({name: str(value) for name, value in told.items() if value not in (None, "", False, 0)}))
    return "\n".join(lines)
