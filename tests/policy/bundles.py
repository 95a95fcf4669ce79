"""Hypothesis strategies for bundles as text and for facts, hostile values too; small alphabets make hits likely."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from hypothesis import strategies as st

from rebuno.policy.matcher.build import from_tree
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.soft_roots import read_soft_roots
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import Tri


class Text(str):
    """A string that no JSON reader makes."""


WORDS: Final = ["", "a", "A", "b", "ab", "aB", "a b", "é", "ß", "a\nb", "50", "-1", "x.y", "pay"]
NUMBERS: Final = [0, 1, 2, 50, -1, 1.0, 0.5, 2**53, 2**53 + 1, float(2**53), 1100]
HOSTILE: Final = [
    "\ud800", "a\udfff", float("nan"), float("inf"), 10**400, b"a", (), ("a",), Text("a"), {1: 2},
    {"\ud800": 1}, object, -0.0, 1e308, "a" * 5000,
]  # fmt: skip
READABLE: Final = [
    "https://corp.example/a", "http://10.0.0.1:8080", "https://A.corp.example\\x", "www.corp.example/x",
    "ana@corp.example", "Ana <ana@corp.example>", "bob@b.example",
    "see https://corp.example/a, ask ana@corp.example on January 11th", "2025-01-11", "January 11", "11/01/2025",
    "/a/b", "src/a.py", "../x", "~/a", "a\\b", "/A/b", "git push > f", "ls; git status", "ls $X", "1,100", "a.PY",
    "git -n a -- -n b", "ls -na --name=b; git -x -n a", "git -n a -n b $X",
]  # fmt: skip
TARGETS: Final = ["pay", "pay", "pay", "pay_x", "read", "a", "Pay", ""]
KNOWABLE: Final = ["a", "B", "ab", "50", 1, 2.0, 50, True, "é", *READABLE[:6], "2025-01-11", "/a/b", ["a"]]
KINDS: Final = ["tool_call", "llm_call", "local"]
KEYS: Final = ["a", "b", "l", "o", "items", "odd key"]


def nested(depth: int, wide: bool) -> Any:
    """A list or an object that holds itself `depth` times."""
    value: Any = 1
    for _ in range(depth):
        value = {"x": value} if wide else [value]
    return value


scalars = st.one_of(st.sampled_from([*WORDS, *NUMBERS, True, False]), st.sampled_from(READABLE))
plain = st.one_of(
    scalars,
    st.none(),
    st.lists(st.one_of(scalars, st.none(), st.just([])), max_size=3),
    st.fixed_dictionaries({}, optional={"x": scalars, "l": st.lists(scalars, max_size=2)}),
    st.lists(st.fixed_dictionaries({}, optional={"x": scalars, "l": st.lists(scalars, max_size=2)}), max_size=3),
)
hostile = st.one_of(
    st.integers(0, len(HOSTILE) - 1).map(HOSTILE.__getitem__),
    st.builds(nested, st.sampled_from([3, 127, 128, 129, 300]), st.booleans()),
)
values = st.one_of(plain, plain, plain, hostile, st.lists(st.one_of(scalars, hostile), max_size=3))
beginnings = st.sampled_from(["/a", "b", "..", "/a/b", "", 7, None])
arguments = st.one_of(
    st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, values)),
    st.fixed_dictionaries({"cwd": beginnings}, optional=dict.fromkeys(KEYS, values)),
    st.fixed_dictionaries(dict.fromkeys(KEYS[:4], values)),
    st.fixed_dictionaries(dict.fromkeys(KEYS[:4], plain)),
    values,
)
inputs = st.one_of(
    st.sampled_from(
        [
            "a, b; 50.",
            "Pay AB to “é”",
            "1,100 or -1",
            "x.y!",
            "lunch today, or on May 5",
            None,
            [],
            True,
            50,
            *READABLE[:12],
        ]
    ),
    st.fixed_dictionaries({}, optional={"q": values, "l": st.lists(scalars, max_size=3)}),
    values,
)


told = st.sampled_from(KNOWABLE[:-1])
row = st.fixed_dictionaries({"x": told}, optional={"l": st.lists(told, max_size=2), "a": told})
results = st.one_of(row, st.lists(row, max_size=3), st.lists(told, max_size=3))


definitions = st.sampled_from(
    [
        None,
        {"server": "a", "name": "pay", "digest": "x.y"},
        {"server": "b", "name": "a", "digest": "AB"},
        {"server": "A", "name": "read"},
    ]
)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Things that happened, some at the same event; most of them tell something."""
    seq = 0
    evidence = []
    for telling in draw(st.lists(st.sampled_from([True, True, True, False]), max_size=6)):
        seq += draw(st.integers(0, 2))
        kind = "tool_call" if telling else draw(st.sampled_from(KINDS))
        target = draw(st.sampled_from(["pay", "read"] if telling else TARGETS))
        args = draw(row if telling else arguments)
        result = draw(results if telling else values)
        approved, described = draw(st.integers(0, 2)) == 0, draw(definitions)
        let_in = draw(st.sampled_from(["", "allowed", "approved"]))
        evidence.append(
            Evidence(seq, kind, target, args, result, approved=approved, definition=described, let_in=let_in)
        )
    return History(evidence)


