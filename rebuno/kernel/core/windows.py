"""The windows in which a rule's own limits of steps count, for an execution, an agent or all agents."""

from rebuno.journal.records import ExecutionRow
from rebuno.model import identity
from rebuno.model.obligation import LimitScope


def window(bundle: str, rule_id: str, scope: LimitScope, execution: ExecutionRow) -> str:
    """The key of the window in which the limit of a rule counts a step of this execution."""
    # INVARIANT: two windows have two keys, whatever the names hold; those of one execution begin with its id.
    match scope:
        case LimitScope.EXECUTION:
            return execution.id + identity.canonical([bundle, rule_id])
        case LimitScope.AGENT:
            return identity.canonical(["agent", bundle, rule_id, execution.agent_id])
        case LimitScope.GLOBAL:
            return identity.canonical(["all", bundle, rule_id])
        case LimitScope.SESSION | LimitScope.KEY:
            raise ValueError(f"a limit for each {scope} counts in no window")
