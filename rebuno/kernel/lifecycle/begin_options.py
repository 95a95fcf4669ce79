"""What may be said of an execution where it begins, besides its agent and its input."""

from typing import TypedDict

from rebuno.kernel.core.names import check_workdir
from rebuno.kernel.lifecycle.cancel import check_deadline


class BeginOptions(TypedDict):
    """`pin` judges it to its end by the policy of its start, `deadline` gives it so many seconds (None: any number),
    and `workdir` is the folder that it works in, empty without one."""

    pin: bool
    deadline: float | None
    workdir: str


def begin_options(*, pin: bool, deadline: float | None, workdir: str) -> BeginOptions:
    """The options, checked.

    Raises:
        ValidationError: the deadline is no number of seconds above 0, or the workdir no absolute path.
    """
    if deadline is not None:
        check_deadline(deadline)
    check_workdir(workdir)
    return {"pin": pin, "deadline": deadline, "workdir": workdir}
