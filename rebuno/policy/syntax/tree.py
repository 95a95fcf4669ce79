"""The syntax tree of a bundle: frozen nodes, each with its place in the text."""

from dataclasses import field
from enum import StrEnum
from typing import Any

from rebuno.model.dataclass import dataclass
from rebuno.policy.values.spans import NO_SPAN
from rebuno.policy.values.spans import Comment as Comment
from rebuno.policy.values.spans import Span as Span


def _place() -> Any:
    # Nodes compare by content: two bundles that differ only in layout have equal trees.
    # A node that is not from a text, as in a test, has no place.
    return field(default=NO_SPAN, compare=False, repr=False)


# ---------------------------------------------------------------- values

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, number or truth value. `raw` tells `r"…"` from `"…"`."""

    value: Scalar
    span: Span = _place()
    raw: bool = False


@dataclass(frozen=True, slots=True)
class NullLiteral:
    """`null`, which the checker allows after `is` only."""

    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Name:
    """A name that the bundle defines (`let`, `known`, `condition`), or an id."""

    text: str
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[…]` of literals."""

    items: tuple[Literal | NullLiteral, ...]
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class FileValue:
    """`file "hosts.yaml"` on the right of `let`."""

    path: Literal
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Duration:
    """`1h30m`, as a number of seconds."""

    text: str
    seconds: int
    span: Span = _place()


# ---------------------------------------------------------------- operands


