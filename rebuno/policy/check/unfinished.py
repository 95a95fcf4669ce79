"""Refuses the constructs that the parser reads and the compiler does not know yet."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport

_HINT: Final = re.compile(r"\b(?:limit|session)\b")


def check_unfinished(bundle: s.Bundle, report: DiagnosticReport) -> None:
    """Reports each construct that no decision knows."""
    if not any(_HINT.search(text) for text in (bundle.text, *(file.text for file in bundle.files))):
        return
    for name, span in _unfinished(bundle.statements):
        report.error(Code.SYNTAX, f"{name} is not in this release", span, "leave it out")


def _unfinished(statements: tuple[s.Statement, ...]) -> Iterator[tuple[str, s.Span]]:
    stack: list[Any] = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
            continue
        if not is_dataclass(node) or isinstance(node, s.Span):
            continue
        if (name := _name(node)) is not None:
            yield name, getattr(node, "span")  # noqa: B009
        stack.extend(getattr(node, field.name) for field in fields(node))


def _name(node: Any) -> str | None:
    match node:
        case s.LimitClause() if node.measure or node.key or node.named or node.scope == "session":
            return "this limit"
        case s.BudgetClause(scope="session"):
            return "a budget of a session"
        case s.NamedLimit():
            return "a named limit"
    return None
