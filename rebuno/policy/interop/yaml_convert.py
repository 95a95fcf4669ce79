"""Converts a YAML bundle of the published Rebuno kernel to rules with the same verdicts, and never a wider one.

Arguments are compared there as texts: a string as it is, anything else as its JSON. `text of` says the same of strings,
numbers and truth values. Of a list, an object or null it does not, so there an allow rule does not match, a deny rule
does, and an approval rule leaves the step to whatever is strictest.

A key with dots is a way into nested objects, and may be an argument's own name. A deny or approval rule matches if one
of the two does; an allow rule only if both do, where both are there.
"""

import json
import re
from typing import Final

from rebuno.policy.format.format import format_bundle
from rebuno.policy.interop.yaml_bundle import SUFFIXES, YamlArgument, YamlBundle, YamlRule, read_yaml_bundle
from rebuno.policy.interop.yaml_notations import duration, glob
from rebuno.policy.syntax.converted import CONVERTED
from rebuno.policy.syntax.keywords import FIXED_IDS
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.text import hidden

_KINDS: Final = {"tool_call": "tool", "llm_call": "llm", "local": "local"}
_HEADS: Final = {"allow": "allow", "deny": "deny", "require_approval": "require approval for"}
_STRICTNESS: Final = {"allow": 0, "require_approval": 1, "deny": 2}
_SCOPES: Final = {
    "execution": "",
    "session": " for each session",
    "agent": " for each agent",
    "global": " for all agents together",
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ODD_ID: Final = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)


def rules_source(source: Source) -> Source:
    """The bundle as rules of the language. A source whose path ends in `.yaml` or `.yml` is converted, without a
    layout; any other source stays as it is.

    Raises:
        BundleError: a YAML bundle has errors.
    """
    return _converted(source) if source.path.endswith(SUFFIXES) else source


def convert_yaml_bundle(source: Source) -> Source:
    """A YAML bundle as the text of an `.rbp` bundle of the same name. A comment at each rule names the original rule,
    and lists its parts that have no effect and are left out.

    Raises:
        BundleError: the YAML bundle has errors.
    """
    made = _converted(source)
    return Source(format_bundle(Source(made.text)), made.path, made.stem)


def _converted(source: Source) -> Source:
    bundle = read_yaml_bundle(source)
    ids = _Ids()
    head = f"# From a YAML bundle.\nbundle {_Ids().give(source.stem)}\ndefault {bundle.default}\n"
    later = _later(bundle)
    rules = (_rule(rule, stricter, ids) for rule, stricter in zip(bundle.rules, later, strict=True))
    return Source(head + "".join(rules), f"{source.path}{CONVERTED}", source.stem)


class _Ids:
    """Unique ids of the language."""

    def __init__(self) -> None:
        self.given: set[str] = set()
        self.last: dict[str, int] = {}

    def give(self, wanted: str) -> str:
        """The unused id that is closest to `wanted`."""
        base = _ODD_ID.sub("-", wanted)
        if base in FIXED_IDS or base.startswith("__") or not _NAME.match(base):
            base = f"rule-{base.lstrip('_-')}"
        found, number = base, self.last.get(base, 1)
        while found in self.given:
            number += 1
            found = f"{base}-{number}"
        self.last[base] = number
        self.given.add(found)
        return found


def _later(bundle: YamlBundle) -> list[set[int]]:
    """The strictness of the verdicts that may come after each rule."""
    found: list[set[int]] = []
    decisions: set[int] = set()
    for rule in reversed(bundle.rules):
        later = set(decisions)
        if rule.kind != "local":
            later.add(_STRICTNESS[bundle.default])
        if rule.kind in ("local", ""):  # such a step is allowed whatever the default says
            later.add(_STRICTNESS["allow"])
        found.append(later)
        decisions.add(_STRICTNESS[rule.decision])
    return found[::-1]


