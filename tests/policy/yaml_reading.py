"""A second reading of YAML bundles, straight from their data: what a converted bundle is held to."""

import json
import re
from typing import Any

import re2
import yaml


def verdict(text: str, kind: str, target: str, args: Any, agent: str) -> str:
    """The decision of the first rule that matches, tried by priority where there is one, else from the top."""
    data = yaml.load(text, Loader=yaml.BaseLoader)  # every scalar is text, as it is written
    rules = data.get("rules", [])
    if rules and "priority" in rules[0]:
        rules = sorted(rules, key=lambda rule: int(rule["priority"]))
    for rule in rules:
        if _matches(rule.get("when") or {}, kind, target, args, agent):
            return str(rule["then"]["decision"])
    return "allow" if kind == "local" else str(data.get("default_action", "deny"))


def _matches(when: dict[str, Any], kind: str, target: str, args: Any, agent: str) -> bool:
    if "target" in when and not _glob(when["target"], target):
        return False
    if "targets" in when and not any(_glob(pattern, target) for pattern in when["targets"]):
        return False
    if "agent_id" in when and when["agent_id"] != agent:
        return False
    if "agent_ids" in when and agent not in when["agent_ids"]:
        return False
    if "step_kind" in when and when["step_kind"] != kind:
        return False
    for key, wanted in when.get("arguments", {}).items():
        if not isinstance(args, dict) or key not in args:
            return False
        value = args[key]
        said = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        if "equals" in wanted and said != wanted["equals"]:
            return False
        if "contains" in wanted and wanted["contains"] not in said:
            return False
        if "one_of" in wanted and said not in wanted["one_of"]:
            return False
        if "regex" in wanted and re2.search(wanted["regex"], said) is None:
            return False
    return True


def _glob(pattern: str, name: str) -> bool:
    # `*` and `?` pass over everything; in a class `^` negates and `\\` escapes.
    parts = re.findall(r"\\.|\[\^?(?:\\.|[^\]\\])+\]|.", pattern, re.DOTALL)
    signs = {"*": ".*", "?": "."}
    made = [signs.get(p) or (p if p[0] == "[" and len(p) > 1 else re.escape(p.removeprefix("\\"))) for p in parts]
    return re.fullmatch("".join(made), name, re.DOTALL) is not None
