"""What every open store says of sealed executions where it has no ring: it can read none of them."""

from typing import TYPE_CHECKING

from rebuno.errors import SealErased, SealKeyMissing
from rebuno.journal.data_keys import DataKeyRow
from rebuno.journal.records import ExecutionRow

if TYPE_CHECKING:
    from rebuno.sealing import ExecutionKey, KeyRing


class WithoutRing:
    """A store that was opened without a key ring."""

    ring: "KeyRing | None" = None

    async def data_key(self, execution_id: str) -> DataKeyRow | None:
        """The wrapped data key of an execution, if it has one."""
        raise NotImplementedError

    async def sealed(self, execution: ExecutionRow, *, secrets: bool = False) -> ExecutionRow:
        """A new execution as it is: nothing is sealed here. Raises `SealKeyMissing` where it has `secrets`."""
        if secrets:
            raise SealKeyMissing("any", execution_id=execution.id)
        return execution

    def seals_whole(self, execution_id: str) -> bool:
        """Nothing is opened here."""
        return False

    async def execution_key(self, execution: ExecutionRow) -> "ExecutionKey | None":
        """None where an execution is not sealed. Raises `SealKeyMissing` or `SealErased` where it is."""
        if not execution.seal:
            return None
        row = await self.data_key(execution.id)
        if row is not None and row.wrapped is None:
            raise SealErased(execution.id)
        raise SealKeyMissing(execution.seal, execution_id=execution.id)
