"""The nodes of expressions: values, operands, tests, subjects, and the sources of `known` sets."""

import json
from dataclasses import field
from enum import StrEnum
from typing import Any

from rebuno.model.dataclass import dataclass
from rebuno.policy.values.spans import NO_SPAN, Span


def place() -> Any:
    # Nodes compare by content: two bundles that differ only in layout have equal trees.
    # A node that is not from a text, as in a test, has no place.
    return field(default=NO_SPAN, compare=False, repr=False)


# ---------------------------------------------------------------- values

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, number or truth value. `raw` tells `r"…"` from `"…"`."""

    value: Scalar
    span: Span = place()
    raw: bool = False


@dataclass(frozen=True, slots=True)
class NullLiteral:
    """`null`, which the checker allows after `is` only."""

    span: Span = place()


@dataclass(frozen=True, slots=True)
class Name:
    """A name that the bundle defines (`let`, `known`, `condition`), or an id."""

    text: str
    span: Span = place()


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[…]` of literals."""

    items: tuple[Literal | NullLiteral, ...]
    span: Span = place()


@dataclass(frozen=True, slots=True)
class FileValue:
    """`file "hosts.yaml"` on the right of `let`."""

    path: Literal
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Duration:
    """`1h30m`, as a number of seconds."""

    text: str
    seconds: int
    span: Span = place()


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


@dataclass(frozen=True, slots=True)
class Values:
    """`.*`: every value of an object."""


PathPart = Key | Index | Each | Values


@dataclass(frozen=True, slots=True)
class Path:
    """The place of a value in the submission.

    `root` is one of `ROOT_WORDS` or `SOFT_ROOTS`, or empty for the relative paths after `at`. After `this` the first
    part is `args`; after `outer` it is `args`, `result` or `target`.
    """

    root: str
    parts: tuple[PathPart, ...]
    span: Span = place()

    @property
    def many(self) -> bool:
        """Whether the path may give more than one value."""
        return any(isinstance(part, Each | Values) for part in self.parts)


class Quantifier(StrEnum):
    """The number of elements that must pass."""

    ANY = "any"
    EVERY = "every"
    NO = "no"


def facet_called(name: str, text: str) -> str:
    """The name of a facet with a text: two are the same facet where these are equal."""
    return f"{name} {json.dumps(text)}"


@dataclass(frozen=True, slots=True)
class FacetWithText:
    """`option "-n"` in `option "-n" of …`: the name of a facet, and the text after it."""

    name: Name
    argument: Literal
    span: Span = place()

    @property
    def text(self) -> str:
        """The name and the text, as `find_facet` takes them."""
        return facet_called(self.name.text, str(self.argument.value))


FacetName = Name | FacetWithText


def named_alone(facet: FacetName) -> str:
    """The name of a facet, without its text."""
    return facet.name.text if isinstance(facet, FacetWithText) else facet.text


@dataclass(frozen=True, slots=True)
class Operand:
    """`[any|every|no] [FACET of …] PATH`, or several paths in parentheses. Facets stand outermost first."""

    quantifier: Quantifier | None
    facets: tuple[FacetName, ...]
    paths: tuple[Path, ...]
    span: Span = place()


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
    span: Span = place()
    negated: bool = False
    ignoring_case: bool = False
    block: "Expr | None" = None


@dataclass(frozen=True, slots=True)
class ConditionRef:
    """The name of a `condition` used as a test."""

    name: Name
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Since:
    """`since SUBJECT [where (E)]`."""

    subject: "Subject"
    where: "Expr | None"
    span: Span = place()


@dataclass(frozen=True, slots=True)
class After:
    """`after PAST`: `[allowed|approved] SUBJECT [where (E)] [since …] [within DURATION]`.

    `who` is `allowed`, `approved` or empty.
    """

    subject: "Subject"
    where: "Expr | None"
    span: Span = place()
    who: str = ""
    since: Since | None = None
    within: Duration | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """`count(PAST) >= N`; `op` is one of the six signs."""

    subject: "Subject"
    where: "Expr | None"
    op: Op
    number: int
    span: Span = place()
    who: str = ""
    since: Since | None = None
    within: Duration | None = None


@dataclass(frozen=True, slots=True)
class Sum:
    """`sum([allowed|approved] SUBJECT at PATH, … [where] [since] [within]) [+ PATH] <= N`.

    The paths of `ats` start at `args` or `result` of the earlier step; `plus` starts at `args` of the submission.
    """

    subject: "Subject"
    ats: "tuple[At, ...]"
    where: "Expr | None"
    op: Op
    number: int | float
    span: Span = place()
    plus: Path | None = None
    who: str = ""
    since: Since | None = None
    within: Duration | None = None


@dataclass(frozen=True, slots=True)
class During:
    """`during "Mon-Fri 09:00-17:00 Europe/London"`."""

    schedule: Literal
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Not:
    """`not E`."""

    item: "Expr"
    span: Span = place()


@dataclass(frozen=True, slots=True)
class And:
    """`E and E and …`, at least two."""

    items: "tuple[Expr, ...]"
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Or:
    """`E or E or …`, at least two."""

    items: "tuple[Expr, ...]"
    span: Span = place()


Past = After | Count | Sum
Expr = Test | ConditionRef | After | Count | Sum | During | Not | And | Or


# ---------------------------------------------------------------- subjects and sources


@dataclass(frozen=True, slots=True)
class KindPatterns:
    """`tool "a", "b*", names`: one kind (`tool`, `llm`, `local`) and its patterns."""

    kind: str
    patterns: tuple[Literal | Name, ...]
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Subject:
    """The steps that a rule is about. No `groups` means `any step`."""

    groups: tuple[KindPatterns, ...]
    span: Span = place()


@dataclass(frozen=True, slots=True)
class At:
    """`[FACET of] PATH` after `at`; the path is relative, but in a `Sum`."""

    facets: tuple[FacetName, ...]
    path: Path
    span: Span = place()


@dataclass(frozen=True, slots=True)
class InputSource:
    """`input`, `input.request` or `turns`."""

    path: Path
    span: Span = place()


@dataclass(frozen=True, slots=True)
class ListSource:
    """A list, or the name of a list or of another `known`."""

    value: ListLiteral | Literal | Name
    span: Span = place()


@dataclass(frozen=True, slots=True)
class ResultSource:
    """`result of [allowed|approved] SUBJECT [words] at PATH, … [where (E)]`.

    `who` is `allowed`, `approved` or empty.
    """

    subject: Subject
    ats: tuple[At, ...]
    where: Expr | None
    span: Span = place()
    who: str = ""
    words: bool = False


@dataclass(frozen=True, slots=True)
class ApprovedSource:
    """`approved SUBJECT at PATH, …`."""

    subject: Subject
    ats: tuple[At, ...]
    span: Span = place()


KnownSource = InputSource | ListSource | ResultSource | ApprovedSource
