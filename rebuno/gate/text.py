"""What the agent's model is told. The texts name what it may do next, and never say that it should try again."""

from typing import Final

from rebuno.gate.verdict import Ask, Deny
from rebuno.model.clock import rfc3339

# Of a reason or message, in characters.
_LONGEST: Final = 2000


def denied(tool: str, verdict: Deny) -> str:
    """A call was denied."""
    rule = f" (rule {verdict.rule_id})" if verdict.rule_id else ""
    return f"{brief(tool, 200)} not allowed. reason: {brief(verdict.reason)}{rule}"


def waiting(tool: str, verdict: Ask, *, store: str = "") -> str:
    """A call waits for a person. `store` is what `--db` names."""
    message = brief(verdict.message or verdict.reason)
    who = f" by {' or '.join(brief(name, 100) for name in verdict.approvers)}" if verdict.approvers else ""
    until = f" before {rfc3339(verdict.timeout_at)}" if verdict.timeout_at else ""
    where = f" --db {store}" if store else ""
    return (
        f"{brief(tool, 200)} needs the approval of a person and did not run: {message} "
        f"A person can grant it{who}{until}: rebuno approval grant {verdict.approval_id}{where}. "
        "Once it is granted, the same call runs. Until then, go on with other work or end here."
    )


def unknown(tool: str) -> str:
    """Nobody knows how a call ended."""
    return (
        f"the outcome of {brief(tool, 200)} is unknown: it was started, and may have been carried out. "
        "Do not repeat it. Look at its effects, or ask the user."
    )


def brief(text: str, longest: int = _LONGEST) -> str:
    """A text on one line, shortened, without what a terminal would obey."""
    whole = " ".join(text.split())
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in whole)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"
