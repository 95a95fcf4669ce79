"""The model of a prover: every real answer is one of its answers."""

from random import Random

import pytest

from rebuno.policy import Facts, History, compile_text
from rebuno.policy.matcher.facts import Evidence
from tests.policy.proving.admitting import admits, bundle_of, facts_of

BUNDLES = 25


@pytest.mark.parametrize("seed", range(BUNDLES))
def test_the_model_has_a_step_like_every_real_one(seed: int) -> None:
    """Random conditions, each with its negation, on random arguments: the solver finds their real answers possible
    together."""
    draw = Random(seed)
    policy = bundle_of(draw)
    for _ in range(2):
        facts = facts_of(draw)
        assert admits(policy, facts), (policy.sources[0].text, facts.args, facts.input)


HEAD = 'default deny\nworkdir "/w"\nknown said = input.request\nknown found = input.request or ["a"]\n'
# Conditions at the edges of the model, and arguments for each.
EDGES = [
    ("args.a missing", [{}, {"a": None}, {"a": []}, {"a": {}}, {"a": float("nan")}, 7]),
    ("args.a.b missing", [{}, {"a": None}, {"a": "x"}, {"a": {}}, {"a": {"b": 1}}, {"a": [1]}]),
    ("args.a[1] == 2", [{"a": [1, 2]}, {"a": [1]}, {"a": "x"}, {"a": []}, {}]),
    ("every args.a in said", [{"a": ["x", "y"]}, {"a": "x"}, {"a": []}, {"a": [None, "x"]}, {"a": {"k": 1}}]),
    ("no args.a[].k == 1", [{"a": [{"k": 1}, {"k": "1"}]}, {"a": {"k": 1}}, {"a": [7]}, {}]),
    ("any (args.a, args.b) has (it in said or size of it > 1)", [{"a": ["x"], "b": None}, {}, {"b": [[], [1, 2]]}]),
    ("size of args.a == 0", [{"a": []}, {"a": ""}, {"a": {}}, {"a": None}, {"a": 0}]),
    ("number of args.a <= 5", [{"a": "5 EUR"}, {"a": 5}, {"a": "five"}, {"a": [5]}, {}]),
    ("every size of args.a == 0", [{"a": []}, {"a": [[]]}, {"a": ["", {}]}]),
    ("every link of args.a in said", [{"a": "see https://x.example/"}, {"a": "none"}, {"a": ["x", 3]}, {}]),
    ('every command of args.a has (any it in ["rm"])', [{"a": "rm x; ls"}, {"a": "$x"}, {"a": ""}, {"a": 3}]),
    ('every program of args.a in ["ls"]', [{"a": "ls | rm"}, {"a": "ls"}, {"a": []}]),
    ("args.a == args.b", [{"a": 1, "b": 1.0}, {"a": 1}, {"b": 1}, {"a": [1], "b": [1]}]),
    ('args.a like "x*" ignoring case', [{"a": "Xy"}, {"a": ["x"]}, {}]),
    ('args.a contains "x"', [{"a": "ax"}, {"a": ["x"]}, {"a": ["axb"]}, {"a": 3}]),
    ("args.a is integer", [{"a": 1.0}, {"a": 1.5}, {"a": True}, {"a": None}, {}]),
    ("args.a > 0.1", [{"a": 0.1}, {"a": 0.30000000000000004}, {"a": 10**400}, {"a": "1"}]),
    ('args.a == "\\\\u{41}"', [{"a": "\\u{41}"}, {"a": "A"}]),
    ('host of args.a under "x.example"', [{"a": "https://a.x.example/"}, {"a": "https://x@y/"}, {"a": ["x"]}]),
]


@pytest.mark.parametrize(("condition", "many"), EDGES, ids=[condition for condition, _ in EDGES])
def test_the_edges_of_values_are_in_the_model(condition: str, many: list[object]) -> None:
    """Absence, wrong types and what is no strict JSON."""
    policy = compile_text(f"{HEAD}condition c = {condition}\nrule r {{ allow any step when c }}\n")
    for args in many:
        facts = Facts("tool_call", "t", args, input={"request": "x y"}, history=History())
        assert admits(policy, facts), args


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
def test_counts_of_earlier_steps_are_in_the_model(sign: str) -> None:
    """Certain and possible ones, with a submission that leaves out what is compared."""
    text = f'count(tool "t" where (args.x == this.args.x)) {sign} 1'
    policy = compile_text(f"{HEAD}condition c = {text}\nrule r {{ allow any step when c }}\n")
    for args in ({"x": 1}, {"x": 2}, {}):
        for number in range(3):
            evidence = [Evidence(at, "tool_call", "t", {"x": 1}, None) for at in range(number)]
            assert admits(policy, Facts("tool_call", "t", args, history=History(evidence)))
