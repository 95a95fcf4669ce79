"""Limits by amount, value, session and with a name: what compiles to what, what `check` says, what they measure."""

from typing import Any

import pytest

from rebuno.errors import BundleError
from rebuno.model.obligation import Budget, Limit, LimitScope, Otherwise, PathSign, ValuePath
from rebuno.policy import Facts, Source, check_bundle, compile_text, explain_decision, link_bundle, measured, read_tools
from rebuno.policy.check.tools import check_tools

AMOUNT = ValuePath("args.amount", "args", ("amount",))


def limit_of(clause: str, before: str = "") -> Limit | None:
    """The limit of a rule with this clause."""
    policy = compile_text(f'default deny\n{before}\nrule r {{ allow tool "act" {clause} }}')
    return policy.decide(Facts("tool_call", "act", {})).obligations[0].limit


@pytest.mark.parametrize(
    ("clause", "before", "limit"),
    [
        (
            "limit 500.5 of args.amount per 24h for all agents together",
            "",
            Limit(500.5, 86_400, LimitScope.GLOBAL, Otherwise.RATE_LIMITED, measure=(AMOUNT,)),
        ),
        (
            "limit daily else wait up to 5m if unavailable allow",
            "limit daily = 500 of args.amount per 24h for each agent",
            Limit(500, 86_400, LimitScope.AGENT, Otherwise.WAIT, 300, True, (AMOUNT,), name="daily"),
        ),
        ("limit 3 per session", "", Limit(3, None, LimitScope.SESSION, Otherwise.RATE_LIMITED)),
        ("limit 3 per 1h for each session", "", Limit(3, 3600, LimitScope.SESSION, Otherwise.RATE_LIMITED)),
        (
            'limit 1 per 1h for each args["odd key"].id else deny',
            "",
            Limit(
                1,
                3600,
                LimitScope.KEY,
                Otherwise.DENY,
                key=ValuePath('args["odd key"].id', "args", ("odd key", "id")),
            ),
        ),
        (
            "limit 1 of (args.items[].price, args.fees.*, args.rest[0]) per execution",
            "",
            Limit(
                1,
                None,
                LimitScope.EXECUTION,
                Otherwise.RATE_LIMITED,
                measure=(
                    ValuePath("args.items[].price", "args", ("items", PathSign.ELEMENTS, "price")),
                    ValuePath("args.fees.*", "args", ("fees", PathSign.VALUES)),
                    ValuePath("args.rest[0]", "args", ("rest", 0)),
                ),
            ),
        ),
    ],
)
def test_what_a_limit_is_compiled_to(clause: str, before: str, limit: Limit) -> None:
    """All that a clause and its statement say."""
    assert limit_of(clause, before) == limit


def test_a_budget_of_a_session() -> None:
    """It is one of the session, not of the execution."""
    policy = compile_text('rule r { allow llm "m" budget 5 tokens per session else require approval }')
    budget = policy.decide(Facts("llm_call", "m")).obligations[0].budget
    assert budget == Budget(5, Otherwise.APPROVAL, LimitScope.SESSION)


def findings(text: str) -> list[tuple[str, str]]:
    """The code and the message of each finding."""
    bundle, mistakes = link_bundle(Source(f"bundle b\ndefault deny\n{text}", stem="b"))
    return [(str(found.code), found.message) for found in (*mistakes, *check_bundle(bundle))]