@dataclass(frozen=True, slots=True)
class Key:
    """`.name` or `["odd key"]`."""

    name: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`[0]`."""

    position: int


@dataclass(frozen=True, slots=True)
class Each:
    """`[]`: every element."""


PathPart = Key | Index | Each


@dataclass(frozen=True, slots=True)
class Path:
    """The place of a value in the submission.

    `root` is `args`, `input`, `target`, `agent`, `it`, `item`, `result` or `this` (then the first part is `args`), or
    empty for the relative paths after `at`.
    """

    root: str
    parts: tuple[PathPart, ...]
    span: Span = _place()

    @property
    def many(self) -> bool:
        """Whether the path may give more than one value."""
        return any(isinstance(part, Each) for part in self.parts)


class Quantifier(StrEnum):
    """The number of elements that must pass."""

    ANY = "any"
    EVERY = "every"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Operand:
    """`[any|every|no] [FACET of …] PATH`, or several paths in parentheses. Facets stand outermost first."""

    quantifier: Quantifier | None
    facets: tuple[Name, ...]
    paths: tuple[Path, ...]
    span: Span = _place()


# ---------------------------------------------------------------- predicates


class Op(StrEnum):
    """The predicates; the value is how they are written (negation apart)."""

    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "in"
    LIKE = "like"
    MATCHES = "matches"
    CONTAINS = "contains"
    CONTAINS_ANY = "contains any"
    STARTS = "starts with"
    ENDS = "ends with"
    UNDER = "under"
    GIVEN = "given"
    MISSING = "missing"
    IS = "is"
    HAS = "has"


Right = Literal | NullLiteral | ListLiteral | Name | Operand


@dataclass(frozen=True, slots=True)
class Test:
    """*operand predicate*.

    `negated` is the `not` inside the predicate (`not in`, `is not`; `!=` is an operator of its own). `right` is None
    for `given` and `missing`, a `Literal` with the type's name for `is`, and for `has` the block stands in `block`.
    """

    operand: Operand
    op: Op
    right: "Right | None"
    span: Span = _place()
    negated: bool = False
    ignoring_case: bool = False
    block: "Expr | None" = None


@dataclass(frozen=True, slots=True)
class ConditionRef:
    """The name of a `condition` used as a test."""

    name: Name
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class After:
    """`after SUBJECT [where (E)]`."""

    subject: "Subject"
    where: "Expr | None"
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Count:
    """`count(SUBJECT [where (E)]) >= N`; `op` is one of the six signs."""

    subject: "Subject"
    where: "Expr | None"
    op: Op
    number: int
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class During:
    """`during "Mon-Fri 09:00-17:00 Europe/London"`."""

    schedule: Literal
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Not:
    """`not E`."""

    item: "Expr"
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class And:
    """`E and E and …`, at least two."""

    items: "tuple[Expr, ...]"
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Or:
    """`E or E or …`, at least two."""

    items: "tuple[Expr, ...]"
    span: Span = _place()


Expr = Test | ConditionRef | After | Count | During | Not | And | Or


# ---------------------------------------------------------------- subjects and sources


@dataclass(frozen=True, slots=True)
class KindPatterns:
    """`tool "a", "b*", names`: one kind (`tool`, `llm`, `local`) and its patterns."""

    kind: str
    patterns: tuple[Literal | Name, ...]
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Subject:
    """The steps that a rule is about. No `groups` means `any step`."""

    groups: tuple[KindPatterns, ...]
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class At:
    """`[FACET of] PATH` after `at`; the path is relative."""

    facets: tuple[Name, ...]
    path: Path
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class InputSource:
    """`input` or `input.request`."""

    path: Path
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class ListSource:
    """A list, or the name of one."""

    value: ListLiteral | Literal | Name
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class ResultSource:
    """`result of SUBJECT at PATH, … [where (E)]`."""

    subject: Subject
    ats: tuple[At, ...]
    where: Expr | None
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class ApprovedSource:
    """`approved SUBJECT at PATH, …`."""

    subject: Subject
    ats: tuple[At, ...]
    span: Span = _place()


KnownSource = InputSource | ListSource | ResultSource | ApprovedSource


# ---------------------------------------------------------------- clauses


@dataclass(frozen=True, slots=True)
class When:
    expr: Expr
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Unless:
    expr: Expr
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Because:
    text: Literal
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class LimitClause:
    """`limit N per …`. `window` is None for `per execution`; `scope` is `execution`, `agent` or `global`; `otherwise`
    is empty, `deny`, `wait` (then `wait`) or `require approval`; `unavailable` is empty, `allow` or `deny`."""

    number: int
    window: Duration | None
    scope: str
    otherwise: str
    wait: Duration | None
    unavailable: str
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class BudgetClause:
    """`budget N tokens per execution`; `otherwise` is empty, `deny` or `require approval`."""

    tokens: int
    otherwise: str
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Approvers:
    names: tuple[Literal, ...]
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Quorum:
    number: int
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Expires:
    duration: Duration
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Message:
    text: Literal
    span: Span = _place()


Clause = When | Unless | Because | LimitClause | BudgetClause | Approvers | Quorum | Expires | Message


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class BundleLine:
    """`bundle ID [version 1]`."""

    name: Name
    version: int | None
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Default:
    """`default allow|deny [because "…"]`."""

    verdict: str
    because: Literal | None
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Let:
    name: Name
    value: Literal | NullLiteral | ListLiteral | FileValue
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Use:
    path: Literal
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Workdir:
    path: Literal
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Home:
    path: Literal
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Known:
    name: Name
    sources: tuple[KnownSource, ...]
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Condition:
    name: Name
    expr: Expr
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Rule:
    """`rule ID { … }`; `verdict` is `allow`, `deny` or `require_approval`, `clauses` are in the order of the text."""

    id: Name
    verdict: str
    subject: Subject
    clauses: tuple[Clause, ...]
    span: Span = _place()
    head_span: Span = _place()


Statement = BundleLine | Default | Let | Use | Workdir | Home | Known | Condition | Rule


@dataclass(frozen=True, slots=True)
class File:
    """A file that a bundle uses. `name` is its path from the bundle's folder; diagnostics print `path`."""

    name: str
    path: str
    text: str
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A whole file. `name` is from the `bundle` line, or else the stem of the file. Diagnostics print `path`. `files`
    are the files that a linked bundle uses; their definitions are among its `statements`.

    After a syntax error `whole` is False, `statements` are those that could be read, and `broken` holds the names that
    the other statements define.
    """

    name: str
    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...] = ()
    path: str = field(default="", compare=False)
    text: str = field(default="", compare=False, repr=False)
    whole: bool = field(default=True, compare=False)
    broken: frozenset[str] = field(default=frozenset(), compare=False)
    files: tuple[File, ...] = field(default=(), compare=False)

    def origin(self, span: Span) -> "Bundle | File":
        """The file of a place."""
        for file in self.files:
            if file.path == span.path:
                return file
        return self
