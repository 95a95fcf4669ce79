"""Whether the model of a prover has a step like a real one: the soundness of a proof rests on it."""

from contextlib import suppress
from random import Random
from typing import Any

import z3

from rebuno.errors import BundleError
from rebuno.model.step import StepStatus
from rebuno.policy import Facts, History, Policy, compile_text
from rebuno.policy.facets.reading import PathContext, Reading
from rebuno.policy.facets.registry import find_facet
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.conditions import compile_expr
from rebuno.policy.matcher.facts import Evidence
from rebuno.policy.matcher.operands import root_of, through
from rebuno.policy.matcher.paths import step as step_of
from rebuno.policy.proving.elements import Group
from rebuno.policy.proving.model import BundleModel, ModelStep
from rebuno.policy.proving.values import ModelAnswer, Sort, Value, number_value, readable, text_value
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import MISSING, UNREADABLE, is_number, valid


def admits(policy: Policy, facts: Facts) -> bool:
    """Whether the model has a step in which all conditions of a bundle, and their negations, answer as they do."""
    [bundle] = policy.bundles
    step = ModelStep()
    model = BundleModel(step, bundle)
    names = names_of(bundle)
    wanted: list[Any] = []
    for condition in (one for one in bundle.statements if isinstance(one, tree.Condition)):
        for negated in (False, True):
            facts.tests, facts.readings = 0, None
            real = compile_expr(condition.expr, names, negated)(facts)
            wanted.append(_is(model.expr(condition.expr, negated), real))
    step.settle()
    for name, value in step.roots.items():
        wanted += _like(value, root_of(facts, name))
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.add(*step.rules, *wanted)
    found = solver.check()
    return bool(found != z3.unsat)


def _is(answer: ModelAnswer, real: bool | None) -> Any:
    return z3.And(answer.yes == (real is True), answer.possible == (real is not False))


def _like(value: Value, real: Any, facets: bool = True) -> list[Any]:
    """Says that a value of the model is a real one."""
    said = [_same(value, real)]
    for key, one in value.keys.items():
        said += _like(one, step_of(real, tree.Key(key)))
    for position, one in value.items.items():
        said += _like(one, step_of(real, tree.Index(position)))
    for name, one in value.facets.items():
        facet = find_facet(name)
        assert facet is not None
        [read] = through([facet], [real], PathContext("/w", None))
        said += _like(one, read)
    group: Group
    for group in value.groups.values():
        if not group.facets and group.flat:
            elements = real if type(real) is list else []
            for active, slot in group.slots:
                if slot.alias is None:
                    options = [z3.And(_like(slot, element)) for element in elements]
                    said.append(z3.Implies(active, z3.Or(options)))
    return said


def _same(value: Value, real: Any) -> Any:
    sort = sort_of(real)
    said = [value.sort == int(sort)]
    if sort is Sort.TEXT:
        said.append(value.text == text_value(real))
    elif sort is Sort.NUMBER:
        said.append(value.number == number_value(real))
    elif sort is Sort.READING:
        # What the model takes for a text or a number may be a reading as well, and is then compared with nothing.
        said = [value.is_(Sort.READING, Sort.TEXT, Sort.NUMBER)]
    return z3.And(said)


def sort_of(real: Any) -> Sort:
    """What the model calls a real value."""
    if real is MISSING:
        return Sort.MISSING
    if real is UNREADABLE:
        return Sort.UNREADABLE
    if isinstance(real, Reading):
        return Sort.READING
    if real is None:
        return Sort.NULL
    if type(real) is bool:
        return Sort.TRUE if real else Sort.FALSE
    if type(real) is list:
        return Sort.LIST if real else Sort.EMPTY
    if type(real) is dict:
        return Sort.OBJECT
    if type(real) is str:
        return Sort.TEXT if valid(real) and readable(real) else Sort.ODD
    return Sort.NUMBER if is_number(real) else Sort.ODD


# ---------------------------------------------------------------- random conditions and steps

