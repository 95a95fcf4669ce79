"""What a rule asks for besides its verdict is checked, compiled as data, and never changes a verdict."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rebuno.model.obligation import Asking, Budget, Limit, LimitScope, Obligation, Otherwise
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.compile import compile_text
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.diagnostics import Severity
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from tests.policy import bundles as made

EACH, AGENT, ALL = LimitScope.EXECUTION, LimitScope.AGENT, LimitScope.GLOBAL
OVER, DENY, WAIT, ASK = Otherwise.RATE_LIMITED, Otherwise.DENY, Otherwise.WAIT, Otherwise.APPROVAL


@pytest.mark.parametrize(
    ("clause", "limit"),
    [
        ("limit 5 per 1h", Limit(5, 3600, EACH, OVER)),  # the defaults: each execution, rate_limited, deny
        ("limit 1_000 per 1h30m for each agent", Limit(1000, 5400, AGENT, OVER)),
        ("limit 2 per 2d for all agents together else deny", Limit(2, 172_800, ALL, DENY)),
        ("limit 1 per 5s for each execution else wait up to 1m", Limit(1, 5, EACH, WAIT, 60)),
        ("limit 3 per execution else require approval", Limit(3, None, EACH, ASK)),
        ("limit 3 per execution if unavailable allow", Limit(3, None, EACH, OVER, 0, True)),
        ("limit 3 per 1m else deny if unavailable deny", Limit(3, 60, EACH, DENY, 0, False)),
    ],
)
def test_limits(clause: str, limit: Limit) -> None:
    """Each form of a limit becomes numbers, seconds and choices."""
    decision = compile_text(f'bundle b\nrule r {{ allow tool "a" {clause} }}').decide(Facts("tool_call", "a"))
    assert decision.obligations == (Obligation("b", "r", limit=limit),)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('allow tool "a" budget 900 tokens per execution', Obligation("b", "r", budget=Budget(900, DENY))),
        (
            'allow tool "a" budget 9 tokens per execution else require approval approvers "x"',
            Obligation("b", "r", budget=Budget(9, ASK), asking=Asking(("x",))),
        ),
        (
            'require approval for tool "a" approvers "x", "y", "x" quorum 2 expires 15m message "Really?"',
            Obligation("b", "r", asking=Asking(("x", "y"), 2, 900, "Really?")),
        ),
        ('require approval for tool "a" quorum 3', Obligation("b", "r", asking=Asking(quorum=3))),  # any three
        ('require approval for tool "a" because "c"', None),  # nothing beyond the verdict
        ('deny tool "a" because "c"', None),
    ],
)
def test_other_clauses(rule: str, expected: Obligation | None) -> None:
    """Budgets and the clauses about asking become data; a rule without any carries none."""
    decision = compile_text(f"bundle b\nrule r {{ {rule} }}").decide(Facts("tool_call", "a"))
    assert decision.obligations == ((expected,) if expected else ())


def test_a_rule_that_does_not_decide_asks_for_nothing() -> None:
    """Only the deciding rule's clauses count, and `default` and `local` have none."""
    policy = compile_text('rule r { allow tool "a" when args.x == 1 limit 5 per 1h }')
    assert policy.decide(Facts("tool_call", "a", {"x": 1})).obligations != ()
    assert policy.decide(Facts("tool_call", "a", {"x": 2})).obligations == ()
    assert policy.decide(Facts("local", "a")).obligations == ()


WRONG: list[tuple[str, int, str]] = [
    ("misplaced-clause", 2, 'deny tool "a"\nlimit 5 per 1h'),
    ("misplaced-clause", 2, 'deny tool "a"\nlimit 5 per 1h else require approval'),
    ("misplaced-clause", 2, 'deny tool "a"\nbudget 5 tokens per execution'),
    ("misplaced-clause", 2, 'require approval for tool "a"\nbudget 5 tokens per execution'),
    ("misplaced-clause", 2, 'require approval for tool "a"\nlimit 5 per 1h else require approval'),  # changes nothing
    ("misplaced-clause", 2, 'allow tool "a"\nbudget 5 tokens per execution else wait up to 5m'),
    ("misplaced-clause", 2, 'allow tool "a"\napprovers "x"'),
    ("misplaced-clause", 3, 'allow tool "a"\nlimit 5 per 1h else deny\nquorum 2'),
    ("misplaced-clause", 3, 'allow tool "a"\nlimit 5 per 1h else wait up to 5m\nexpires 5m'),
    ("misplaced-clause", 2, 'deny tool "a"\nexpires 5m'),
    ("duplicate-clause", 3, 'allow tool "a"\nlimit 5 per 1h\nlimit 9 per 2h'),
    ("bad-limit", 2, 'allow tool "a"\nlimit 0 per 1h'),
    ("bad-limit", 2, 'allow tool "a"\nbudget 0 tokens per execution'),
    ("bad-quorum", 2, 'require approval for tool "a"\nquorum 0'),
    ("bad-quorum", 3, 'require approval for tool "a"\napprovers "x", "x"\nquorum 2'),  # one person twice
    ("bad-quorum", 4, 'allow tool "a"\nlimit 5 per 1h else require approval\napprovers "x"\nquorum 2'),
    ("bad-quorum", 2, 'require approval for tool "a"\napprovers "x", " "'),
    ("bad-duration", 2, 'allow tool "a"\nlimit 5 per 0s'),
    ("bad-duration", 2, 'allow tool "a"\nlimit 5 per 1h else wait up to 0m'),
    ("bad-duration", 2, 'require approval for tool "a"\nexpires 0d'),
    ("bad-number", 2, 'allow tool "a"\nlimit 1.5 per 1h'),
]


