"""What servers say of their tools, as the store keeps it."""

from functools import partial

from rebuno import types
from rebuno.errors import StoreCorrupt, ValidationError
from rebuno.journal.store import Store
from rebuno.kernel import views
from rebuno.kernel.core.heavy import LONG, beside
from rebuno.model.definition import digest_of


async def tools(store: Store) -> list[types.ToolDefinition]:
    """Every definition that a store keeps, by server, name and digest.

    Raises:
        StoreCorrupt: one was changed.
        StoreError
    """
    found: list[types.ToolDefinition] = []
    while page := await store.definitions(after=found[-1].digest if found else ""):
        for digest, text in page:
            if digest_of(text) != digest:
                raise StoreCorrupt(f"the definition under the digest `{digest[:12]}` was changed; restore a copy")
            try:
                read = partial(views.tool, digest, text)
                found.append(read() if len(text) <= LONG else await beside(read))
            except ValidationError as error:
                raise StoreCorrupt(f"the definition under the digest `{digest[:12]}` is none: {error}") from None
    return sorted(found, key=lambda one: (one.server, one.name, one.digest))
