"""Every cell of the tables of doubt is what both evaluators answer, and no predicate and no facet is left out."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from rebuno.policy import (
    BUILT_IN_FACETS,
    TYPE_WORDS,
    Facts,
    Op,
    Policy,
    Source,
    compile_text,
    explain_decision,
    find_facet,
    parse_bundle,
    read_submission,
)
from rebuno.policy import tree as s
from tests.docs.pages import ROOT, blocks

PAGE = "docs/doubt.md"
NAMES = next(block.body for block in blocks(PAGE) if block.sort == "rbp fragment")
# What stands beside `args.a` in a section of the page.
BESIDE = {"The other side": {"b": "x"}}
SETS = next(block.body for block in blocks(PAGE) if "known vouched" in block.body)
_SEARCH = {"target": "search", "result": [{"id": "x100", "name": "Ann", "note": "x100, x2"}]}
# What there is under the heads of the columns in the section "The run".
RUNS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a turn": {"turns": ["stop x100"]},
    "delegated": {"parent": "planner", "input": {"request": "x100"}, "root_input": {"request": "sum up my mail"}},
    "defined": {"definition": {"server": "bank", "name": "t", "digest": "9f"}},
    "searched": {"history": [_SEARCH]},
    "granted": {"history": [_SEARCH | {"approved": True}]},
    "running": {"history": [{"target": "search", "status": "executing"}]},
    "named": {"history": [_SEARCH], "input": {"request": "find Ann"}},
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: what it is about, and its cells under the heads of their columns."""

    section: str
    columns: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def code(self) -> str:
        """What its first cell shows as code."""
        return _code(self.cells[0])[0]


def _code(cell: str) -> list[str]:
    return [double or single for double, single in re.findall(r"`` (.+?) ``|`([^`]+)`", cell)]


def _rows(first: str) -> Iterator[Row]:
    section = ""
    columns: tuple[str, ...] = ()
    for line in (ROOT / PAGE).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif not line.startswith("| "):
            columns = ()
        elif not columns:
            columns = tuple(cell.strip() for cell in line.strip("| ").split(" | "))
        elif columns[0] == first and "---" not in line:
            yield Row(section, columns, tuple(cell.strip() for cell in line.strip("| ").split(" | ")))


TESTS = [row for row in _rows("test") if row.section != "History and time"]
HISTORY = [row for row in _rows("test") if row.section == "History and time"]
RUN = list(_rows("of the run"))
FACETS = list(_rows("facet"))


def _policies(test: str, sets: str = "") -> tuple[Policy, Policy]:
    known = [sets] if sets else [line for line in NAMES.splitlines() if line.split()[1] in test.split()]
    made = []
    for verdict, other in (("allow", "deny"), ("deny", "allow")):
        rule = f'rule r {{\n  {verdict} tool "t"\n  when {test}\n}}'
        made.append(compile_text("\n".join([f"default {other}", *known, rule, ""])))
    return made[0], made[1]


def _answer(policies: tuple[Policy, Policy], args: Any) -> str:
    return _of(policies, Facts("tool_call", "t", args, input="y"))


def _of(policies: tuple[Policy, Policy], facts: Facts) -> str:
    """What the test answers: an allow rule matches on yes alone, a deny rule on yes and maybe."""
    allowed, denied = (policy.decide(facts).rule_id == "r" for policy in policies)
    answer = "yes" if allowed else "maybe" if denied else "no"
    assert explain_decision(policies[0], facts).rules[0].answer == answer
    return answer


def _args(column: str, beside: dict[str, Any]) -> Any:
    if column == "left out":
        return beside
    return "no object" if column == "out of reach" else {"a": json.loads(_code(column)[0]), **beside}


def _tests() -> list[s.Test]:
    found = []
    for row in TESTS:
        bundle, _ = parse_bundle(Source(f'rule r {{\n  deny tool "t"\n  when {row.code}\n}}\n', "row"))
        rule = next(statement for statement in bundle.statements if isinstance(statement, s.Rule))
        when = next(clause for clause in rule.clauses if isinstance(clause, s.When))
        test = when.expr.item if isinstance(when.expr, s.Not) else when.expr
        assert isinstance(test, s.Test)
        found.append(test)
    return found