def _rule(rule: YamlRule, later: set[int], ids: _Ids) -> str:
    name = ids.give(rule.id)
    place = f"# Rule {_quoted(rule.id)}, line {rule.line}."
    odd = [_odd(argument) for argument in rule.arguments]
    guarded = ""
    doubted = rule.decision != "allow"
    if rule.decision == "require_approval" and odd:
        doubted = max(later) <= 1
        if not doubted and min(later) == 0:
            guarded = _guard(rule, ids.give(f"{rule.id}-unreadable"), place)
    tests = [_matched(argument, rule.decision, doubted) for argument in rule.arguments]
    comments, clauses = _clauses(rule)
    conditions = [*_conditions(rule), *tests]
    if rule.decision == "require_approval" and odd and not doubted:
        # Where the arguments are no object every test of theirs is in doubt, and doubt asks.
        conditions.insert(0, "args is object")
    when = [f"when {' and '.join(conditions)}"] if conditions else []
    because = [f"because {_quoted(rule.reason)}"] if rule.reason else []
    lines = [
        place,
        *comments,
        f"rule {name} {{",
        f"{_HEADS[rule.decision]} {_subject(rule)}",
        *when,
        *clauses,
        *because,
    ]
    return guarded + "\n".join(lines) + "\n}\n"


def _guard(rule: YamlRule, name: str, place: str) -> str:
    # What the rule would say of such a value is not known, and something stricter may come after it.
    odd = [_odd(argument) for argument in rule.arguments]
    tests = [_matched(argument, rule.decision, True) for argument in rule.arguments]
    conditions = [*_conditions(rule), *(tests if len(tests) > 1 else []), f"({' or '.join(odd)})"]
    return (
        f"{place} A list, an object or null cannot be compared as it does.\nrule {name} {{\ndeny {_subject(rule)}\n"
        f"when {' and '.join(conditions)}\nbecause {_quoted(_UNREADABLE)}\n}}\n"
    )


_UNREADABLE: Final = "an argument that must be a string, a number or a truth value is none"


def _subject(rule: YamlRule) -> str:
    if not rule.targets:
        return f'{_KINDS[rule.kind]} "*"' if rule.kind else "any step"
    patterns = ", ".join(_quoted(glob(pattern)) for pattern in rule.targets[0])
    kinds = [_KINDS[rule.kind]] if rule.kind else list(_KINDS.values())
    return " or ".join(f"{kind} {patterns}" for kind in kinds)


def _conditions(rule: YamlRule) -> list[str]:
    found = [f"target like {_list(tuple(map(glob, patterns)))}" for patterns in rule.targets[1:]]
    for names in rule.agents:
        found.append(f"agent == {_quoted(names[0])}" if len(names) == 1 else f"agent in {_list(names)}")
    return found


def _matched(argument: YamlArgument, decision: str, doubted: bool) -> str:
    """Whether an argument is as a rule wants it. `doubted`: so is one that cannot be compared."""
    ways = [_name(argument.key), *([_way(argument.steps)] if argument.steps else [])]
    if doubted:
        return f"({' or '.join((_odd(argument), *(_all(_tests(argument, way)) for way in ways)))})"
    plain = [f"{way} is not list and {way} is not object and {_all(_tests(argument, way))}" for way in ways]
    if not argument.steps:
        return plain[0]
    name, way = plain
    if decision != "allow":
        objects = [f"{_way(argument.steps[:end])} is object" for end in range(1, len(argument.steps))]
        return f"(({name}) or ({' and '.join([*objects, way])}))"
    # INVARIANT: an allow rule asks for both where both are there. A key of null is there, which `missing` does not see.
    first, last = _way(argument.steps[:1]), _quoted(argument.steps[-1])
    unnamed = f"no text of args == {_quoted(argument.key)}"
    no_way = f"{first} missing or no text of {first} == {last}"
    return f"(({unnamed} and {way}) or ({name} and ({no_way} or ({way}))))"