_HEAD = [
    "default deny",
    'workdir "/w"',
    "known said = input.request",
    'known found = input.request or result of tool "t" at x',
    "known told = turns or input.request",
]
_TEXTS = [
    "a\u200bb",
    "a",
    "ab",
    "b",
    "a@x.example",
    "https://x.example/p",
    "ls -l && rm a",
    "7",
    "",
    "2026-05-02",
    "A",
    "5 EUR",
]
_NUMBERS = [0, 1, -1, 2.5, 7, 10**20]
_PAST = [
    'after tool "t"',
    'count(tool "t") >= 2',
    'count(tool "t") == 1',
    'count(tool "t" where (args.a == this.args.a)) < 2',
    'count(allowed tool "t") >= 1',
    'after tool "t" since tool "u"',
    'count(tool "t" within 1h) < 2',
    'sum(tool "t" at args.n) <= 3',
    'sum(tool "t" at args.n) + args.n > 3.5',
    'sum(allowed tool "t" at args.n within 1h) + args.n <= 2',
    'after tool "t" where (result.x == this.args.a or error given)',
    'after tool "t", "u" where (args.a == this.args.a)',
    'after tool "t" where (args.a == this.args.a and result.x == "a")',
    'count(tool "t", "u" where (result.x == "a")) < 2',
    'count(tool "t" where (result.x == "a")) >= 1',
    'count(tool "t" where (args.a == this.args.a) within 1h) >= 1',
    'count(tool "t" where (args.a == this.args.a and error missing)) < 1',
    'count(tool "t" since tool "u" where (args.a == this.args.a)) < 1',
    'after tool "t" where (definition.server == "a" and args.a in told)',
]
_STATES = ["given", "missing", "is string", "is number", "is list", "is null", "is not object", "is integer"]
_GLOBS = ['"a*"', '"?b"', '"*a*"']
_PATHS = ["args.a", "args.b", "args.o.k", "args.l[0]", "input.request", "target", "agent"]
_PATHS += ["parent", "turns[0]", "definition.server", "definition.digest"]
_MANY = [
    "args.a",
    "args.l",
    "args.l[]",
    "args.o",
    "(args.a, args.b)",
    "(args.a, args.l)",
    "args.l[].k",
    "args.m[].l[]",
    "args.o.*",
    "args.o.*.k",
    "turns[]",
]
_SINGLE_FACETS = ["size of", "number of", "domain of", "host of", "scheme of", "port of", "path of", "amount of"]
_MANY_FACETS = ["text of", "link of", "email of", "program of", "command of", "word of", "mailbox of", "key of"]


def bundle_of(draw: Random, conditions: int = 4) -> Policy:
    """A bundle with random conditions."""
    made: list[str] = []
    while len(made) < conditions:
        condition = f"condition c{len(made)} = {_expr(draw, 2)}"
        with suppress(BundleError):  # not every test fits every facet
            compile_text("\n".join([*_HEAD, condition, "rule r { allow any step }"]))
            made.append(condition)
    return compile_text("\n".join([*_HEAD, *made, "rule r { allow any step }"]))


def _expr(draw: Random, depth: int) -> str:
    if depth and draw.random() < 0.4:
        join = draw.choice([" and ", " or "])
        return "(" + join.join(_expr(draw, depth - 1) for _ in range(2)) + ")"
    if draw.random() < 0.15:
        return f"not ({_expr(draw, depth - 1 if depth else 0)})"
    kind = draw.random()
    if kind < 0.1:
        return draw.choice(_PAST)
    if kind < 0.55:
        return f"{_single(draw)} {_asked(draw)}"
    return f"{draw.choice(['any', 'every', 'no'])} {_several(draw)} {_asked_of_element(draw)}"


def _single(draw: Random) -> str:
    facet = f"{draw.choice(_SINGLE_FACETS)} " if draw.random() < 0.3 else ""
    return facet + draw.choice(_PATHS)


