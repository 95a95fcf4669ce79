"""What a served kernel asks a store for besides executions."""

from rebuno.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AgentPolicy:
    """The text of an agent's bundle; `version` counts its changes from 1."""

    agent_id: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of executions in each state, and of dispatches that are due or delivered."""

    executions: tuple[tuple[str, int], ...]
    queued: int
    claimed: int
