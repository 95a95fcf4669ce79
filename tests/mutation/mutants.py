"""Small changes to a module, one at a time: a test that fails by none of them says little.

A mutant is known by what it changes and not by a line number, so a list of mutants outlives changes around them.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLED: Final = {
    "any": "all",
    "all": "any",
    "min": "max",
    "max": "min",
    "startswith": "endswith",
    "endswith": "startswith",
}
# What `+` joins rather than adds: without it the module breaks at once, which every test notices.
_JOINED: Final = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_TEXT: Final = 90


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: `before` becomes `after` in the function of that name, the `number`th time that it could.

    `path` is relative to the project. `index` is its place among the mutants of the file as it is now.
    """

    path: str
    function: str
    before: str
    after: str
    number: int
    index: int

    @property
    def key(self) -> str:
        """The line by which a list names it."""
        again = f" #{self.number}" if self.number > 1 else ""
        return f"{self.path}: {self.function}: {self.before} => {self.after}{again}"

    @property
    def module(self) -> str:
        """The name that the file is imported by."""
        return ".".join(Path(self.path).with_suffix("").parts).removesuffix(".__init__")


@dataclass(frozen=True, slots=True)
class _Scope:
    """The function or class that a node stands in, and whether it answers yes or no."""

    name: str = ""
    yes_or_no: bool = False

    def inner(self, node: ast.AST) -> "_Scope":
        if not isinstance(node, _Function | ast.ClassDef):
            return self
        name = f"{self.name}.{node.name}" if self.name else node.name
        returns = None if isinstance(node, ast.ClassDef) else node.returns
        return _Scope(name, isinstance(returns, ast.Name) and returns.id == "bool")


@dataclass(frozen=True, slots=True)
class _Site:
    """A place where a change can be made, and what makes it in the tree."""

    function: str
    before: str
    after: str
    make: Callable[[], None]


def mutants(path: str, text: str) -> list[Mutant]:
    """Every mutant of a module's text, in the order of the text.

    Raises:
        SyntaxError: the text is not Python.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for index, site in enumerate(_sites(ast.parse(text), _Scope())):
        named = (site.function, site.before, site.after)
        seen[named] += 1
        found.append(Mutant(path, *named, seen[named], index))
    return found


def mutated(text: str, index: int) -> ast.Module:
    """The tree of a text with the mutant of that index in it; its lines keep their numbers.

    Raises:
        SyntaxError: the text is not Python.
        IndexError: it has no such mutant.
    """
    tree = ast.parse(text)
    list(_sites(tree, _Scope()))[index].make()
    return ast.fix_missing_locations(tree)


def _sites(node: ast.AST, scope: _Scope) -> Iterator[_Site]:
    for name, value in ast.iter_fields(node):
        if _passed_over(node, name):
            continue
        if isinstance(value, list):
            for place, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield from _here(child, scope, node, _in_list(value, place))
        elif isinstance(value, ast.AST):
            yield from _here(value, scope, node, _in_field(node, name))


def _passed_over(node: ast.AST, name: str) -> bool:
    """Types, decorators and messages: changes there are no changes, or not of behaviour that a test should fix."""
    if name in {"annotation", "returns", "decorator_list", "msg", "type_params", "keywords"} and not isinstance(
        node, ast.Call
    ):
        return True
    return name == "exc" and isinstance(node, ast.Raise)


def _in_list(nodes: list[ast.AST], place: int) -> Callable[[ast.AST], None]:
    def put(new: ast.AST) -> None:
        nodes[place] = new

    return put


def _in_field(node: ast.AST, name: str) -> Callable[[ast.AST], None]:
    def put(new: ast.AST) -> None:
        setattr(node, name, new)

    return put


def _here(node: ast.AST, scope: _Scope, parent: ast.AST, put: Callable[[ast.AST], None]) -> Iterator[_Site]:
    if _no_code(node):
        return
    for new in _changes(node, scope):
        ast.copy_location(new, node)
        yield _Site(scope.name or "module", _brief(node), _after(new, parent), partial(put, new))
    yield from _sites(node, scope.inner(node))


def _no_code(node: ast.AST) -> bool:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="logger")))):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name in {"__all__", "__slots__"}
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
    return False


def _after(new: ast.AST, parent: ast.AST) -> str:
    """What it becomes; of a constant, which says little, also where it stands."""
    return f"{_brief(new)} in {_brief(parent)}" if isinstance(new, ast.Constant) else _brief(new)


def _brief(node: ast.AST) -> str:
    """A node in one line that is not too long for a list."""
    if isinstance(node, ast.If | ast.While):
        node = node.test
    elif isinstance(node, _Function | ast.ClassDef):
        return node.name
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 2]} …"


def _changes(node: ast.AST, scope: _Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.stmt):
        yield from _statements(node, scope)
        return
    match node:
        case ast.Compare():
            yield from _compared(node)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for place in range(len(values)):
                rest = values[:place] + values[place + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left, op, right) if type(op) in _COMPUTED and not (_joins(left) or _joins(right)):
            yield ast.BinOp(left, _COMPUTED[type(op)](), right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.IfExp(test, body, orelse) if not _has_own(test):
            yield ast.IfExp(_negated(test), body, orelse)
        case ast.Call(ast.Name(id=name), args, keywords) if name in _CALLED:
            yield ast.Call(ast.Name(_CALLED[name], ast.Load()), args, keywords)
        case ast.Call(ast.Attribute(value, name), args, keywords) if name in _CALLED:
            yield ast.Call(ast.Attribute(value, _CALLED[name], ast.Load()), args, keywords)
        case ast.comprehension(target, iterated, ifs, is_async):
            for place in range(len(ifs)):
                yield ast.comprehension(target, iterated, ifs[:place] + ifs[place + 1 :], is_async)


def _compared(node: ast.Compare) -> Iterator[ast.AST]:
    for place, op in enumerate(node.ops):
        ops = list(node.ops)
        ops[place] = _COMPARED[type(op)]()
        yield ast.Compare(node.left, ops, node.comparators)


def _statements(node: ast.stmt, scope: _Scope) -> Iterator[ast.AST]:
    match node:
        case ast.If(test, body, orelse) if not _has_own(test):
            yield ast.If(_negated(test), body, orelse)
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())) | ast.Raise():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign():
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case ast.Return(value=ast.expr() as value) if not _has_own(value) and not isinstance(value, ast.Constant):
            # None in the place of False changes nothing for the caller.
            yield ast.Return(_negated(value) if scope.yes_or_no else ast.Constant(None))


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _has_own(test: ast.expr) -> bool:
    """Whether an expression is changed in other ways already, which say more than its negation."""
    return isinstance(test, ast.Compare | ast.BoolOp) or (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    )


def _joins(node: ast.expr) -> bool:
    return isinstance(node, _JOINED) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
