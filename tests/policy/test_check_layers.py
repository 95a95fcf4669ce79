"""A rule that another layer's default makes pointless is told of."""

import pytest

from rebuno.policy.check.layers import check_layers
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source

CASES: list[tuple[bool, str, str]] = [
    (True, 'allow tool "pay"', 'default deny\nrule o { allow tool "get_*" }'),
    (True, 'require approval for tool "pay*"', 'rule o { allow tool "get_*" }'),  # no default denies
    (True, 'allow tool "pay"', 'default deny\nrule o { deny tool "pay" }'),
    (True, 'allow tool "pay"', 'default deny\nrule o { allow llm "*" }'),
    (False, 'allow tool "pay"', 'default deny\nrule o { allow tool "p*" when args.x == 1 }'),
    (False, 'allow tool "get", "pay"', 'default deny\nrule o { require approval for tool "pay" }'),
    (False, 'allow tool "pay"', 'default allow\nrule o { allow tool "get_*" }'),
    (False, 'deny tool "pay"', 'default deny\nrule o { allow tool "get_*" }'),
    (False, 'allow local "pay"', 'default deny\nrule o { allow tool "get_*" }'),  # no default denies what is local
    (False, "allow any step", "default deny\nlet none = [\"x\"]"),
]  # fmt: skip


@pytest.mark.parametrize(("pointless", "rule", "layer"), CASES)
def test_rules_under_a_layer(pointless: bool, rule: str, layer: str) -> None:
    """What the layer denies by default, and lets through nowhere, no rule below it can let through."""
    bundle, _ = parse_bundle(Source(f"default deny\nrule r {{ {rule} }}"))
    other, errors = parse_bundle(Source(layer, stem="org"))
    assert errors == []
    assert [d.code for d in check_layers(bundle, [other])] == (["pointless"] if pointless else [])


def test_a_bundle_is_not_held_against_itself() -> None:
    """A folder may hold the layer that is named beside it."""
    bundle, _ = parse_bundle(Source('rule r { deny tool "pay" }\nrule s { allow tool "pay" }'))
    assert check_layers(bundle, [bundle]) == []
