"""The case file of a suggestion: each call that was seen, with what the bundle says of it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rebuno.model.clock import rfc3339
from rebuno.model.step import Kind
from rebuno.policy.suggest.seen import SeenCall
from rebuno.policy.values.json_values import MISSING

_LONGEST_NAME: Final = 60
# What a case file may hold, with room for its head.
MOST_BYTES: Final = 1_000_000
MOST_NODES: Final = 190_000
_KINDS: Final = {Kind.TOOL.value: "tool", Kind.LLM.value: "llm"}


def case(call: SeenCall, decision: Any, earlier: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One call as a case. `earlier` are the steps before it that the bundle looks at."""
    facts = call.facts
    turns = [
        {"text": text, "at": rfc3339(at)} if at is not None else text
        for text, at in zip(facts.turns or (), facts.turn_times or [None] * len(facts.turns or ()), strict=False)
    ]
    told: dict[str, Any] = {
        "kind": _KINDS.get(facts.kind, facts.kind) if facts.kind != Kind.TOOL.value else None,
        "target": facts.target,
        "args": facts.args if facts.kind == Kind.TOOL.value else {},
        "parent": facts.parent if isinstance(facts.parent, str) else None,
        "input": facts.input,
        "root_input": facts.root_input,
        "turns": turns or None,
        "workdir": facts.workdir or None,
        "history": list(earlier) or None,
        "expect": decision.verdict.value,
        "expect_rule": decision.rule_id,
    }
    # Without a line the arguments would be an empty object.
    return {key: value for key, value in told.items() if value is not None or key == "args"}


def expressible(call: SeenCall) -> bool:
    """Whether a case file can say all that the step's verdict rests on."""
    return not call.facts.root_turns and call.facts.read_args is MISSING and isinstance(call.facts.parent, str | None)


def earlier_step(call: SeenCall, *, approved: bool) -> dict[str, Any]:
    """A call as a step of a history."""
    told: dict[str, Any] = {"target": call.facts.target, "args": call.facts.args, "approved": approved or None}
    if call.result is not MISSING:
        told["result"] = call.result
    else:
        told["status"] = "failed"
    return {key: value for key, value in told.items() if value is not None or key in ("args", "result")}


@dataclass(frozen=True, slots=True)
class CaseText:
    """The text of a case file, and how many cases had no place in it."""

    text: str
    left_out: int


def case_file(agent: str, cases: Sequence[Mapping[str, Any]], bundle: str) -> CaseText:
    """The case file. Equal cases stand in it once. A case file has a largest size; where that is reached, the first
    cases of each rule come before the others."""
    distinct = {json.dumps(one, sort_keys=True): one for one in cases}.values()
    texts = [_case(number, one) for number, one in enumerate(distinct, 1)]
    kept = _kept(list(distinct), texts)
    left_out = len(texts) - len(kept)
    lines = [f"# Every call that {bundle} was suggested from, with what it says of it."]
    if left_out:
        lines = [f"# Calls that {bundle} was suggested from, with what it says of them; {left_out} are too many."]
    if agent:
        lines.append(f"agent_id: {_json(agent)}")
    lines += ["cases:", *(texts[number] for number in kept)] if kept else ["cases: []"]
    return CaseText("\n".join([*lines, ""]), left_out)


def _kept(cases: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[int]:
    """The numbers of the cases that fit into one file."""
    turn: Counter[tuple[str, str]] = Counter()
    order = []
    for number, one in enumerate(cases):
        key = (one["target"], one["expect_rule"])
        order.append((turn[key], number))
        turn[key] += 1
    kept = []
    size = nodes = 0
    for _, number in sorted(order):
        size += len(texts[number]) + 1
        # Each scalar, and each list or object, has a comma, a colon or a bracket beside it.
        nodes += sum(map(texts[number].count, ",:[{"))
        if size > MOST_BYTES or nodes > MOST_NODES:
            break
        kept.append(number)
    return sorted(kept)


def _case(number: int, one: Mapping[str, Any]) -> str:
    named = f"{one['target'][:_LONGEST_NAME]}, case {number}"
    lines = [f"  - name: {_json(named)}"]
    for field, value in one.items():
        if field == "history":
            lines.append("    history:")
            lines += [f"      - {_json(step)}" for step in value]
        else:
            lines.append(f"    {field}: {_json(value)}")
    return "\n".join(lines)


def _json(value: Any) -> str:
    # JSON is YAML but for what lies beyond 16 bits. All beyond ASCII is escaped, so that nothing is taken for YAML.
    return "".join(map(_escaped, json.dumps(value, ensure_ascii=False)))


def _escaped(char: str) -> str:
    if " " <= char <= "~":
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
