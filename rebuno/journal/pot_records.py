"""What steps take by limits, from windows and from pots, as the stores exchange it with the kernel."""

from dataclasses import dataclass
from typing import Final

# How the name of a pot begins that belongs to one rule.
OWN: Final = "rule "


@dataclass(frozen=True, slots=True)
class WindowPlace:
    """A place that a step has in the window `key` of a limit since `at`, in seconds since 1970."""

    key: str
    step_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Pot:
    """What a limit by amount, by value or with a name counts in: at most `number` (a decimal number) within `window`
    seconds (None: ever). `name` is that of the limit, or `rule ID` where the rule has it alone; `measure` holds the
    paths of an amount, empty where steps are counted. `owner` is the execution, session or agent that the pot is of,
    the digest of the value that it is for, or empty."""

    key: str
    bundle: str
    name: str
    measure: str
    scope: str
    owner: str
    number: str
    window: int | None


@dataclass(frozen=True, slots=True)
class Take:
    """What a step takes from a pot: a decimal number of at most 40 digits.

    A step of which a person `asks` whether it may run takes it only while the unanswered questions of its execution
    hold at most half of the pot. `forced`: it takes it beyond the pot's number too.
    """

    pot: Pot
    amount: str
    execution_id: str
    asks: bool = False
    forced: bool = False


@dataclass(frozen=True, slots=True)
class CopiedTake:
    """What a copied step has taken from a pot since `at`, in seconds since 1970."""

    take: Take
    step_id: str
    at: float


@dataclass(frozen=True, slots=True)
class PotState:
    """A pot as it stands: `taken` of `number` by `places` steps, of which unanswered questions hold `asked`; the oldest
    of them leaves the window at `frees_at`, in seconds since 1970 (None: never). The rest is as in `Pot`."""

    key: str
    bundle: str
    name: str
    measure: str
    scope: str
    owner: str
    number: str
    window: int | None
    taken: str
    asked: str
    places: int
    frees_at: float | None
