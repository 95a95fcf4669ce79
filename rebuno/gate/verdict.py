"""What is answered to a call."""

from dataclasses import field
from enum import Enum
from typing import Any, Final

from rebuno.model.dataclass import dataclass


class Unset(Enum):
    """That there is no result, which may be None itself."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run, now and once. `observed` is what would have been said instead where the policy is not enforced
    (`deny: …`, `require approval: …`), otherwise empty. `approval_id` is the question whose grant lets it run."""

    step_id: str
    observed: str = ""
    approval_id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Deny:
    """The call must not run. `step_id` is empty where nothing was recorded: a limit was reached, the session is
    over."""

    reason: str
    rule_id: str = ""
    step_id: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """The call must not run until people have granted the approval; then the same call may. `approvers` are those who
    may grant (none: anyone), `quorum` how many must. `timeout_at` is when the question expires, in seconds since 1970
    (0: never)."""

    approval_id: str
    message: str
    reason: str
    rule_id: str
    step_id: str
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    timeout_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """This very call has ended already, and must not run again: its `result`, or its `error` (an object with `message`,
    and `reason` `indeterminate` where nobody knows how it ended)."""

    step_id: str
    result: Any = UNSET
    error: dict[str, Any] | None = None

    @property
    def unknown(self) -> bool:
        """Whether nobody knows how it ended."""
        return self.error is not None and self.error.get("reason") in ("indeterminate", "cancelled")


Verdict = Allow | Deny | Ask | Recorded
