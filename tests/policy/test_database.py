"""The bundle for databases: usual queries run, changes are asked about, and what does more does not run."""

from functools import cache
from pathlib import Path

import pytest

from rebuno.policy.compile import compile_bundle
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.source import read_source
from tests.policy.queries import ASKED, HOSTILE, USUAL


@cache
def _policy() -> Policy:
    return compile_bundle(read_source(Path(__file__).parents[2] / "policies" / "database.rbp"))


def _verdict(text: str) -> str:
    facts = Facts("tool_call", "query", {"sql": text}, agent="a", input=None)
    verdict = _policy().decide(facts).verdict
    assert explain_decision(_policy(), facts).decision.verdict is verdict
    return str(verdict)


@pytest.mark.parametrize("text", USUAL)
def test_a_usual_query_runs(text: str) -> None:
    """A query of listed tables that only computes is not asked about, whatever its columns are called."""
    assert _verdict(text) == "allow"


@pytest.mark.parametrize("text", HOSTILE)
def test_what_does_more_does_not_run(text: str) -> None:
    """A function, a table, a lock or a spelling that no rule lists is not allowed."""
    assert _verdict(text) in ("deny", "require_approval")


@pytest.mark.parametrize(
    "text",
    [
        "delete from (select * from customers)",
        "delete from (select * from customers) as c",
        "with orders as (select * from customers) delete from orders",
        "with orders as (select * from customers) delete orders",
        "with orders as (select * from customers) update orders set note = 'x'",
        "with o as (select * from customers), orders as (select * from o) delete from orders",
        "with o as (select * from customers) update orders set note = 'x' from o orders",
        "update orders set note = 'x' from (select * from customers) orders",
        "update orders set note = 'x' from products, (select * from customers) as orders",
        "delete orders from (select * from customers) orders",
        "delete orders from products join (select * from customers) orders on true",
        "delete from customers using orders",
        "update orders join customers using (id) set customers.name = 'x'",
        "update customers as orders set name = 'x'",
        "select orders.nextval from orders",
        "select s.nextval, s.id from orders s",
        "select s.currval from orders s",
        "select * from orders setuser",
    ],
)
def test_no_person_is_asked(text: str) -> None:
    """What changes a table that is not listed, also through a query of its name, moves a sequence or takes other rights
    is denied."""
    assert _verdict(text) == "deny"


@pytest.mark.parametrize("text", ASKED)
def test_a_change_is_asked_about(text: str) -> None:
    """Rows of a table that may change, with whatever is only read beside it."""
    assert _verdict(text) == "require_approval"