@pytest.mark.parametrize("row", TESTS, ids=[f"{row.section}: {row.code}" for row in TESTS])
def test_every_cell_is_true(row: Row) -> None:
    """Which way doubt falls is the promise that a reviewer relies on."""
    policies = _policies(row.code)
    beside = BESIDE.get(row.section, {})
    answers = [_answer(policies, _args(column, beside)) for column in row.columns[1:]]
    assert list(row.cells[1:]) == answers


@pytest.mark.parametrize("row", HISTORY, ids=[row.code for row in HISTORY])
def test_every_cell_about_earlier_steps_is_true(row: Row) -> None:
    """What may have happened is not what has happened."""
    answers = []
    for status in row.columns[1:]:
        earlier = {"target": "web_get", "args": {"url": "x"}, "status": status}
        if status == "succeeded":
            earlier["result"] = {"ok": True}
        step = {"target": "t", "history": [] if status == "none" else [earlier]}
        answers.append(_of(_policies(row.code), read_submission(step).facts()))
    assert list(row.cells[1:]) == answers


@pytest.mark.parametrize("row", RUN, ids=[row.code for row in RUN])
def test_every_cell_about_the_run_is_true(row: Row) -> None:
    """Who wrote, who began, who let in: each answer is the one that the page shows."""
    policies = _policies(row.code, SETS)
    answers = []
    for column in row.columns[1:]:
        step = {"target": "t", "args": {"a": "x100", "text": "see x100z"}} | RUNS[column]
        answers.append(_of(policies, read_submission(step).facts()))
    assert list(row.cells[1:]) == answers


@pytest.mark.parametrize(("now", "answer"), [(None, "maybe"), (1769767200.0, "yes"), (1769853600.0, "no")])
def test_without_a_clock_the_time_is_in_doubt(now: float | None, answer: str) -> None:
    """A Friday at ten, a Saturday at ten, and no time at all."""
    policies = _policies('during "Mon-Fri 09:00-17:00 UTC"')
    assert _of(policies, Facts("tool_call", "t", {}, now=now)) == answer


@pytest.mark.parametrize("row", FACETS, ids=[row.code for row in FACETS])
def test_what_a_facet_does_not_read_is_in_doubt(row: Row) -> None:
    """Values that the page calls doubtful are maybe, those that it calls empty are not there."""
    given = _policies(f"{row.code} of args.a given")
    facet = find_facet(row.code)
    assert facet is not None
    read = _policies(f"every {row.code} of args.a has (it given)") if facet.many else given
    _, doubtful, nothing = row.cells
    assert {_answer(read, {"a": json.loads(value)}) for value in _code(doubtful)} <= {"maybe"}
    assert {_answer(given, {"a": json.loads(value)}) for value in _code(nothing)} <= {"no"}
    assert _code(doubtful) or _code(nothing)


def test_no_predicate_is_left_out() -> None:
    """Each stands there as it is and turned round, `is` with each of its types."""
    rows = zip((row.section for row in TESTS), (row.code for row in TESTS), _tests(), strict=True)
    shown = [
        (test.op, test.negated or code.startswith("not ")) for section, code, test in rows if section == "Predicates"
    ]
    # `!=` is what turns `==` round.
    wanted = {(op, turned) for op in Op for turned in (False, True) if not (turned and op in (Op.EQ, Op.NE))}
    assert wanted <= set(shown)
    types = {test.right.value for test in _tests() if test.op is Op.IS and isinstance(test.right, s.Literal)}
    assert types == set(TYPE_WORDS)


def test_no_facet_is_left_out() -> None:
    """Each has its tests, a set with each of the three words, and a row of examples."""
    asked = {(test.operand.facets[0].text, test.operand.quantifier) for test in _tests() if test.operand.facets}
    for name in BUILT_IN_FACETS:
        facet = find_facet(name)
        assert facet is not None
        words = list(s.Quantifier) if facet.many else [None]
        assert {(name, word) for word in words} <= asked
    assert sorted(row.code for row in FACETS) == sorted(BUILT_IN_FACETS)