@st.composite
def facts(draw: st.DrawFn, args: st.SearchStrategy[Any] | None = None) -> Facts:
    """One submission."""
    return Facts(
        draw(st.sampled_from(["tool_call", "tool_call", "tool_call", *KINDS, "other"])),
        draw(st.sampled_from(TARGETS)),
        draw(arguments if args is None else args),
        agent=draw(st.sampled_from(["", "a", "bot"])),
        input=draw(inputs),
        history=draw(st.one_of(st.none(), histories(), histories())),
        as_of=draw(st.one_of(st.none(), st.integers(0, 8))),
        parent=draw(st.sampled_from(["", "", "bot"])),
        definition=draw(definitions),
        input_at=draw(st.sampled_from([None, 1_736_553_600.0])),
        workdir=draw(st.sampled_from(["", "/a", "/a/b", "/", "/proj"])),
    )


OF_EXECUTION: Final = (
    "parent", "delegated", "turns", "turn_times", "input_at", "root_input", "root_input_at", "root_turns",
    "root_turn_times", "read_args", "workdir",
)  # fmt: skip


def again(given: Facts, **changes: Any) -> Facts:
    """The same submission with other fields, and a history that no policy has read."""
    kept = (*OF_EXECUTION, "args", "agent", "input", "history", "as_of", "now", "definition")
    fields = {name: getattr(given, name) for name in kept} | changes
    if fields["history"] is not None:
        fields["history"] = History(fields["history"].evidence)
    return Facts(given.kind, given.target, fields.pop("args"), **fields)


POOL: Final = [
    "https://corp.example/a",
    ["ana@corp.example", "/a/b"],
    "git push > f",
    "January 11",
    None,
    [],
    "a",
    "B",
    1,
    2.0,
    True,
    ["a", "b"],
    [1, None],
    {"x": "a"},
    [{"x": 1}, {}],
    "\ud800",
    b"a",
    ["a", ()],
]


def variants(given: Facts) -> Iterator[Facts]:
    """The submission, and others that differ from it in one argument; they share its history."""
    yield given
    if type(given.args) is not dict:
        return
    for turn, key in enumerate(KEYS):
        rest = {name: value for name, value in given.args.items() if name != key}
        for args in (rest, *({**rest, key: value} for value in POOL[turn % 2 :: 2])):
            changed = Facts(given.kind, given.target, args, agent=given.agent, input=given.input)
            changed.history, changed.as_of, changed.parent = given.history, given.as_of, given.parent
            changed.definition = given.definition
            yield changed


# ---------------------------------------------------------------- text

words = st.sampled_from(WORDS).map(json.dumps)
numbers = st.sampled_from(["0", "1", "1.0", "2", "50", "0.5", "9007199254740993", "1100", "-1"])
literals = st.one_of(words, words, numbers, st.sampled_from(["true", "false"]))