def _several(draw: Random) -> str:
    pick = draw.random()
    facet = ""
    if pick < 0.25:
        facet = f"{draw.choice(_MANY_FACETS)} "
    elif pick < 0.45:
        facet = f"{draw.choice(_SINGLE_FACETS)} "
    return facet + draw.choice(_MANY)


def _asked_of_element(draw: Random) -> str:
    if draw.random() < 0.2:
        join, left = draw.choice(["and", "or"]), draw.choice(["it", "size of it", "args.b"])
        return f"has (it {_asked(draw)} {join} {left} {_asked(draw)})"
    return _asked(draw)


def _text(draw: Random) -> str:
    text = draw.choice(_TEXTS)
    return f'"{text}"'


def _asked(draw: Random) -> str:
    pick = draw.randrange(14)
    if pick < 2:
        return draw.choice(
            ["given", "missing", "is string", "is number", "is list", "is null", "is not object", "is integer"]
        )
    if pick < 4:
        return f"{draw.choice(['==', '!='])} {draw.choice([_text(draw), str(draw.choice(_NUMBERS[:5])), 'true'])}"
    if pick < 6:
        return f"{draw.choice(['<', '<=', '>', '>='])} {draw.choice(_NUMBERS[:5])}"
    if pick < 8:
        return f"{draw.choice(['in', 'not in'])} [{_text(draw)}, {draw.choice([_text(draw), '7'])}]"
    if pick < 10:
        known = draw.choice(["said", "found", "told"])
        return f"{draw.choice(['in', 'not in'])} {known}{draw.choice(['', ' ignoring case'])}"
    if pick == 10:
        return f"{draw.choice(['starts with', 'ends with', 'contains', 'not contains'])} {_text(draw)}"
    if pick == 11:
        return f"{draw.choice(['like', 'not like'])} {draw.choice(_GLOBS)}"
    if pick == 12:
        return f"{draw.choice(['==', '!='])} args.b"
    return f'matches r"a.*"{draw.choice(["", " ignoring case"])}'


def facts_of(draw: Random) -> Facts:
    """A random step."""
    args: Any = {key: _value(draw, 2) for key in ("a", "b", "o", "l", "m", "n") if draw.random() < 0.75}
    if draw.random() < 0.05:
        args = _value(draw, 1)
    evidence = [
        Evidence(
            number,
            "tool_call",
            draw.choice(["t", "u"]),
            {"a": draw.choice(_TEXTS), "n": draw.choice([1, 2.5, "x", -1])},
            {"x": draw.choice(_TEXTS)},
            let_in=draw.choice(["", "allowed"]),
            at=draw.choice([None, 0.5]),
            status=draw.choice([StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.EXECUTING]),
            error=draw.choice([None, {"type": "ToolError", "message": "x"}]),
            definition=draw.choice([None, _definition(draw)]),
        )
        for number in range(draw.randrange(4))
    ]
    request = {"request": draw.choice([*_TEXTS, "a ab 7 b"])}
    return Facts(
        "tool_call",
        draw.choice(["t", "a"]),
        args,
        agent="a",
        input=request,
        history=History(evidence),
        now=1.0,
        parent=draw.choice([None, "a", "b", UNREADABLE]),
        turns=[draw.choice(_TEXTS) for _ in range(draw.randrange(3))],
        definition=draw.choice([None, _definition(draw)]),
    )


def _definition(draw: Random) -> Any:
    return {"server": draw.choice(["a", "b"]), "name": "t", "digest": draw.choice(_TEXTS)}


def _value(draw: Random, depth: int) -> Any:
    pick = draw.randrange(9)
    if pick < 3:
        return draw.choice(_TEXTS)
    if pick == 3:
        return draw.choice(_NUMBERS)
    if pick == 4:
        return draw.choice([True, False, None, [], {}, float("nan"), "\ud800"])
    if depth and pick < 7:
        return [_value(draw, depth - 1) for _ in range(draw.randrange(1, 4))]
    if depth:
        return {key: _value(draw, depth - 1) for key in ("k", "l") if draw.random() < 0.7}
    return draw.choice(_TEXTS)
