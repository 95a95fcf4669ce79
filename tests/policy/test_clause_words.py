"""Findings name a clause by its keyword."""

import pytest

from rebuno.policy import Source, check_bundle, parse_bundle


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("limit 3 per 1h limit 4 per 1h", "`limit` appears twice"),
        ("budget 5 tokens per execution budget 6 tokens per execution", "`budget` appears twice"),
        ("limit 0 per 1h", "`limit 0` never lets anything pass"),
    ],
)
def test_a_clause_is_named_as_it_is_written(clauses: str, message: str) -> None:
    """The author searches the bundle for the word that the message gives."""
    bundle, errors = parse_bundle(Source(f'bundle b\ndefault deny\nrule r {{ allow tool "a" {clauses} }}'))
    found = [finding.message for finding in [*errors, *check_bundle(bundle)]]
    assert any(message in one for one in found), found