def listed(items: st.SearchStrategy[str], least: int = 0) -> st.SearchStrategy[str]:
    """A list literal."""
    return st.lists(items, min_size=least, max_size=4).map(lambda found: f"[{', '.join(found)}]")


GLOBS: Final = st.sampled_from(["*", "a*", "*b", "?", "[a-c]", "[!a]*", "A?", "a\\*", "é", "", "*a*b*"]).map(json.dumps)
REGEXES: Final = st.sampled_from(["a.*", "[a-c]+", ".", "", "A|é", "(?s:.*)b", "\\d+"]).map(lambda text: f'r"{text}"')
SINGLE: Final = st.sampled_from(
    ["args.a", "args.a", "args.b", "args.l", "args.o.x", "args.l[0]", "args.l[1]", 'args["odd key"]', "args.o",
     "args.items", "target", "agent", "input.q", "input", "args.a.x", "definition.server", "definition"]
)  # fmt: skip
MANY: Final = st.sampled_from(
    ["args.l[]", "args.a[]", "args.items[].x", "args.items[].l[]", "args.items[].l", "args.o.l[]", "input.l[]",
     "args.o.*", "args.items[].*", "args.*.x", "args.a.*", "input.*"]
)  # fmt: skip
IN_BLOCK: Final = st.sampled_from(["it", "it", "it", "it.x", "it[0]", "args.a", "args.b", "target"])
IN_READ_BLOCK: Final = st.sampled_from(["it.x", "it[0]", "args.a", "args.b", "target"])
IN_WHERE: Final = st.sampled_from(
    ["item", "item.x", "item.a", "result", "args.x", "args.a", "item.l", "input", "agent", "definition.name"]
)
TYPES: Final = ["string", "number", "integer", "boolean", "list", "object", "null"]


@st.composite
def predicates(draw: st.DrawFn, right: st.SearchStrategy[str], named: bool, presence: bool) -> tuple[str, str]:
    """A predicate and its own negation, both as text."""
    folds = draw(st.sampled_from(["", "", " ignoring case"]))
    shapes = ["equal", "order", "in", "text", "any", "pattern"] + (["is", "given"] if presence else [])
    shape = draw(st.sampled_from(shapes))
    if shape == "equal":
        value = draw(st.one_of(literals, right))
        return f"== {value}{folds}", f"!= {value}{folds}"
    if shape == "order":
        # The opposite sign is no negation: both are no on an absent value.
        return f"{draw(st.sampled_from(['<', '<=', '>', '>=']))} {draw(st.one_of(numbers, right))}", ""
    if shape == "in":
        options = [listed(literals, 1), listed(words, 1), right, MANY]
        if named:
            options += [st.sampled_from(["some", "none", "figures", "asked", "paid", "grown"])] * 3
        value = draw(st.one_of(options))
        return f"in {value}{folds}", f"not in {value}{folds}"
    if shape == "text":
        verb = draw(st.sampled_from(["contains", "starts with", "ends with"]))
        value = draw(st.one_of(words, right) if verb == "contains" else st.one_of(words, listed(words, 1), right))
        return f"{verb} {value}{folds}", f"not {verb} {value}{folds}"
    if shape == "any":
        options = [listed(words, 1), right, MANY, st.sampled_from(["some", "told", "paid"] if named else ["some"])]
        value = draw(st.one_of(options))
        return f"contains any {value}{folds}", f"not contains any {value}{folds}"
    if shape == "pattern":
        verb, patterns = draw(st.sampled_from([("like", GLOBS), ("matches", REGEXES)]))
        value = draw(st.one_of(patterns, listed(patterns, 1)))
        return f"{verb} {value}{folds}", f"not {verb} {value}{folds}"
    if shape == "is":
        name = draw(st.sampled_from(TYPES))
        return f"is {name}", f"is not {name}"
    return ("given", "missing") if draw(st.booleans()) else ("missing", "given")