@pytest.mark.parametrize(("code", "line", "rule"), WRONG, ids=[rule for _, _, rule in WRONG])
def test_clauses_that_cannot_be_meant(code: str, line: int, rule: str) -> None:
    """A clause in the wrong place, or with a number that means nothing, gives one finding on its line."""
    bundle, found = parse_bundle(Source(f"rule r {{\n{rule}\n}}"))
    errors = [d for d in (*found, *check_bundle(bundle)) if d.severity is Severity.ERROR]
    assert [(d.code, d.span.line) for d in errors] == [(code, line + 1)]


@pytest.mark.parametrize(
    "rule",
    [
        'allow tool "a" limit 5 per 1h else require approval approvers "x", "y" quorum 2 expires 5m message "m"',
        'allow tool "a" budget 5 tokens per execution else require approval message "m"',
        'require approval for tool "a" limit 5 per 1h else wait up to 5m',
        "allow any step limit 5 per 1h budget 5 tokens per execution",
    ],
)
def test_clauses_that_fit(rule: str) -> None:
    """What the language allows passes without an error."""
    bundle, found = parse_bundle(Source(f"rule r {{ {rule} }}"))
    assert [d for d in (*found, *check_bundle(bundle)) if d.severity is Severity.ERROR] == []


def test_a_trace_tells_what_is_asked_for() -> None:
    """The JSON form holds every field, and nothing where nothing is asked for."""
    text = """bundle b
rule r { allow tool "a" limit 5 per 1h else require approval budget 7 tokens per execution approvers "x" expires 5m }
"""
    policy = compile_text(text)
    assert explain_decision(policy, Facts("tool_call", "a")).to_json()["obligations"] == [
        {
            "bundle": "b",
            "rule": "r",
            "limit": {
                "number": 5,
                "window": 3600,
                "scope": "execution",
                "otherwise": "require_approval",
                "wait": 0,
                "unavailable": "deny",
            },
            "budget": {"tokens": 7, "otherwise": "deny"},
            "asking": {"approvers": ["x"], "quorum": 1, "expires": 300, "message": ""},
        }
    ]
    assert "obligations" not in explain_decision(policy, Facts("tool_call", "b")).to_json()


ADDED = {
    "allow": ["limit 1 per 1h", "limit 1 per execution else require approval", "budget 1 tokens per execution"],
    "require approval for": ["limit 1 per 1h else deny", 'approvers "x"', "quorum 1", "expires 1s", 'message "m"'],
}


@settings(max_examples=40, deadline=None)
@given(made.bundles(), st.data(), made.facts())
def test_obligations_never_change_a_verdict(text: str, data: st.DataObject, facts: Facts) -> None:
    """With clauses added to every rule that may carry them the same rule decides."""
    lines = []
    for line in text.splitlines():
        lines.append(line)
        for head, clauses in ADDED.items():
            if line.startswith(f"  {head} "):
                lines.append(f"  {data.draw(st.sampled_from(clauses))}")
    plain = made.policy_of(text).decide(made.again(facts))
    policy = made.policy_of("\n".join(lines))
    decision = policy.decide(made.again(facts))
    assert (decision.verdict, decision.rule_id) == (plain.verdict, plain.rule_id)
    assert explain_decision(policy, made.again(facts)).decision.obligations == decision.obligations
    event(f"{decision.verdict}, {len(decision.obligations)} obligations")


TEAM = 'let team = ["ana", "ben"]\nlet boss = "eva"\nlet five = 5\nlet odd = ["ana", 5]\nlet blank = ["ana", " "]\n'
TEAM += "condition big = args.x > 5\nknown asked = input\n"


@pytest.mark.parametrize(
    ("approvers", "ids"),
    [
        ("team", ("ana", "ben")),
        ("boss", ("eva",)),
        ('team, "ana", "zoe", boss', ("ana", "ben", "zoe", "eva")),
        ('"zoe", team', ("zoe", "ana", "ben")),
    ],
)
def test_approvers_from_lists(approvers: str, ids: tuple[str, ...]) -> None:
    """A `let` list stands for the people in it, each once, in order."""
    policy = made.policy_of(f'{TEAM}rule r {{ require approval for tool "a" approvers {approvers} because "x" }}')
    facts = Facts("tool_call", "a")
    for decision in (policy.decide(facts), explain_decision(policy, facts).decision):
        assert [one.asking.approvers for one in decision.obligations if one.asking is not None] == [ids]


@pytest.mark.parametrize(
    ("clauses", "codes"),
    [
        ("approvers team quorum 2", []),
        ('approvers team, "ana" quorum 3', ["bad-quorum"]),
        ('approvers team, "zoe" quorum 3', []),
        ("approvers boss quorum 2", ["bad-quorum"]),
        ("approvers five", ["bad-quorum"]),
        ("approvers odd", ["bad-quorum"]),
        ("approvers blank", ["bad-quorum"]),
        ("approvers big", ["wrong-sort"]),
        ("approvers asked", ["wrong-sort"]),
        ("approvers nobody quorum 5", ["unknown-name"]),
    ],
)
def test_findings_about_lists_of_approvers(clauses: str, codes: list[str]) -> None:
    """The quorum is held against the people that the lists name."""
    text = f'{TEAM}rule r {{\n  require approval for tool "a"\n  {clauses}\n  because "x"\n}}\n'
    bundle, _ = parse_bundle(Source(text))
    found = [one for one in check_bundle(bundle) if one.severity is Severity.ERROR]
    assert [str(one.code) for one in found] == codes
