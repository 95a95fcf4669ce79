"""The case file of a suggestion: each call that was seen, with what the bundle says of it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rebuno.model.clock import rfc3339
from rebuno.model.step import Kind
from rebuno.policy.suggest.seen import SeenCall
from rebuno.policy.values.json_values import MISSING

_LONGEST_NAME: Final = 60
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
        "args": facts.args,
        "parent": facts.parent if isinstance(facts.parent, str) else None,
        "input": facts.input,
        "root_input": facts.root_input,
        "turns": turns or None,
        "workdir": facts.workdir or None,
        "history": list(earlier) or None,
        "expect": decision.verdict.value,
        "expect_rule": decision.rule_id,
    }
    return {key: value for key, value in told.items() if value is not None}


def earlier_step(call: SeenCall, *, approved: bool) -> dict[str, Any]:
    """A call as a step of a history."""
    told: dict[str, Any] = {"target": call.facts.target, "args": call.facts.args, "approved": approved or None}
    if call.result is not MISSING:
        told["result"] = call.result
    else:
        told["status"] = "failed"
    return {key: value for key, value in told.items() if value is not None}


def case_file(agent: str, cases: Sequence[Mapping[str, Any]], bundle: str) -> str:
    """The text of a case file. Equal cases stand in it once."""
    lines = [f"# Every call that {bundle} was suggested from, with what it says of it."]
    if agent:
        lines.append(f"agent_id: {_json(agent)}")
    if not cases:
        return "\n".join([*lines, "cases: []", ""])
    lines.append("cases:")
    seen: dict[str, int] = {}
    for one in cases:
        key = json.dumps(one, sort_keys=True)
        if key in seen:
            continue
        seen[key] = len(seen) + 1
        name = f"{one['target'][:_LONGEST_NAME]}, case {len(seen)}"
        lines.append(f"  - name: {_json(name)}")
        for field, value in one.items():
            if field == "history":
                lines.append("    history:")
                lines += [f"      - {_json(step)}" for step in value]
            else:
                lines.append(f"    {field}: {_json(value)}")
    return "\n".join([*lines, ""])


def _json(value: Any) -> str:
    # JSON is YAML; all beyond ASCII is escaped, so that nothing in a value can be taken for YAML.
    return json.dumps(value)