@st.composite
def operands(draw: st.DrawFn, several: bool = True) -> str:
    """What a quantifier may stand before."""
    if several and draw(st.integers(0, 2)) == 0:
        return f"({', '.join(draw(st.lists(st.one_of(SINGLE, MANY), min_size=2, max_size=3)))})"
    return draw(st.one_of(MANY, SINGLE))


# Of each facet: what it can be tested for, with the negation; whether it gives a set.
_DAYS: Final = ['"2025-01-11"', '"January 11"']
_TOLD: Final = ["in asked", "in paid", "in grown", "in grown ignoring case", "in paid"]
FACETS: Final[dict[str, tuple[bool, list[str]]]] = {
    "host": (False, ['== "Corp.example"', 'under "example"', 'in ["corp.example", "10.0.0.1"]', 'ends with ".E"']),
    "scheme": (False, ['== "https"', 'in ["http", "https"]']),
    "port": (False, ["== 443", "< 100", "in [80, 443]"]),
    "address": (False, ['== "10.0.0.1"', 'under "10.0.0.0/8"', 'under ["10.0.0.0/8", "::/0"]']),
    "link": (True, ['== "https://corp.example/a"', 'under "corp.example"', 'starts with "https:"']),
    "domain": (False, ['== "corp.example"', 'under "example"', 'like "*.Example"']),
    "email": (True, ['== "ana@corp.example"', 'under "corp.example"', 'in ["ana@corp.example"]']),
    "path": (False, ['== "/a/b"', 'under "/a"', 'under "src"', 'like "**/*.py"', 'like "src/*"', 'matches r"/a/.*"']),
    "name": (False, ['== "b"', 'in ["a.py", "x"]', 'like "*.py"']),
    "extension": (False, ['== ".py"', 'in [".PY", ".txt"]']),
    "command": (True, ['like "git *"', 'like ["ls", "git push *"]', 'contains "push"', 'contains any ["push", "x"]']),
    "program": (True, ['== "git"', 'in ["ls", "git"]', 'like "g*"']),
    "redirect": (True, ['== "f"', 'under "/a"', 'like "*.py"']),
    "option": (True, ['== "-n"', 'in ["-n", "--name"]', '== "-x"']),
    'option "-n --name"': (True, ['== "a"', 'in ["a", "b"]', 'like "a*"', 'contains "b"', '== "b"']),
    "date": (False, [f"== {_DAYS[0]}", f"in [{_DAYS[1]}]", f"<= {_DAYS[0]}", "== date of args.b"]),
    "number": (False, ["== 1_100", "<= 50", "in [1, 50]", "== number of args.b"]),
    "text": (True, ['== "a"', 'contains "a"', "== 50", "contains any told", 'like "a*"']),
    "size": (False, ["== 0", "<= 2", "in [1, 2]"]),
    "word": (True, ['== "a"', 'in ["Pay", "to"]', 'like "a*"']),
    "mailbox": (True, ['== "ana"', 'in ["ana", "b"]']),
    "amount": (False, ["== 50", "<= 1_100", "in [1, 50]", "== amount of args.b"]),
    "key": (True, ['== "x"', 'in ["x", "l"]', 'like "*"']),
}
CHAINS: Final = [
    *FACETS, *FACETS, "host of link", "name of redirect", "domain of email", "size of text", "date of text",
    "path of link", "word of key", "size of key", "option of command",
    'number of option "-n --name"', 'option "-n --name" of command',
]  # fmt: skip


def _facet_predicate(facet: str, named: bool) -> st.SearchStrategy[tuple[str, str]]:
    # What can be asked of what the facet gives, with the negation.
    asked = [text for text in FACETS[facet][1] if named or "told" not in text]
    return st.sampled_from(asked + (_TOLD if named else [])).map(lambda text: (text, _negation(text)))


def _negation(predicate: str) -> str:
    if predicate.startswith("=="):
        return "!=" + predicate[2:]
    return "" if predicate.startswith("<") else f"not {predicate}"


