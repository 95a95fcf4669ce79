"""The data keys of executions as a store keeps them: wrapped, or erased."""

from dataclasses import dataclass
from typing import Any, Final

ALL: Final = "all"
SECRETS: Final = "secrets"


@dataclass(frozen=True, slots=True)
class DataKeyRow:
    """The data key of an execution, `wrapped` under the key `key_id` of a ring; None once it was erased, at `erased_at`
    by the principal `erased_by`. `covers` is `all` where every payload is sealed, `secrets` where only single values
    are. Until `purged_at` bytes of the store's files may still hold it. Times are seconds since 1970, 0: not yet."""

    execution_id: str
    key_id: str
    covers: str
    wrapped: bytes | None
    created_at: float = 0.0
    erased_at: float = 0.0
    erased_by: str = ""
    purged_at: float = 0.0


@dataclass(frozen=True, slots=True)
class SealedText:
    """What of a sealed execution is kept as ciphertext: the whole of a text that is written with marks, a value that is
    looked for, or where sealed values stand. `slot` says which."""

    slot: str
    text: bytes


def data_key(row: tuple[Any, ...]) -> DataKeyRow:
    """A row of `data_keys`."""
    return DataKeyRow(*row)
