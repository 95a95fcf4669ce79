"""The syntax tree of a bundle: frozen nodes, each with its place in the text."""

from dataclasses import field

from rebuno.model.dataclass import dataclass
from rebuno.policy.syntax.expressions import After as After
from rebuno.policy.syntax.expressions import And as And
from rebuno.policy.syntax.expressions import ApprovedSource as ApprovedSource
from rebuno.policy.syntax.expressions import At as At
from rebuno.policy.syntax.expressions import ConditionRef as ConditionRef
from rebuno.policy.syntax.expressions import Count as Count
from rebuno.policy.syntax.expressions import Duration as Duration
from rebuno.policy.syntax.expressions import During as During
from rebuno.policy.syntax.expressions import Each as Each
from rebuno.policy.syntax.expressions import Expr as Expr
from rebuno.policy.syntax.expressions import FacetName as FacetName
from rebuno.policy.syntax.expressions import FacetWithText as FacetWithText
from rebuno.policy.syntax.expressions import FileValue as FileValue
from rebuno.policy.syntax.expressions import Index as Index
from rebuno.policy.syntax.expressions import InputSource as InputSource
from rebuno.policy.syntax.expressions import Key as Key
from rebuno.policy.syntax.expressions import KindPatterns as KindPatterns
from rebuno.policy.syntax.expressions import KnownSource as KnownSource
from rebuno.policy.syntax.expressions import ListLiteral as ListLiteral
from rebuno.policy.syntax.expressions import ListSource as ListSource
from rebuno.policy.syntax.expressions import Literal as Literal
from rebuno.policy.syntax.expressions import Name as Name
from rebuno.policy.syntax.expressions import Not as Not
from rebuno.policy.syntax.expressions import NullLiteral as NullLiteral
from rebuno.policy.syntax.expressions import Op as Op
from rebuno.policy.syntax.expressions import Operand as Operand
from rebuno.policy.syntax.expressions import Or as Or
from rebuno.policy.syntax.expressions import Past as Past
from rebuno.policy.syntax.expressions import Path as Path
from rebuno.policy.syntax.expressions import PathPart as PathPart
from rebuno.policy.syntax.expressions import Quantifier as Quantifier
from rebuno.policy.syntax.expressions import ResultSource as ResultSource
from rebuno.policy.syntax.expressions import Right as Right
from rebuno.policy.syntax.expressions import Scalar as Scalar
from rebuno.policy.syntax.expressions import Since as Since
from rebuno.policy.syntax.expressions import Subject as Subject
from rebuno.policy.syntax.expressions import Sum as Sum
from rebuno.policy.syntax.expressions import Test as Test
from rebuno.policy.syntax.expressions import Values as Values
from rebuno.policy.syntax.expressions import facet_called as facet_called
from rebuno.policy.syntax.expressions import named_alone as named_alone
from rebuno.policy.syntax.expressions import place as _place
from rebuno.policy.values.spans import Comment as Comment
from rebuno.policy.values.spans import Span as Span

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
class Filled:
    """`f"Pay {args.amount} to {args.to}?"`: texts and paths in turn. The texts are as they are told, without quotes."""

    parts: tuple[Literal | Path, ...]
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Because:
    text: Literal | Filled
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class LimitClause:
    """`limit N [of …] per …`, or `limit NAME`.

    `window` is None for `per execution` and `per session`; `scope` is `execution`, `session`, `agent`, `global` or
    `key` (then `key`); `otherwise` is empty, `deny`, `wait` (then `wait`) or `require approval`; `unavailable` is
    empty, `allow` or `deny`. `measure` holds the paths of an amount; without it steps are counted. `named` is the name
    of the `NamedLimit` that says the quantity; `number` is then 0.
    """

    number: int | float
    window: Duration | None
    scope: str
    otherwise: str
    wait: Duration | None
    unavailable: str
    span: Span = _place()
    measure: tuple[Path, ...] = ()
    key: Path | None = None
    named: Name | None = None


@dataclass(frozen=True, slots=True)
class BudgetClause:
    """`budget N tokens per execution` or `per session`; `otherwise` is empty, `deny` or `require approval`."""

    tokens: int
    otherwise: str
    span: Span = _place()
    scope: str = "execution"


@dataclass(frozen=True, slots=True)
class Approvers:
    """`approvers "ann", team`: ids, and names of `let` lists of ids."""

    names: tuple[Literal | Name, ...]
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
    text: Literal | Filled
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Edits:
    """`edits args.amount, args.note`: the arguments that an approver may change."""

    paths: tuple[Path, ...]
    span: Span = _place()


Clause = When | Unless | Because | LimitClause | BudgetClause | Approvers | Quorum | Expires | Message | Edits


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
    """Where relative paths start. `path` is None for `workdir session`: the folder of the session that a step is of."""

    path: Literal | None
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Home:
    path: Literal
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Zone:
    """`zone "Europe/London"`: the time zone of *today* and *tomorrow* in what the user wrote."""

    name: Literal
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class EffectTables:
    """`effects "our-tools.yaml"`: tables of programs, whose `text` is set in a linked bundle; or `effects bsd`: the
    flavour of the programs that the operator runs."""

    source: Literal | Name
    text: str | None = None
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class NamedLimit:
    """`limit NAME = N [of …] per …`: a limit that several rules share."""

    name: Name
    limit: LimitClause
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Never:
    """`never HEAD [when E] [because "…"]`: a claim about the bundle, which decides nothing."""

    verdict: str
    subject: Subject
    when: Expr | None
    because: Literal | None
    span: Span = _place()
    head_span: Span = _place()


@dataclass(frozen=True, slots=True)
class Secret:
    """`secret SUBJECT at PATH, …`, whose paths start at `args` or `result`; or `secret input.PATH, …`, without subject:
    values that are written and shown as marks only."""

    subject: Subject | None
    paths: tuple[Path, ...]
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


Statement = (
    BundleLine
    | Default
    | Let
    | Use
    | Workdir
    | Home
    | Zone
    | EffectTables
    | Known
    | Condition
    | NamedLimit
    | Never
    | Secret
    | Rule
)


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