@st.composite
def single_tests(draw: st.DrawFn, *, named: bool, single: st.SearchStrategy[str], presence: bool, it: str = "") -> str:
    """One test. `single` says what paths there are, and `it` what the block around read its elements by."""
    free = single is SINGLE
    chain, many, path = "", False, draw(single)
    shape = draw(st.sampled_from(["plain", "plain", "read", "it"]))
    quantified = draw(st.booleans())
    if shape == "it" and it and not (quantified and it == "command"):
        path, (predicate, negation) = "it", draw(_facet_predicate(it, named))
    elif shape == "read":
        chain = draw(st.sampled_from(CHAINS))
        names = chain.split(" of ")
        predicate, negation = draw(_facet_predicate(names[0], named))
        chain, many = f"{chain} of ", any(FACETS[name][0] for name in names)
    else:
        predicate, negation = draw(predicates(IN_READ_BLOCK if it else single, named, presence))
    predicate = draw(st.sampled_from([predicate, negation or predicate]))
    if predicate in ("given", "missing"):
        return f"({chain}{draw(operands()) if free and quantified else path} {predicate})"
    if many or quantified:
        quantifier = draw(st.sampled_from(["any", "every", "no"]))
        return f"({quantifier} {chain}{draw(operands(several=presence)) if free else path} {predicate})"
    return f"({chain}{path} {predicate})"


@st.composite
def block_tests(draw: st.DrawFn, *, named: bool, single: st.SearchStrategy[str], presence: bool, it: str = "") -> str:
    """`… has (…)`, one inside the other at times."""
    quantifier = draw(st.sampled_from(["any", "every", "no"]))
    chain = draw(st.sampled_from(["", "", "", *CHAINS]))
    operand = draw(operands(several=presence) if single is SINGLE else single)
    if it and draw(st.booleans()):
        chain, operand = "", "it"
        inner = "" if it == "command" else it
    else:
        inner = chain.split(" of ")[0]
    paths = IN_READ_BLOCK if inner else IN_BLOCK
    depth = draw(st.integers(0, 1))
    block = expressions(named=named, single=paths, presence=presence, it=inner, depth=depth)
    return f"({quantifier} {chain}{' of ' if chain else ''}{operand} has ({draw(block)}))"


@st.composite
def expressions(
    draw: st.DrawFn,
    *,
    named: bool = True,
    conditions: bool = False,
    single: st.SearchStrategy[str] = SINGLE,
    presence: bool = True,
    it: str = "",
    depth: int = 2,
) -> str:
    """A condition, every part in parentheses."""
    shape = draw(st.sampled_from(["test", "test", "test", "has", "not", "and", "or"])) if depth else "test"
    if shape == "test":
        if conditions and draw(st.integers(0, 3)) == 0:
            return draw(st.sampled_from(["small", "odd"]))
        return draw(single_tests(named=named, single=single, presence=presence, it=it))
    if shape == "has":
        return draw(block_tests(named=named, single=single, presence=presence, it=it))
    deeper = expressions(named=named, conditions=conditions, single=single, presence=presence, it=it, depth=depth - 1)
    if shape == "not":
        return f"(not {draw(deeper)})"
    return f"({draw(deeper)} {shape} {draw(deeper)})"


