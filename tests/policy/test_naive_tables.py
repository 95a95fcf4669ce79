"""The examples and verdict tables of the contract: by the plain evaluator, and by the compiler where it is that far."""

import pytest

from rebuno.policy.compile import compile_text
from rebuno.policy.explain.explain import explain_decision
from tests.policy.naive import contract, contract_history, contract_sums
from tests.policy.naive.constructs import on
from tests.policy.naive.reading import policy_of, tree_of
from tests.policy.naive.rules import judge
from tests.policy.naive.submissions import afresh
from tests.policy.naive.tables import Row, VerdictTable

TABLES = [*contract.TABLES, *contract_history.TABLES, *contract_sums.TABLES]
ROWS = [pytest.param(table, row, id=f"{table.name}: {row[0]}") for table in TABLES for row in table.rows]


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_a_row_of_a_table(table: VerdictTable, row: Row) -> None:
    """The answer of the rule, and the rule that decides."""
    _, facts, rule, answer, decided = row
    plain = judge(tree_of(table.bundle), facts)
    assert plain.answers[rule] is answer
    assert plain.rule == decided
    if not on(*table.needs):
        return
    policy = policy_of(table.bundle)
    assert policy.decide(afresh(facts)).rule_id == decided
    trace = explain_decision(policy, afresh(facts))
    assert trace.decision.rule_id == decided
    (told,) = (one.answer for one in trace.rules if one.rule_id == rule)
    assert told is None or told.value == {True: "yes", False: "no", None: "maybe"}[answer]


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_a_table_has_a_bundle_without_errors(table: VerdictTable) -> None:
    """The bundles of the contract pass the check."""
    if on(*table.needs):
        compile_text(table.bundle)
