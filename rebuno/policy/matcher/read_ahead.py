"""Reads long texts before a decision. A decision blocks the event loop, so it must not read long texts itself."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.model import identity
from rebuno.policy.facets.registry import find_facet
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.parts import nodes_in

# In characters. The decision itself reads shorter texts, in a few milliseconds.
LONG_TEXT: Final = 2_048
# In one submission. The decision itself reads the texts beyond this number.
MAX_TEXTS_AHEAD: Final = 64

TextReader = Callable[[str], object]


def text_readers(policy: Policy) -> tuple[TextReader, ...]:
    """The functions that read long texts ahead for the facets of a policy, each once. The policy caches them."""
    if policy.readers is None:
        found = [known for name in sorted(facets_in(_all_bundles(policy))) if (known := find_facet(name)) is not None]
        policy.readers = tuple(dict.fromkeys(one.ahead for one in found if one.ahead is not None))
    return policy.readers


def reads_texts(policy: Policy) -> bool:
    """Whether a decision may go through a text many times: the policy has a facet or a `known` set. The policy caches
    the answer."""
    if policy.reads is None:
        statements = [one for bundle in _all_bundles(policy) for one in bundle.statements]
        known = any(isinstance(one, tree.Known) for one in statements)
        policy.reads = known or bool(facets_in(_all_bundles(policy)))
    return policy.reads


def _all_bundles(policy: Policy) -> tuple[tree.Bundle, ...]:
    return (*policy.bundles, *(bundle for shadow in policy.shadows for bundle in shadow.bundles))


def read_long_texts(readers: Iterable[TextReader], args: str) -> None:
    """Reads the long texts in `args`, arguments as canonical JSON, in any thread. The readers cache their results."""
    try:
        value = identity.reread(args)
    except ValidationError:
        return
    for text in _texts(value):
        for reader in readers:
            # A reader that fails here fails again in the decision, which reports it.
            with suppress(Exception):
                reader(text)


def _texts(value: Any) -> Iterator[str]:
    stack, left = [value], MAX_TEXTS_AHEAD
    while stack and left:
        one = stack.pop()
        if isinstance(one, str):
            if len(one) > LONG_TEXT:
                left -= 1
                yield one
        elif isinstance(one, dict):
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)


def facets_in(bundles: Iterable[tree.Bundle]) -> set[str]:
    """The names of the facets that decisions of these trees use. A claim decides nothing."""
    used: set[str] = set()
    for node in nodes_in(tuple(bundle.statements for bundle in bundles), without=tree.Never):
        if isinstance(node, tree.Operand | tree.At):
            used.update(name.text for name in node.facets)
    return used
