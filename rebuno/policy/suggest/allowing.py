"""The rule that allows a call with just its arguments."""

from collections.abc import Mapping
from typing import Any, Final

from rebuno.policy.matcher.policy import Policy
from rebuno.policy.suggest.text import operand, pattern, quoted
from rebuno.policy.syntax import tree

_KINDS: Final = {"tool_call": "tool", "llm_call": "llm", "local": "local"}


def allowing_rule(name: str, kind: str, target: str, args: Mapping[str, Any], because: str) -> str:
    """The text of a rule that allows calls of these arguments, each a scalar, and no others."""
    tests = [
        f"{operand('args', (key,))} missing" if value is None else f"{operand('args', (key,))} == {quoted(value)}"
        for key, value in sorted(args.items())
    ]
    names = ", ".join(quoted(key) for key in sorted(args))
    tests.append(f"every key of args in [{names}]" if args else "no key of args given")
    when = "\n   and ".join(tests)
    head = f"  allow {_KINDS[kind]} {pattern(target)}\n"
    return f"rule {name} {{\n{head}  when {when}\n  because {quoted(because)}\n}}"


def rule_places(policy: Policy, bundle: str, rule_id: str) -> tuple[str, str, int] | None:
    """The path and the text of a bundle, and where in it a rule begins; None where there is no such rule."""
    for one in policy.bundles:
        for line in one.statements if one.name == bundle else ():
            if isinstance(line, tree.Rule) and line.id.text == rule_id:
                return one.path or f"{bundle}.rbp", one.text, line.span.start
    return None