@st.composite
def prologues(draw: st.DrawFn, presence: bool = True) -> str:
    """The names that expressions use."""
    where = draw(expressions(named=False, single=IN_WHERE, presence=presence, depth=1))
    plain = ["x", "[]", "[].x", "[].x, x", "[].l[]", "l[], [0]"]
    new = ["*", "[].*", "key of []", "word of *"]
    at = draw(st.sampled_from([*plain, *new, "date of x", "host of [].x", "email of [].l[]", "path of x"]))
    tools = draw(st.sampled_from(['"*"', '"pay*"', '"read"', '"pay", "read"']))
    from_result = f"result of tool {tools} at {at}{draw(st.sampled_from(['', '', f' where ({where})']))}"
    approved = f"approved tool {tools} at a, l[], {draw(st.sampled_from(['a', 'domain of a', 'name of l[]']))}"
    source = draw(st.sampled_from(["input", "input.q", "input.l[]", "some", '["b", 2, "ana@corp.example", "/a/b"]']))
    who = draw(st.sampled_from(["", "allowed ", "approved "]))
    grows = draw(
        st.sampled_from(["item.x in paid", "any item.l[] in told", "item in paid ignoring case or item in told"])
    )
    grown = draw(
        st.sampled_from(
            [
                f"{source} or {from_result} or {approved}",
                f"asked or {from_result} or result of {who}tool {tools} words at {at}",
                f"asked or paid or result of {who}tool {tools} at {at} where ({grows})",
                f"result of tool {tools} words at [], * where ({grows}) or some",
            ]
        )
    )
    placed = ['workdir "/a"\n', 'workdir "/a"\nhome "/a/b"\n', "workdir session\n", 'workdir session\nhome "/a/b"\n']
    around = draw(st.sampled_from(["", "", *placed, 'zone "Europe/London"\n', "effects bsd\n"]))
    return f"""
{around}let some = {draw(listed(words, 1))}
let none = []
let figures = {draw(listed(literals, 1))}
known asked = {source}
known paid = {from_result}
known grown = {grown}
known told = some or ["ab c", 1100] or {from_result}
condition small = {draw(expressions(presence=presence, depth=1))}
condition odd = {draw(st.sampled_from(["not small", "small", "(not (small or args.a == 1))"]))}
"""


SUBJECTS: Final = st.sampled_from(
    ['"pay"', '"pay"', '"pay*"', '"*"', '"pay", "read"', '"[Pp]ay"', '"?"', "some", '"read"']
)


@st.composite
def rules(draw: st.DrawFn, name: str) -> str:
    """One rule with up to two conditions."""
    verdict = draw(st.sampled_from(["allow", "deny", "require approval for"]))
    tools = SUBJECTS.map(lambda text: f"tool {text}")
    subject = draw(st.one_of(tools, tools, st.just("any step"), st.just('local "*", "a"')))
    lines = [f"  {verdict} {subject}"]
    clauses = draw(st.lists(st.sampled_from(["when", "unless"]), unique=True, max_size=2))
    lines += [f"  {clause} {draw(expressions(conditions=True))}" for clause in clauses]
    if draw(st.booleans()):
        lines.append(f'  because "{name} says so"')
    return "\n".join([f"rule {name} {{", *lines, "}"])


@st.composite
def bundles(draw: st.DrawFn, least: int = 1) -> str:
    """A whole bundle."""
    default = draw(st.sampled_from(["", "default allow\n", 'default deny because "no"\n']))
    texts = [draw(rules(f"r{n}")) for n in range(draw(st.integers(least, 4)))]
    return "\n".join([f"bundle made\n{default}{draw(prologues())}", *texts])


# ---------------------------------------------------------------- policies


def policy_of(text: str) -> Policy:
    """The policy of a text that only has to parse: rules that cannot be reached are of no concern here."""
    source = Source(text)
    bundle, found = parse_bundle(source)
    assert not found, "\n".join(map(str, found)) + "\n" + text
    return from_tree(read_soft_roots(bundle), source)


def answers(prologue: str, expression: str, submissions: Iterable[Facts]) -> list[Tri]:
    """What a condition comes to for each submission: yes, no or maybe."""
    text = f"{prologue}\nrule sure {{ allow any step when {expression} }}\n"
    policy = policy_of(f"{text}rule perhaps {{ deny any step when {expression} }}\n")
    decided = [policy.decide(facts).rule_id for facts in submissions]
    return [{"sure": True, "perhaps": None}.get(rule_id, False) for rule_id in decided]


def answer(prologue: str, expression: str, given: Facts) -> Tri:
    """What a condition comes to for one submission."""
    return answers(prologue, expression, [given])[0]
