"""Why a person is asked: the tests that were not answered with yes, where each argument came from, what was done before
in the run, and what the same rule was answered last time."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rebuno.errors import BundleError, NotFoundError
from rebuno.journal.records import ApprovalRow, StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core import facts
from rebuno.kernel.core.heavy import LONG, LONG_FOR_ALL, beside, read
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.origins import background
from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno.model.step import StepStatus
from rebuno.policy import ALL_STEP_FACTS, Facts, Policy, Trace, TraceAnswer, TraceNode, explain_decision, restore_policy

# At most so many arguments, tests, earlier steps and places are told.
_MOST_VALUES: Final = 40
_MOST_TESTS: Final = 40
_MOST_STEPS: Final = 10
_MOST_PLACES: Final = 5
# What is looked through for values, in characters; and the shortest text that is looked for within another one.
_MOST_TEXT: Final = 200_000
_SHORTEST: Final = 4
# What is told of an earlier step's arguments, in characters.
_ARGS: Final = 200


async def why(store: Store, question: ApprovalRow) -> dict[str, Any]:
    """Why the question is asked, as JSON data: `rule`, `bundle`, `reason`, `tests`, `origins`, `before`, `done_before`
    and `last`.

    Raises:
        NotFoundError: its step or execution is gone.
        StoreError
    """
    execution = await store.execution(question.execution_id)
    steps, approvals = await load(store, execution.id, ALL_STEP_FACTS)
    step = steps.get(question.step_id)
    if step is None:
        raise NotFoundError(f"there is no step `{question.step_id}`")
    known, input = await background(store, execution), await read(execution.input)
    past = facts.history(steps.values(), approvals.values())
    looked_at = facts.of_known(step, agent=execution.agent_id, input=input, past=past, background=known)
    earlier = [one for one in steps.values() if one.started_seq and one.decided_seq < step.decided_seq]
    policy: Policy | None = None
    # Another version of the language may not read it any more.
    with suppress(BundleError):
        policy = restore_policy(question.digest, await store.bundle(question.digest) or ())
    size = len(execution.input) + sum(len(one.args) + len(one.result or "") for one in (*earlier, step))
    work = partial(_told, policy, looked_at, step, earlier)
    said = work() if size <= LONG else await beside(work, long=size > LONG_FOR_ALL)
    last = await store.last_answer(question, execution.agent_id)
    return {
        "rule": question.rule_id,
        "bundle": question.bundle or None,
        "reason": step.reason if step.rule_id == question.rule_id else None,
        **said,
        "last": None if last is None else _answer(last),
    }


def _answer(last: ApprovalRow) -> dict[str, Any]:
    return {
        "approval_id": last.id,
        "execution_id": last.execution_id,
        "status": last.status,
        "decided_by": last.decided_by or None,
        "rationale": last.rationale or None,
        "decided_at": rfc3339(last.decided_at) if last.decided_at else None,
    }


def _told(policy: Policy | None, looked_at: Facts, step: StepRow, earlier: Sequence[StepRow]) -> dict[str, Any]:
    # Before it is explained: that counts in the facts.
    origins = _origins(looked_at, earlier)
    trace = None if policy is None else explain_decision(policy, looked_at)
    before = [
        {
            "step_id": one.step_id,
            "kind": one.kind.value,
            "target": one.target,
            "args": _short(one.call_args),
            "status": one.status.value,
        }
        for one in earlier[-_MOST_STEPS:]
    ]
    tests = [] if trace is None else list(_tests(trace))[:_MOST_TESTS]
    return {"tests": tests, "origins": origins, "before": before, "done_before": len(earlier)}


def _short(text: str) -> str:
    return text if len(text) <= _ARGS else f"{text[:_ARGS]}…"


def _tests(trace: Trace) -> Iterator[dict[str, Any]]:
    """The tests of rules about this step that were answered with no or maybe, rule by rule."""
    for layer in trace.layers or (trace,):
        for rule in layer.rules:
            for node in rule.tests:
                for test in _leaves(node):
                    if test.answer is not TraceAnswer.YES and test.counted:
                        told = {"bundle": layer.decision.bundle, "rule": rule.rule_id, "verdict": rule.verdict}
                        yield {**told, "test": test.text, "answer": test.answer.value, "why": test.why}


def _leaves(node: TraceNode) -> Iterator[TraceNode]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


# ---------------------------------------------------------------- where values come from


@dataclass(frozen=True, slots=True)
class _StandsAt:
    source: str
    path: str
    step_id: str
    target: str
    value: Any

    def told(self) -> dict[str, str]:
        said = {"from": self.source, "path": self.path, "step_id": self.step_id, "target": self.target}
        return {name: text for name, text in said.items() if text}


def _origins(looked_at: Facts, earlier: Sequence[StepRow]) -> list[dict[str, Any]]:
    """For each value of the arguments where it stands: in the request, in what the user said later, in results of
    earlier steps; nowhere, if in none of them. It is an aid for people, and decides nothing."""
    places = [*_scalars(looked_at.input, "request", "input", "", "")]
    for number, text in enumerate(looked_at.turns or ()):
        places += _scalars(text, "turn", f"turns[{number}]", "", "")
    for one in earlier:
        if one.status is StepStatus.SUCCEEDED and one.result is not None and len(one.result) <= _MOST_TEXT:
            places += _scalars(identity.parse(one.result), "result", "result", one.step_id, one.target)
    left, kept = _MOST_TEXT, []
    for place in places:
        left -= len(place.value) if isinstance(place.value, str) else 1
        if left < 0:
            break
        kept.append(place)
    found = []
    for value in list(_scalars(looked_at.args, "", "args", "", ""))[:_MOST_VALUES]:
        stands = [place.told() for place in kept if _stands(value.value, place.value)][:_MOST_PLACES]
        found.append({"path": value.path, "stands": stands or [{"from": "nowhere"}]})
    return found


def _scalars(value: Any, source: str, path: str, step_id: str, target: str) -> Iterator[_StandsAt]:
    left: list[tuple[str, Any]] = [(path, value)]
    while left:
        at, one = left.pop(0)
        if isinstance(one, dict):
            left += [(_below(at, key), part) for key, part in one.items()]
        elif isinstance(one, list):
            left += [(f"{at}[{position}]", part) for position, part in enumerate(one)]
        elif one is not None:
            yield _StandsAt(source, at, step_id, target, one)


def _below(at: str, key: str) -> str:
    return f"{at}.{key}" if key.isidentifier() and key.isascii() else f"{at}[{identity.canonical(key)}]"


def _stands(value: Any, place: Any) -> bool:
    if isinstance(value, bool) or isinstance(place, bool):
        return value is place
    if isinstance(value, str) and isinstance(place, str):
        return value == place or (len(value) >= _SHORTEST and value.casefold() in place.casefold())
    if isinstance(value, str) or isinstance(place, str):
        number, text = (place, value) if isinstance(value, str) else (value, place)
        return identity.canonical(number) in "".join(c if c.isalnum() or c in ".-" else " " for c in text).split()
    return bool(value == place)
