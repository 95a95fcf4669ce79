"""Formats a bundle in the one layout, with every comment."""

from collections.abc import Sequence
from typing import Final

from rebuno.errors import BundleError
from rebuno.policy.format.groups import group
from rebuno.policy.format.layout import STEP, TokenGroup, layout
from rebuno.policy.format.tokens import BLANK, SourceToken, source_tokens, within
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source

# The order of the clauses of a rule: conditions, limits, approvals, reason.
ORDER: Final = (
    s.When,
    s.Unless,
    s.LimitClause,
    s.BudgetClause,
    s.Approvers,
    s.Quorum,
    s.Expires,
    s.Message,
    s.Edits,
    s.Because,
)


def format_bundle(source: Source) -> str:
    """The bundle's text in the one layout: the same tokens, a rule's clauses in `ORDER`, every comment where it was.

    It parses to the same tree but for the order of clauses, and formatting it again changes nothing. Lines end with
    LF and hold at most 100 characters where a break can bring that about.

    Raises:
        BundleError: the text has syntax errors.
    """
    bundle, found = parse_bundle(source)
    if found:
        raise BundleError(found)
    words = source_tokens(bundle)
    lines: list[str] = []
    previous: s.Statement | None = None
    taken = 0
    for statement in bundle.statements:
        parts: list[SourceToken] = []
        while words[taken].start < statement.span.end:
            parts.append(words[taken])
            taken += 1
        apart = isinstance(previous, s.Rule) or (isinstance(statement, s.Rule) and previous is not None)
        lines += _above(parts[0].before, apart=apart, first=previous is None)
        parts[0] = parts[0].bare()
        lines += _rule(statement, parts) if isinstance(statement, s.Rule) else layout(_line(statement, parts), 0)
        previous = statement
    last = _above(words[-1].before, apart=isinstance(previous, s.Rule), first=previous is None)
    while last and last[-1] == BLANK:
        last.pop()
    return "".join(f"{line}\n" for line in [*lines, *last])


def _above(before: tuple[str, ...], *, apart: bool, first: bool) -> list[str]:
    lines = list(before)
    if first and lines and lines[0] == BLANK:
        return lines[1:]
    if apart and (not lines or lines[0] != BLANK):
        return [BLANK, *lines]
    return lines


def _line(statement: s.Statement, parts: Sequence[SourceToken]) -> TokenGroup:
    match statement:
        case s.Known():
            return group(parts, 3, each_line=True)
        case s.Condition():
            return group(parts, 3)
        case s.Never(when=when) if when is not None:
            return _claim(parts, when)
        case _:
            return group(parts)


def _claim(parts: Sequence[SourceToken], when: s.Expr) -> TokenGroup:
    # The tests stand below each other behind `when`.
    lead = next(number for number, token in enumerate(parts) if token.start >= when.span.start)
    return group(parts, lead)


def _rule(rule: s.Rule, parts: Sequence[SourceToken]) -> list[str]:
    closed = parts[-1]
    head = within(parts, rule.head_span)
    lines = layout(TokenGroup(token for token in parts if token.start < head[0].start), 0)
    lines += layout(group(head, 3 if rule.verdict == "require_approval" else 1, of_kinds=True), STEP)
    for clause in sorted(rule.clauses, key=lambda clause: ORDER.index(type(clause))):
        lines += layout(_clause(clause, within(parts, clause.span)), STEP)
    lines += [" " * STEP + comment for comment in closed.comments]
    return [*lines, *layout(TokenGroup([closed.bare()]), 0)]


def _clause(clause: s.Clause, parts: Sequence[SourceToken]) -> TokenGroup:
    match clause:
        case s.When() | s.Unless():
            return group(parts, 1)
        case s.Approvers() | s.Edits():
            return group(parts, 1, list_of=True)
        case _:
            return group(parts)
