"""What the names and the roots of paths stand for where a test is asked."""

from dataclasses import dataclass, field, replace
from typing import Any

from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax import tree
from rebuno.policy.values.globs import glob
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri
from tests.policy.naive.steps import PastStep, past_steps

KINDS = {"tool": "tool_call", "llm": "llm_call", "local": "local"}


@dataclass(frozen=True)
class Names:
    """What a bundle defines."""

    lets: dict[str, Any]
    knowns: dict[str, tree.Known]
    conditions: dict[str, tree.Condition]


@dataclass(frozen=True)
class Scope:
    """Where a test stands: in a rule, or in a `where` about an earlier step (`step`)."""

    names: Names
    facts: Facts
    roots: dict[str, Any]
    step: PastStep | None = None
    steps: list[PastStep] = field(default_factory=list)

    def block(self, it: Any) -> "Scope":
        """A block about one element."""
        return replace(self, roots={**self.roots, "it": it})

    def about(self, step: PastStep, **roots: Any) -> "Scope":
        """The `where` of a test about an earlier step."""
        outer = self.step
        around = {"outer": {"args": outer.args, "result": outer.result, "target": outer.target}} if outer else {}
        own = {
            "args": step.args,
            "result": step.result,
            "target": step.target,
            "error": step.error,
            "definition": step.definition,
            "this": {"args": self.facts.args},
        }
        return replace(self, roots={**self.roots, **own, **around, **roots}, step=step)


def outermost(names: Names, facts: Facts) -> Scope:
    """The scope of a rule's conditions."""
    roots = {
        "args": facts.args,
        "input": facts.input,
        "target": facts.target,
        "agent": facts.agent,
        "turns": MISSING if facts.turns is None else list(facts.turns),
        "parent": facts.parent or MISSING,
        "definition": MISSING if facts.definition is None else facts.definition,
        "error": UNREADABLE,
    }
    return Scope(names, facts, roots, steps=past_steps(facts))


def delegated(facts: Facts) -> bool:
    """Whether the input is not the user's word, as another execution wrote it."""
    return bool(getattr(facts, "delegated", facts.parent))


def is_about(subject: tree.Subject, kind: str, target: str, names: Names) -> bool:
    """Whether a step is one of the subject's."""
    if not subject.groups:
        return True
    for group in subject.groups:
        for pattern in group.patterns:
            value = names.lets[pattern.text] if isinstance(pattern, tree.Name) else pattern.value
            for one in value if isinstance(value, list) else [value]:
                if KINDS[group.kind] == kind and glob(str(one)).matches(target):
                    return True
    return False


def let_in(who: str, step: PastStep) -> Tri:
    """Whether a step was let in as `allowed` or `approved` says; no word: in any way.

    Perhaps, where nothing let it in and it ran all the same, and where nobody recorded what the word asks for.
    """
    if step.let_in == "" or (who and step.let_in is None):
        return None
    return not who or step.let_in == who
