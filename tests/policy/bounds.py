"""The bounds of a decision, made small for a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from rebuno.policy.explain import evaluator as explain_tests
from rebuno.policy.explain import history as explain_history
from rebuno.policy.explain import provenance as explain_known
from rebuno.policy.matcher import fresh, growing, provenance, since, sources
from rebuno.policy.matcher import tests as element_tests

BOUNDS: Final = {
    "MAX_ELEMENT_TESTS": (element_tests, fresh, since, explain_history, explain_tests),
    "MAX_KNOWN_VALUES": (sources, provenance, explain_known),
    "MAX_ITEMS": (growing, explain_known),
}
Bounds = dict[str, int]


@contextmanager
def lowered(bounds: Bounds) -> Iterator[None]:
    """Makes the bounds small in all modules."""
    with pytest.MonkeyPatch.context() as patch:
        for name, modules in BOUNDS.items():
            for module in modules:
                patch.setattr(module, name, bounds[name])
        yield
