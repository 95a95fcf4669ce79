"""The rows of what people wrote: later turns of a run, and what the user wrote to the root of a delegation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnRow:
    """What the user wrote into a run after it began, the `number`-th time, from 1. `event_seq` is the number of its
    event `execution.said`, `said_at` its time in seconds since 1970; `said_by` is the name of a key or of a person."""

    execution_id: str
    number: int
    event_seq: int
    said_at: float
    said_by: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnWrite:
    """A turn to be written. `said` says which event of the batch (from 0) gives the number and the time."""

    turn: TurnRow
    said: int


@dataclass(frozen=True, slots=True)
class RootRow:
    """Of an execution that another one began: what the user wrote to the root of both, `root_id`, as it stood at the
    delegating step. `input`, `turns` (a list of texts) and `read_args` are canonical JSON; `read_args` are the
    arguments of that step if a person read and granted it. Without a user the input is `null`."""

    execution_id: str
    root_id: str
    input: str
    turns: str
    read_args: str | None = None
