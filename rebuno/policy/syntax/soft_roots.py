"""Reads the words of the second edition that stand where a name may stand too.

`args.by == parent` asks for the parent, unless the bundle or a file that it uses defines `parent`. So the parser leaves
a name, and this module replaces it when all definitions are known.
"""

import re
from dataclasses import replace
from typing import Final

from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.keywords import SOFT_ROOTS

_MENTION: Final = re.compile(rf"(?<![\w.])(?:{'|'.join(SOFT_ROOTS)})(?!\w)")


def read_soft_roots(bundle: s.Bundle) -> s.Bundle:
    """The bundle with paths in the place of the names in `SOFT_ROOTS` that it does not define."""
    if not any(_MENTION.search(text) for text in (bundle.text, *(file.text for file in bundle.files))):
        return bundle
    defined = {
        statement.name.text
        for statement in bundle.statements
        if isinstance(statement, s.Let | s.Known | s.Condition | s.NamedLimit)
    }
    free = frozenset(SOFT_ROOTS) - defined - bundle.broken
    reading = _Reading(free)
    return replace(bundle, statements=tuple([reading.statement(statement) for statement in bundle.statements]))


class _Reading:
    def __init__(self, free: frozenset[str]) -> None:
        self._free = free

    def statement(self, statement: s.Statement) -> s.Statement:
        match statement:
            case s.Known():
                return replace(statement, sources=tuple(map(self._source, statement.sources)))
            case s.Condition():
                return replace(statement, expr=self._expr(statement.expr))
            case s.Rule():
                return replace(statement, clauses=tuple(map(self._clause, statement.clauses)))
            case s.Never(when=s.And() | s.Or() | s.Not() | s.Test() | s.After() | s.Count() | s.Sum() as when):
                return replace(statement, when=self._expr(when))
        return statement

    def _source(self, source: s.KnownSource) -> s.KnownSource:
        match source:
            case s.ListSource(value=s.Name() as name) if name.text in self._free:
                return s.InputSource(s.Path(name.text, (), name.span), source.span)
            case s.ResultSource():
                return replace(source, where=self._optional(source.where))
        return source

    def _clause(self, clause: s.Clause) -> s.Clause:
        return replace(clause, expr=self._expr(clause.expr)) if isinstance(clause, s.When | s.Unless) else clause

    def _optional(self, expr: s.Expr | None) -> s.Expr | None:
        return None if expr is None else self._expr(expr)

    def _expr(self, expr: s.Expr) -> s.Expr:
        match expr:
            case s.And() | s.Or():
                return replace(expr, items=tuple(map(self._expr, expr.items)))
            case s.Not():
                return replace(expr, item=self._expr(expr.item))
            case s.After() | s.Count() | s.Sum():
                since = expr.since
                if since is not None:
                    since = replace(since, where=self._optional(since.where))
                return replace(expr, where=self._optional(expr.where), since=since)
            case s.Test(block=None, right=s.Name() as name) if name.text in self._free:
                path = s.Path(name.text, (), name.span)
                return replace(expr, right=s.Operand(None, (), (path,), name.span))
            case s.Test() if expr.block is not None:
                return replace(expr, block=self._expr(expr.block))
        return expr
