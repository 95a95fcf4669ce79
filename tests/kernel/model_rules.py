"""The policies of the model: one rule a target, each of a few kinds, and what the kernel's contract makes of them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hypothesis import strategies as st

from rebuno.policy import Policy, compile_text

# Kind and target of every effect, and how a rule names them.
TARGETS: Final = {
    "a": ("tool_call", "tool"),
    "b": ("tool_call", "tool"),
    "m": ("llm_call", "llm"),
    "x": ("local", "local"),
}
# How many steps a limited rule lets in, in how many seconds.
PLACES: Final = 2
WINDOW: Final = 60
# How long a step may wait for a place, in seconds.
WAIT: Final = 70
# How many tokens model calls may use before a rule with a budget says no, and how many one uses.
BUDGET: Final = 20
USED: Final = (0, 10, 20)
# How old a grant may be where no rule says otherwise, in seconds.
GRANT_LASTS: Final = 900


@dataclass(frozen=True)
class Rule:
    """What a policy says about one target."""

    verdict: str = "allow"
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    expires: int | None = None
    limited: bool = False
    waits: bool = False
    # What becomes of a step over the budget.
    budget: str = ""

    def text(self, target: str) -> str:
        """The rule in the language."""
        head = {"allow": "allow", "ask": "require approval for", "deny": "deny"}[self.verdict]
        names = ", ".join(f'"{name}"' for name in self.approvers)
        clauses = [f"approvers {names}"] if self.approvers else []
        clauses += [f"quorum {self.quorum}"] if self.quorum > 1 else []
        clauses += [f"expires {self.expires}s"] if self.expires is not None else []
        clauses += [f"limit {PLACES} per {WINDOW}s"] if self.limited else []
        clauses += [f"else wait up to {WAIT}s"] if self.waits else []
        over = {"": [], "deny": ["else deny"], "ask": ["else require approval"]}[self.budget]
        clauses += [f"budget {BUDGET} tokens per execution", *over] if self.budget else []
        body = " ".join([head, TARGETS[target][1], f'"{target}"', *clauses, f'because "{because(self, target)}"'])
        return f"rule r{target} {{ {body} }}\n"


def because(rule: Rule, target: str) -> str:
    """The reason that a rule gives."""
    return f"{rule.verdict} {target}"


ANYBODY: Final = Rule("ask")
ALLOW: Final = Rule()
DENY: Final = Rule("deny")
LIMITED: Final = Rule(limited=True)
WAITS: Final = Rule(limited=True, waits=True)
THRIFTY: Final = Rule(budget="deny")
THRIFTY_ASKS: Final = Rule(budget="ask")
TWO: Final = Rule("ask", ("ana", "ben", "eva"), 2)
ANA: Final = Rule("ask", ("ana",))
SOON: Final = Rule("ask", expires=60)


@dataclass(frozen=True)
class Rules:
    """A policy. `edition` is a comment: the same rules under another digest. The text stands for the digest."""

    a: Rule
    b: Rule
    m: Rule
    x: Rule
    edition: int = 0

    def about(self, target: str) -> Rule:
        """The rule about a target."""
        return {"a": self.a, "b": self.b, "m": self.m, "x": self.x}[target]

    def but(self, target: str, rule: Rule) -> "Rules":
        """The same with another rule about one target."""
        a, b, m, x = (rule if target == name else self.about(name) for name in TARGETS)
        return Rules(a, b, m, x, self.edition)

    @property
    def text(self) -> str:
        """The bundle."""
        rules = "".join(self.about(target).text(target) for target in TARGETS)
        return f"bundle model\ndefault deny\n# {self.edition}\n{rules}"


@lru_cache
def policy(text: str) -> Policy:
    """A compiled bundle."""
    return compile_text(text)


any_rule = st.sampled_from([ALLOW, ALLOW, DENY, DENY, ANYBODY, TWO, ANA, SOON, THRIFTY, THRIFTY_ASKS])
rules: Final = st.builds(
    Rules,
    a=st.sampled_from([ALLOW, LIMITED, LIMITED, WAITS, WAITS, DENY, ANYBODY]),
    b=any_rule,
    m=any_rule | st.sampled_from([THRIFTY, THRIFTY_ASKS]),
    x=st.sampled_from([ALLOW, ALLOW, DENY, ANYBODY]),
    edition=st.integers(0, 1),
)