def allow(clause: str) -> str:
    """A rule with this clause."""
    return f'rule r {{ allow tool "act" when args.n == 1 {clause} }}'


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (allow("limit daily"), "bad-limit", "there is no limit `daily`"),
        ("let daily = 5\n" + allow("limit daily"), "wrong-sort", "`daily` is a number, not a `limit`"),
        ("limit daily = 5 per 1h", "unused-name", "a `limit` that is never used: `daily`"),
        (
            "limit daily = 5 per 1h\nrule r { allow tool daily limit daily }",
            "wrong-sort",
            "`daily` is a `limit`; a subject takes strings and lists of strings",
        ),
        (
            "limit daily = 5 per 1h\nlimit daily = 6 per 1h\n" + allow("limit daily"),
            "duplicate-name",
            "the name `daily` is defined twice; first at line 3",
        ),
        (allow("limit 0 of args.a per 1h"), "bad-limit", "`limit 0` never lets anything pass"),
        (allow("limit 1 of args per 1h"), "bad-limit", "the arguments together are no number"),
        (allow("limit 1 of result.x per 1h"), "misplaced-root", "`result` is not allowed in what a limit measures"),
        (allow("limit 1 of turns per 1h"), "misplaced-root", "`turns` is not allowed in what a limit measures"),
        (allow("limit 1 of arg.x per 1h"), "unknown-root", "no path starts at `arg`"),
        (allow("limit 1 per 1h for each args"), "bad-limit", "the arguments together are no single value"),
        (
            allow("limit 1 per 1h for each args.ids[]"),
            "bad-limit",
            "`args.ids[]` stands for several values, and a pot is for one",
        ),
        (allow("limit 1 per 1h for each target.x"), "bad-path", "`target` is a string and has no parts"),
        (
            'limit daily = 5 per 1h\nrule r { deny tool "act" because "no" limit daily }',
            "misplaced-clause",
            "`limit` has no effect on a deny rule",
        ),
    ],
)
def test_what_check_finds(text: str, code: str, message: str) -> None:
    """Each by its code, in one sentence."""
    assert (code, message) in findings(text)


def test_what_check_finds_by_the_schemas_of_tools() -> None:
    """An amount that is no number, and one that no tool has."""
    text = """bundle b
default deny
limit texts = 5 of args.name per 1h
rule a { allow tool "pay" limit 5 of args.amount per 1h }
rule b { allow tool "say" limit texts }
rule c { allow tool "pay" limit 1 per 1h for each args.charge }
"""
    tools = read_tools(
        [
            {"name": "pay", "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}},
                                            "additionalProperties": False}},
            {"name": "say", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
        ]
    )  # fmt: skip
    bundle, _ = link_bundle(Source(text, stem="b"))
    found = [(str(one.code), one.message) for one in check_tools(bundle, tools)]
    assert ("bad-limit", "`args.name` is a string, and an amount is a number") in found
    assert ("unknown-argument", "`pay` has no `args.charge`") in found
    assert len([one for one in found if one[0] in ("bad-limit", "unknown-argument")]) == 2


def test_an_unknown_limit_is_no_policy() -> None:
    """It is an error, not a rule without a limit."""
    with pytest.raises(BundleError):
        compile_text(allow("limit daily"))


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        (3, "3"),
        (0.1, "0.1"),
        (1e3, "1000"),
        (-0.0, "0"),
        (10**39, "1" + 39 * "0"),
        (10**40, ""),
        (1e39, "1" + 39 * "0"),
        (1e-39, "0." + 38 * "0" + "1"),
        (1e-40, ""),
        (-1, ""),
        ("3", ""),
        (True, ""),
        (None, ""),
    ],
)
def test_amounts_are_exact(value: Any, amount: str) -> None:
    """Decimal texts of at most forty digits."""
    limit = limit_of("limit 500 of args.amount per 1h")
    assert limit is not None
    assert measured(limit, Facts("tool_call", "act", {"amount": value})).amount == amount


def test_explain_shows_what_a_limit_would_measure() -> None:
    """Beside the verdict, and no test."""
    policy = compile_text('rule r { allow tool "act" limit 5 of args.amount per 1h for each args.id }')
    told = explain_decision(policy, Facts("tool_call", "act", {"amount": 2.5, "id": "x"})).to_json()
    shown = told["obligations"][0]["limit"]
    assert (told["decision"], shown["of"], shown["key"], shown["takes"]) == ("allow", ["args.amount"], "args.id", "2.5")
    told = explain_decision(policy, Facts("tool_call", "act", {"id": "x"})).to_json()
    assert told["obligations"][0]["limit"]["takes"] is None
