"""SQL by statement, tables and functions: plain reads of the tables that were read before."""

from collections.abc import Iterable, Sequence
from typing import Any

from rebuno.policy.facets.reading import NO_CONTEXT
from rebuno.policy.facets.registry import FacetError, find_facet
from rebuno.policy.suggest.text import listed
from rebuno.policy.suggest.ways import OPERAND, Strength, Way

_READS = ("select", "explain")


def reads_of(queries: Sequence[Any]) -> Way | None:
    """The way for queries that only read; None if there are none, or the package that reads SQL is not installed."""
    readable = [query for query in queries if _only_reads(query)]
    if not readable:
        return None

    def narrow(seen: Sequence[Any]) -> Way:
        return _over([query for query in seen if query in readable])

    return Way("query", _over(readable).template, Strength.LITERAL, narrow, compound=True)


def _only_reads(query: Any) -> bool:
    found = _values("statement", query) or ["unknown"]
    return all(one in _READS for one in found) and None not in (_values(name, query) for name in _NAMES)


_NAMES = ("table", "function")


def _over(queries: Iterable[Any]) -> Way:
    each = list(queries)
    tests = [f"every statement of {OPERAND} in {listed(_READS)}"]
    for facet in _NAMES:
        names = {one for query in each for one in _values(facet, query) or ()}
        tests.append(f"every {facet} of {OPERAND} in {listed(names)}" if names else f"{facet} of {OPERAND} missing")
    return Way("query", " and ".join(tests), Strength.LITERAL, compound=True)


def _values(name: str, query: Any) -> list[str] | None:
    """The values of a facet as texts; None where it cannot be read, or the facet is not installed."""
    try:
        facet = find_facet(name)
    except FacetError:
        return None
    found = facet.read(query, NO_CONTEXT) if facet is not None and isinstance(query, str) else None
    if not isinstance(found, list):
        return None
    return [str(one) for one in found]
