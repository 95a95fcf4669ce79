"""A reader that fails is told of as such: in the log, and where a decision is explained."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rebuno.policy.compile import compile_text
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets import registry
from rebuno.policy.facets.sql import tree
from rebuno.policy.matcher.facts import Evidence, Facts, History

TESTS = {
    "path": 'path of args.v == "/a"',
    "host": 'host of args.v == "a.example"',
    "link": 'any link of args.v under "a.example"',
    "domain": 'domain of args.v == "a.example"',
    "command": 'any command of args.v like "ls"',
    "statement": 'any statement of args.v == "select"',
    "function": 'any function of args.v == "count"',
    "date": 'date of args.v == "2025-01-11"',
    "number": "number of args.v == 5",
    "text": 'any text of args.v == "a"',
    "size": "size of args.v == 3",
}


def _fails(error: type[Exception]) -> Callable[..., Any]:
    def fails(*_: Any, **__: Any) -> Any:
        raise error("the reader's own")

    return fails


def _told(test: str, caplog: pytest.LogCaptureFixture, error: str) -> None:
    facts = Facts("tool_call", "t", {"v": "select 1"})
    for verdict, rule in (("allow", "default"), ("deny", "r")):
        policy = compile_text(f'default allow\nrule r {{ {verdict} tool "t" when {test} }}')
        trace = explain_decision(policy, facts)
        assert policy.decide(facts).rule_id == trace.decision.rule_id == rule
        assert f"failed ({error}), which is no fault of the value" in str(trace.to_json())
    assert [record for record in caplog.records if record.levelno == logging.ERROR and record.exc_info]


@pytest.mark.parametrize("error", [ZeroDivisionError, AttributeError, RecursionError, KeyError])
@pytest.mark.parametrize("name", TESTS)
def test_a_reader_that_fails_is_told_of(
    name: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours and those of packages alike; the answer is maybe, so nothing is let through."""
    whole = registry.find_facet(name)
    assert whole is not None
    broken = replace(whole, read=_fails(error))
    monkeypatch.setitem(registry.BUILT_IN_FACETS, name, registry.BUILT_IN_FACETS[name])
    module = __import__(f"rebuno.policy.facets.{registry.BUILT_IN_FACETS[name]}", fromlist=["FACETS"])
    monkeypatch.setattr(module, "FACETS", tuple(broken if one.name == name else one for one in module.FACETS))
    registry.find_facet.cache_clear()
    try:
        _told(TESTS[name], caplog, error.__name__)
    finally:
        registry.find_facet.cache_clear()


@pytest.mark.parametrize("error", [AttributeError, TypeError, AssertionError, RecursionError, ValueError])
def test_the_parser_s_own_failure_is_told_of(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What sqlglot fails with, but for the errors by which it refuses a text, is no word on the text."""
    monkeypatch.setattr(tree, "_read_dialect", _fails(error))
    tree.read_sql.cache_clear()
    try:
        _told('any statement of args.v == "select"', caplog, error.__name__)
    finally:
        tree.read_sql.cache_clear()


def test_a_text_that_cannot_be_read_is_its_own_fault(caplog: pytest.LogCaptureFixture) -> None:
    """It is explained as before, and nothing is logged."""
    policy = compile_text('default allow\nrule r { deny tool "t" when any statement of args.v == "select" }')
    told = str(explain_decision(policy, Facts("tool_call", "t", {"v": "alter nonsense ("})).to_json())
    assert "cannot be read" in told
    assert "failed" not in told
    assert not caplog.records


@pytest.mark.parametrize("source", ["input", 'result of tool "read" at text'])
@pytest.mark.parametrize("name", ["path", "domain", "date", "number"])
def test_a_finder_that_fails_leaves_doubt(
    name: str, source: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What could not be searched may hold the value: it is let through by no rule, and stopped by each."""
    whole = registry.find_facet(name)
    assert whole is not None
    module = __import__(f"rebuno.policy.facets.{registry.BUILT_IN_FACETS[name]}", fromlist=["FACETS"])
    broken = replace(whole, find=_fails(ZeroDivisionError))
    monkeypatch.setattr(module, "FACETS", tuple(broken if one.name == name else one for one in module.FACETS))
    registry.find_facet.cache_clear()
    try:
        value = {"path": "/a", "domain": "a@b.example", "date": "2025-01-11", "number": 5}[name]
        for verdict, rule in (("allow", "default"), ("deny", "r")):
            policy = compile_text(
                f"default {'deny' if verdict == 'allow' else 'allow'}\nknown k = {source}\n"
                f'rule r {{ {verdict} tool "t" when {name} of args.v in k }}'
            )
            past = History([Evidence(1, "tool_call", "read", {}, {"text": "a text"})])
            facts = Facts("tool_call", "t", {"v": value}, input="a text", history=past)
            trace = explain_decision(policy, facts)
            assert policy.decide(facts).rule_id == trace.decision.rule_id == rule
        assert [record for record in caplog.records if record.levelno == logging.ERROR and record.exc_info]
    finally:
        monkeypatch.undo()
        registry.find_facet.cache_clear()
