"""A policy's decision on one submission. It is built when the bundle is compiled, never while deciding."""

from enum import StrEnum
from typing import Final

from rebuno.model.obligation import Obligation


class Verdict(StrEnum):
    """The verdicts of a policy, the strictest first."""

    DENY = "deny"
    APPROVAL = "require_approval"
    ALLOW = "allow"


STRICTNESS: Final = {Verdict.ALLOW: 0, Verdict.APPROVAL: 1, Verdict.DENY: 2}

# Rule ids where no rule of a bundle decided.
DEFAULT: Final = "default"
LOCAL: Final = "local"
PERMISSIVE: Final = "permissive"
INDETERMINATE_RETRY: Final = "__indeterminate_retry"
# Its reason: what may have happened is not done again.
UNKNOWN_OUTCOME: Final = "prior attempt outcome unknown; retry refused"
# The rule of what may have been done since the copy was made from which the store was restored.
RESTORED: Final = "__restored"
# The rule of what an operator has stopped.
STOPPED: Final = "__stopped"
NESTED_WAIT: Final = "__nested_wait"
DIVERGED: Final = "__diverged"
FORK_EFFECT: Final = "__fork_effect"
# The rule of a call that a person has changed, where the agent cannot run it so.
EDITED: Final = "__edited"


class Decision:
    """One verdict with its rule and reason. Shared between calls: treat it as frozen.

    `rule_id` is the deciding rule's id or one of the fixed ids, `reason` its `because` (may be empty), `bundle` the
    bundle's name, `digest` the hex digest of the whole policy, `message` what an approver is shown, `line` the line of
    the deciding statement in the bundle's text (1-based, 0 where there is none), `obligations` what the rule asks for
    besides; those of every layer's deciding rule, in the order of the layers, and none on a denial.
    """

    __slots__ = ("bundle", "digest", "line", "message", "obligations", "reason", "rule_id", "verdict")

    def __init__(
        self,
        verdict: Verdict,
        rule_id: str,
        reason: str = "",
        *,
        bundle: str = "",
        digest: str = "",
        message: str = "",
        line: int = 0,
        obligations: tuple[Obligation, ...] = (),
    ) -> None:
        self.verdict = verdict
        self.rule_id = rule_id
        self.reason = reason
        self.bundle = bundle
        self.digest = digest
        self.message = message
        self.line = line
        self.obligations = obligations

    def __repr__(self) -> str:
        return f"Decision({self.verdict.value}, rule_id={self.rule_id!r}, reason={self.reason!r})"
