"""What people have changed in the arguments of steps: which approval says so, and which values may be changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rebuno.journal.records import ApprovalRow, StepRow
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.obligation import Obligation, PathSign, ValuePath

_ABSENT: Final = object()
# How what is sealed stands in arguments.
_MARK: Final = "secret"


def attach(steps: Iterable[StepRow], approvals: Mapping[str, ApprovalRow]) -> None:
    """Adds to the rows of one execution's steps the arguments that the grants of their approvals say.
    Raises `SealBroken` where these cannot be opened."""
    for step in steps:
        grant = approvals.get(step.approval_id) if step.approval_id else None
        # A grant that covers further steps is for these as they were submitted.
        if grant is not None and grant.edited and grant.step_id == step.step_id and grant.status == "granted":
            # Few calls are changed.
            from rebuno.journal.sealed.seal import check

            check(grant.edited)
            step.ran_args, step.edited_seq, step.edited_at = grant.edited, grant.resolved_seq, grant.decided_at


def editable(
    decision: Decision, layers: Iterable[Decision] = (), over: Iterable[Obligation] = ()
) -> tuple[ValuePath, ...]:
    """The arguments that an approver may change where `decision` asks: those that every rule that asks names. `layers`
    are the decisions of the policy's layers, where it has several, and `over` the obligations that ask because a limit
    or a budget is used up."""
    asking = [rule for rule in layers if rule.verdict is Verdict.APPROVAL] or [decision]
    named = [_edits(one) for one in over]
    for rule in asking:
        own = [one for one in decision.obligations if (one.bundle, one.rule_id) == (rule.bundle, rule.rule_id)]
        named += [_edits(one) for one in own] or [()]
    first, *others = named
    return tuple(path for path in first if all(any(path.text == one.text for one in edits) for edits in others))


def _edits(obligation: Obligation) -> tuple[ValuePath, ...]:
    return obligation.asking.edits if obligation.asking is not None else ()


def changed(old: Any, new: Any, allowed: Iterable[ValuePath]) -> tuple[list[str], list[str]]:
    """The paths at which two arguments differ: those that may be changed, and those that may not."""
    may: list[str] = []
    may_not: list[str] = []
    paths = [path.parts for path in allowed]
    for where, within in _differences(old, new, (), paths):
        (may if within else may_not).append(_shown(where))
    return may, may_not


def is_sealed(value: Any) -> bool:
    """Whether a mark of a sealed value stands anywhere in a JSON value."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if one.keys() == {_MARK} and isinstance(one[_MARK], str) and one[_MARK].startswith("#"):
                return True
            left += one.values()
        elif isinstance(one, list):
            left += one
    return False


_Place = tuple[str | int, ...]
_Parts = tuple[str | int | PathSign, ...]


def _differences(old: Any, new: Any, at: _Place, paths: Sequence[_Parts]) -> Iterator[tuple[_Place, bool]]:
    if old is not _ABSENT and new is not _ABSENT and identity.canonical(old) == identity.canonical(new):
        return
    if any(not path for path in paths):
        yield at, True
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            below = [path[1:] for path in paths if path and _leads(path[0], key, PathSign.VALUES)]
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), (*at, key), below)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for position, (before, after) in enumerate(zip(old, new, strict=True)):
            below = [path[1:] for path in paths if path and _leads(path[0], position, PathSign.ELEMENTS)]
            yield from _differences(before, after, (*at, position), below)
    else:
        yield at, False


def _leads(part: str | int | PathSign, to: str | int, all_of: PathSign) -> bool:
    # A sign is a text too, and a key may be the same one.
    return part is all_of if isinstance(part, PathSign) else part == to


def _shown(where: _Place) -> str:
    shown = "args"
    for part in where:
        if isinstance(part, int):
            shown += f"[{part}]"
        else:
            shown += f".{part}" if part.isidentifier() and part.isascii() else f"[{identity.canonical(part)}]"
    return shown
