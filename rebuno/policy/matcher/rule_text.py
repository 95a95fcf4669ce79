"""What a grant that outlives its execution rests on: the text of one rule with all that it uses, and values that must
stay known."""

from dataclasses import fields, is_dataclass, replace
from enum import Enum
from hashlib import sha256
from typing import Any, Final

from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.policy.matcher.build import from_tree
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.spans import Span

_KINDS: Final = {"tool_call": "tool", "llm_call": "llm", "local": "local"}
# How values are read, whatever names a rule uses.
_EVERYWHERE: Final = (tree.Workdir, tree.Home, tree.Zone, tree.EffectTables)


def rule_digest(policy: Policy, bundle: str, rule_id: str) -> str:
    """The SHA-256 of a rule and of what it uses, however that is laid out, as hex digits: another change of the bundle
    leaves it. Empty where there is no such rule."""
    for one in policy.bundles:
        if one.name == bundle:
            rules = [line for line in one.statements if isinstance(line, tree.Rule) and line.id.text == rule_id]
            return _digest(one, rules[0]) if rules else ""
    return ""


def rules_in(text: str) -> list[tuple[str, str, str]]:
    """The bundle, the id and the verdict of each rule in the text of a bundle; what cannot be read has none."""
    bundle, _ = parse_bundle(Source(text, stem="bundle"))
    return [(bundle.name, line.id.text, line.verdict) for line in bundle.statements if isinstance(line, tree.Rule)]


def rule_expires(policy: Policy, bundle: str, rule_id: str) -> int | None:
    """How old a grant may be by a rule, in seconds; None where it does not say it."""
    for one in policy.bundles:
        for line in one.statements if one.name == bundle else ():
            if isinstance(line, tree.Rule) and line.id.text == rule_id:
                return next((c.duration.seconds for c in line.clauses if isinstance(c, tree.Expires)), None)
    return None


def known_sets(policy: Policy, bundle: str) -> frozenset[str]:
    """The names of the `known` sets of a bundle."""
    return frozenset(
        line.name.text
        for one in policy.bundles
        if one.name == bundle
        for line in one.statements
        if isinstance(line, tree.Known)
    )


def known_digest(policy: Policy, bundle: str, name: str) -> str:
    """As `rule_digest`, of a `known`."""
    for one in policy.bundles:
        if one.name == bundle:
            for line in one.statements:
                if isinstance(line, tree.Known) and line.name.text == name:
                    return _digest(one, line)
    return ""


def surely_known(policy: Policy, bundle: str, facts: Facts, argument: str, name: str) -> bool:
    """Whether an argument of a submission is for sure in a `known` of a bundle."""
    for one, source in zip(policy.bundles, policy.layers, strict=False):
        if one.name != bundle or name not in known_sets(policy, bundle):
            continue
        head = f"allow {_KINDS[facts.kind]} {identity.canonical(facts.target)}"
        text = f"rule standing {{ {head} when args[{identity.canonical(argument)}] in {name} }}\n"
        rule, found = parse_bundle(Source(text, "<grant>"))
        if found:
            return False
        kept = tuple(line for line in one.statements if not isinstance(line, tree.Rule | tree.Never | tree.Default))
        asked = replace(one, statements=(*kept, *rule.statements))
        decided = from_tree(asked, source.sources[0]).decide(facts)
        return decided.verdict is Verdict.ALLOW and decided.rule_id == "standing"
    return False


def _digest(bundle: tree.Bundle, statement: tree.Statement) -> str:
    named: dict[str, list[Any]] = {}
    parts = [_plain(statement)]
    for line in bundle.statements:
        if isinstance(line, tree.Let | tree.Known | tree.Condition | tree.NamedLimit):
            named.setdefault(line.name.text, []).append(_plain(line))
        elif isinstance(line, _EVERYWHERE):
            parts.append(_plain(line))
    left, used = [*_texts(parts)], set()
    while left:
        name = left.pop()
        if name in named and name not in used:
            used.add(name)
            left += _texts(named[name])
    parts += [named[name] for name in sorted(used)]
    return sha256(identity.canonical(parts).encode()).hexdigest()


def _plain(node: Any) -> Any:
    """A node without its places, as a JSON value."""
    if isinstance(node, tuple):
        return [_plain(part) for part in node]
    if is_dataclass(node):
        values = (getattr(node, field.name) for field in fields(node))
        return [type(node).__name__, *[_plain(value) for value in values if not isinstance(value, Span)]]
    if isinstance(node, Enum):
        return str(node.value)
    return node


def _texts(parts: Any) -> list[str]:
    found, left = [], [parts]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, str):
            found.append(one)
    return found