def _tests(argument: YamlArgument, way: str) -> list[str]:
    text = f"any text of {way}"
    found = []
    if argument.equals is not None:
        found.append(f"{text} == {_quoted(argument.equals)}")
    if argument.contains is not None:
        found.append(f"{text} contains {_quoted(argument.contains)}")
    if argument.one_of:
        found.append(f"{text} in {_list(argument.one_of)}")
    if argument.regex is not None:
        found.append(f"{text} matches {_search(argument.regex)}")
    return found


def _all(tests: list[str]) -> str:
    return tests[0] if len(tests) == 1 else f"({' and '.join(tests)})"


def _odd(argument: YamlArgument) -> str:
    ways = [_name(argument.key), *([_way(argument.steps)] if argument.steps else [])]
    return " or ".join(f"{way} is list or {way} is object or {way} is null" for way in ways)


def _name(key: str) -> str:
    return _way((key,))


def _way(steps: tuple[str, ...]) -> str:
    return "args" + "".join(f".{step}" if _NAME.fullmatch(step) else f"[{_quoted(step)}]" for step in steps)


def _clauses(rule: YamlRule) -> tuple[list[str], list[str]]:
    comments: list[str] = []
    clauses: list[str] = []
    asks = rule.decision == "require_approval"
    if rule.judged:
        comments.append("# It says `judge`: a person decides instead, since a model's answer cannot be recomputed.")
    if rule.rate_limit and rule.decision == "deny":
        comments.append("# Its `rate_limit` is left out: nothing passes that could be counted.")
    elif rule.rate_limit:
        limit = rule.rate_limit
        wait = f" else wait up to {duration(limit.max_wait)}" if limit.max_wait else ""
        per = f"{duration(limit.window)}{_SCOPES[limit.per_what]}"
        clauses.append(f"limit {limit.max_calls} per {per}{wait} if unavailable {limit.on_limiter_error}")
    if rule.budget and rule.decision != "allow":
        comments.append("# Its `budget` is left out: only a rule that allows has one.")
    elif rule.budget:
        asks = rule.budget.on_exceed == "require_approval"
        clauses.append(
            f"budget {rule.budget.max_tokens} tokens per {rule.budget.scope}{' else require approval' if asks else ''}"
        )
    if rule.approval and not asks:
        comments.append("# Its `approval_config` is left out: nobody is asked.")
    elif rule.approval:
        asked = rule.approval
        clauses += [f"approvers {', '.join(map(_quoted, asked.approvers))}"] if asked.approvers else []
        clauses += [f"expires {duration(asked.timeout)}"] if asked.timeout else []
        clauses += [f"message {_quoted(asked.message)}"] if asked.message else []
    return comments, clauses


def _search(pattern: str) -> str:
    # The expression is sought in the text there, and `.` matches no line break; `matches` asks for the whole text.
    whole = f"(?s:.*)(?-s:{pattern}{_unquoted(pattern)})(?s:.*)"
    return f'r"{whole}"' if '"' not in whole and all(map(_seen, whole)) else _quoted(whole)


def _unquoted(pattern: str) -> str:
    # `\Q` without `\E` would take in what stands behind the expression.
    at, quoted = 0, False
    while (at := pattern.find("\\", at)) >= 0:
        pair = pattern[at : at + 2]
        quoted = pair == "\\Q" or (quoted and pair != "\\E")
        at += 1 if quoted and pair != "\\Q" else 2
    return "\\E" if quoted else ""


def _list(items: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_quoted, items))}]"


def _quoted(text: str) -> str:
    # Characters that cannot be seen may not stand in a bundle as they are.
    return "".join(c if _seen(c) else json.dumps(c)[1:-1] for c in json.dumps(text, ensure_ascii=False)).replace(
        "\x7f", "\\u007f"
    )


def _seen(character: str) -> bool:
    return character.isprintable() and (character.isascii() or not hidden(character))
