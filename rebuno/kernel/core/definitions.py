"""Keeps what servers say of their tools: the text of each definition once, before a step is recorded that names it."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from rebuno.journal.store import Store
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Need
from rebuno.model.definition import Definition

# The digests whose texts this process has seen in a store.
_saved: "WeakKeyDictionary[Store, set[str]]" = WeakKeyDictionary()


def unsaved(attempt: Attempt, definition: Definition) -> "DefinitionNeeded | None":
    """A Need where the store may not have the text of a definition yet."""
    if not definition.text or definition.digest in _saved.setdefault(attempt.store, set()):
        return None
    return DefinitionNeeded(definition)


@dataclass(slots=True)
class DefinitionNeeded(Need):
    """The text of a definition has to be kept first: a digest in the log that nobody can read says nothing."""

    definition: Definition

    async def meet(self, attempt: Attempt) -> None:
        """Keeps it."""
        await attempt.store.save_definition(self.definition.digest, self.definition.text)
        _saved.setdefault(attempt.store, set()).add(self.definition.digest)
        # INVARIANT: what was decided before an await is decided again, so that it rests on the end of the log.
        await attempt.current()
