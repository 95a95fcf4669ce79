"""The obligations of a decision beside its verdict: limits, budgets, and approval terms. Plain data, no counting."""

from enum import StrEnum

from rebuno.model.dataclass import dataclass


class LimitScope(StrEnum):
    """The scope of a limit: one execution, one session, one agent, all agents together, or one value of a step."""

    EXECUTION = "execution"
    SESSION = "session"
    AGENT = "agent"
    GLOBAL = "global"
    KEY = "key"


class Otherwise(StrEnum):
    """The result for a step over a limit or a budget."""

    RATE_LIMITED = "rate_limited"
    DENY = "deny"
    WAIT = "wait"
    APPROVAL = "require_approval"


class PathSign(StrEnum):
    """The parts of a path that stand for several values: the elements of a list, and the values of an object."""

    ELEMENTS = "[]"
    VALUES = ".*"


@dataclass(frozen=True, slots=True)
class ValuePath:
    """The way to a value of a submission: `args.items[].price` has the root `args`, and a key, a sign and a key as its
    parts. `text` is the path as the bundle writes it."""

    text: str
    root: str
    parts: tuple[str | int | PathSign, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `number` in any `window` seconds (None: in the whole execution or session), in a pot for each `scope`.

    It counts steps, or adds up the values of `measure`. `key` is the value that a pot of the scope `key` is for. All
    rules of a bundle with the same `name` share the pots; without a name the pots are the rule's own. `wait` is how
    many seconds a step may be parked, 0 unless `otherwise` is `wait`. `unavailable_allows` says whether a step may go
    on where the limiter itself fails.
    """

    number: int | float
    window: int | None
    scope: LimitScope
    otherwise: Otherwise
    wait: int = 0
    unavailable_allows: bool = False
    measure: tuple[ValuePath, ...] = ()
    key: ValuePath | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """At most `tokens` input and output tokens over an execution or a session; `otherwise` is `deny` or
    `require_approval`."""

    tokens: int
    otherwise: Otherwise = Otherwise.DENY
    scope: LimitScope = LimitScope.EXECUTION


@dataclass(frozen=True, slots=True)
class Asking:
    """The terms of a question. No `approvers` means anyone; `quorum` of them must grant. An approver may change the
    arguments at `edits`.

    After `expires` seconds a question is denied and a grant is too old to start a step; None: the question waits as
    long as it takes, and the kernel's own age for grants counts.
    """

    approvers: tuple[str, ...] = ()
    quorum: int = 1
    expires: int | None = None
    message: str = ""
    edits: tuple[ValuePath, ...] = ()


@dataclass(frozen=True, slots=True)
class Obligation:
    """The obligations of one rule; `bundle` and `rule_id` name it, and limits count under these names.

    `asking` is None unless the rule says something about how people are asked.
    """

    bundle: str
    rule_id: str
    limit: Limit | None = None
    budget: Budget | None = None
    asking: Asking | None = None
