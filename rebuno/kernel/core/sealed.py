"""Opens what is sealed: the store as a sealed execution uses it, for one that is there and for one that begins."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from rebuno.errors import KeyRingError, NotFoundError
from rebuno.journal.records import ExecutionRow
from rebuno.journal.store import Store
from rebuno.policy import Policy, SealedPlaces, sealed_places

if TYPE_CHECKING:
    from rebuno.journal.served import ServedStore
    from rebuno.kernel.core.seals import Seals
    from rebuno.sealing import KeyRing

S = TypeVar("S", bound=Store)


def plain(store: S) -> S:
    """The store itself, without what one execution sees through."""
    found: S = getattr(store, "plain", store)
    return found


def seals_of(store: Store) -> "Seals | None":
    """What is sealed in the execution that a store was opened for; None for the store itself."""
    found: Seals | None = getattr(store, "seals", None)
    return found


async def opened(store: S, execution: ExecutionRow, policy: Policy | None = None) -> S:
    """The store as the execution uses it, which writes marks and reads what is clear; the store itself where the
    execution has no seal. `policy` is today's, which may seal more.

    Raises:
        SealKeyMissing: the ring does not have its key, or there is no ring.
        SealErased: its data key was destroyed.
        SealBroken, StoreError
    """
    store = plain(store)
    if not execution.seal:
        return store
    # Few executions are sealed.
    from rebuno.kernel.core.sealed_store import SealedStore
    from rebuno.kernel.core.seals import Seals

    key = await store.execution_key(execution)
    assert key is not None
    places = (sealed_places(policy) if policy is not None else None) or SealedPlaces()
    view = SealedStore(
        cast("ServedStore", store), Seals(_ring(store), key, places, whole=store.seals_whole(execution.id))
    )
    await view.load()
    return cast(S, view)


async def with_parent(store: S, parent_id: str, step_id: str) -> tuple[S, ExecutionRow | None, tuple[str, str] | None]:
    """The store as an execution uses it that begins another one, its row (None where it is in another store), and the
    kind and target of the step in whose body it does (None: in none that is known). Raises as `opened`."""
    store = plain(store)
    try:
        parent = await store.execution(parent_id)
    except NotFoundError:
        return store, None, None
    view = await opened(store, parent)
    if not parent.seal or not step_id:
        return view, parent, None
    try:
        step = await store.step(step_id)
    except NotFoundError:
        return view, parent, None
    return view, parent, (step.kind.value, step.target)


async def has_other_input(store: Store, execution: ExecutionRow, input: str) -> bool:
    """Whether an execution was begun with another input than this canonical JSON. Raises as `opened`."""
    seals = seals_of(await opened(store, execution)) if execution.seal else None
    if seals is None:
        return execution.input != input
    # The text itself may have been erased.
    first = await store.events(execution.id, limit=1)
    return not first or first[0].payload.get("input_hash") != seals.digest(input)


async def inherit(store: S, execution: ExecutionRow, before: ExecutionRow | None) -> S:
    """The store as an execution uses it that goes on from the one `before` it, whose values the next write takes along.
    Raises as `opened`."""
    view = await opened(store, execution)
    seals = seals_of(view)
    if seals is not None and before is not None and before.seal:
        others = seals_of(await opened(store, before))
        seals.learn(others.all() if others is not None else (), on_record=False)
    return view


async def masked(store: Store, execution: ExecutionRow, text: str) -> str:
    """What a person or a client says of a sealed execution, with marks. Raises as `opened`, where there is a text."""
    if not text or not execution.seal:
        return text
    seals = seals_of(await opened(store, execution))
    return text if seals is None else seals.text(text)


async def sealed_start(
    store: S,
    new: ExecutionRow,
    policy: Policy | None,
    *,
    parent: ExecutionRow | None = None,
    step: tuple[str, str] | None = None,
    source: ExecutionRow | None = None,
    before: Sequence[ExecutionRow] = (),
) -> tuple[S, ExecutionRow]:
    """The store through which a new execution is created, and its row, which names the key of the ring: the store
    itself, and the row as it is, where nothing is sealed.

    It is sealed where its policy has a `secret`, and where one that it is made from is: the `parent` that begins it (in
    the body of a `step` of this kind and target), the `source` whose copy it is, those `before` it in its session.

    Raises:
        KeyRingError: its policy has a `secret`, and there is no key ring.
        SealKeyMissing: the ring does not have the key of one that it is made from.
        StoreError
    """
    store = plain(store)
    places = sealed_places(policy) if policy is not None else None
    if places is not None and store.ring is None:
        assert policy is not None
        raise needs_ring(policy)
    others = [one for one in (parent, source, *before) if one is not None and one.seal]
    new = await store.sealed(new, secrets=places is not None or bool(others))
    if not new.seal:
        return store, new
    from rebuno.kernel.core.sealed_store import SealedStore
    from rebuno.kernel.core.seals import Seals

    places = places or SealedPlaces()
    values = []
    for other in others:
        seen = seals_of(await opened(store, other))
        assert seen is not None
        values += seen.all()
        if other is source:
            places |= seen.places
        elif other is parent:
            places |= seen.places.below(*(step or ()))
    key = await store.execution_key(new)
    assert key is not None
    seals = Seals(_ring(store), key, places, whole=store.seals_whole(new.id))
    seals.learn(values, on_record=False)
    return cast(S, SealedStore(cast("ServedStore", store), seals)), new


def _ring(store: Store) -> "KeyRing":
    assert store.ring is not None
    return store.ring


def needs_ring(policy: Policy) -> KeyRingError:
    """The error where a bundle seals values and there is no key."""
    return KeyRingError(
        f"the bundle `{policy.name}` has a `secret`, and there is no key to seal values with; give a key ring"
        " (`key_ring=`, `--key-ring`)"
    )


def check_ring(policy: Policy, store: Store) -> None:
    """Refuses a policy with a `secret` on a store without a key ring.

    Raises:
        KeyRingError
    """
    if store.ring is None and sealed_places(policy) is not None:
        raise needs_ring(policy)
