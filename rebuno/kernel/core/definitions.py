"""Keeps what servers say of their tools: the text of each definition once, before a step is recorded that names it."""

from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

from rebuno.journal.store import Store
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Need
from rebuno.model.definition import Definition

# How many digests are remembered: an agent may send as many as it likes.
_MOST: Final = 10_000
# The stores in which this process has seen the text of a digest.
_saved: dict[str, WeakSet[Store]] = {}


def unsaved(attempt: Attempt, definition: Definition) -> "DefinitionNeeded | None":
    """A Need where the store may not have the text of a definition yet."""
    if definition.digest in attempt.described or not definition.text:
        return None
    stores = _saved.get(definition.digest)
    if stores is None or attempt.store not in stores:
        return DefinitionNeeded(definition)
    attempt.described.add(definition.digest)
    return None


@dataclass(slots=True)
class DefinitionNeeded(Need):
    """The text of a definition has to be kept first: a digest in the log that nobody can read says nothing."""

    definition: Definition

    async def meet(self, attempt: Attempt) -> None:
        """Keeps it."""
        await attempt.store.save_definition(self.definition.digest, self.definition.text)
        if len(_saved) >= _MOST:
            _saved.clear()
        _saved.setdefault(self.definition.digest, WeakSet()).add(attempt.store)
        # INVARIANT: what was decided before an await is decided again, so that it rests on the end of the log.
        await attempt.current()
