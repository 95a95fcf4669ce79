"""Hypothesis strategies for bundles: short rules over few names, each construct by its switch."""

from typing import Final

from hypothesis import strategies as st

from tests.policy.naive.constructs import on

# Where a test stands: in a rule, in a block, in the `where` of a test of the past, in one of a joined step, in the
# `where` of a `known`. For each, the paths to a name, to a number, to a text and to many names.
Paths = dict[str, list[str]]
RULE: Final[Paths] = {
    "name": ["args.to", "args.to", "args.l[0]", "args.rows[0].to", "args.m.ann.to", "target", "agent", "input.who"],
    "number": ["args.n", "args.n", "args.rows[0].n", "input.n"],
    "text": ["args.t", "args.t", "args.to", "input.request"],
    "many": ["args.l[]", "args.l", "args.rows[].to", "args.rows[].l[]", "args.to", "input.l[]"],
    "object": ["args", "args.m", "args.rows[0]"],
}
BLOCK: Final[Paths] = {
    "name": ["it", "it", "it.to", "it[0]", "args.to"],
    "number": ["it", "it.n", "args.n"],
    "text": ["it", "it.t", "args.t"],
    "many": ["it", "it.l[]", "args.l[]"],
    "object": ["it", "args"],
}
PAST: Final[Paths] = {
    "name": ["args.to", "args.to", "result.to", "result[0].to", "target", "this.args.to", "input.who", "agent"],
    "number": ["args.n", "args.n", "result[0].n", "this.args.n"],
    "text": ["args.t", "result.t", "this.args.t"],
    "many": ["args.l[]", "result[].to", "this.args.l[]", "this.args.l", "args.rows[].to"],
    "object": ["args", "result", "this.args.m", "result[0]"],
}
JOINED: Final[Paths] = {
    "name": [*PAST["name"], "outer.args.to", "outer.args.to", "outer.result.to", "outer.result[0].to", "outer.target"],
    "number": [*PAST["number"], "outer.args.n", "outer.result[0].n"],
    "text": PAST["text"],
    "many": [*PAST["many"], "outer.args.l[]", "outer.result[].to"],
    "object": [*PAST["object"], "outer.args"],
}
KNOWN: Final[Paths] = {
    "name": ["item.by", "item.by", "item.to", "item", "args.to", "result[0].by", "target", "input.who"],
    "number": ["item.n", "args.n", "result[0].n"],
    "text": ["item.t", "args.t"],
    "many": ["item.l[]", "item.l", "args.l[]", "result[].by"],
    "object": ["item", "args", "result"],
}
NAMES: Final = ['"ann"', '"ann"', '"bob"', '"ann bob"', '""']
NUMBERS: Final = ["1", "2", "50", "0", "0.1"]
SIGNS: Final = ["==", "!=", "<", "<=", ">", ">="]
TYPES: Final = ["string", "number", "integer", "boolean", "list", "object", "null"]
KNOWNS: Final = ["asked", "said", "grown", "grown", "listed"]
# Those without the words of a user.
LISTED: Final = ["said", "listed", "listed"]
GLOBS: Final = ['"a*"', '"*b*"', '"?nn"', '"[a-b]*"', '["x", "*n"]', '"\\\\a*"']
TARGETS: Final = ['tool "list"', 'tool "list"', 'tool "pay"', 'tool "*"', 'tool "list", "pay"', "any step"]


def _second(paths: Paths, where: str) -> Paths:
    # The roots and the path parts of the second edition.
    more = {key: list(listed) for key, listed in paths.items()}
    if on("turns") and where in ("rule", "past"):
        more["text"] += ["turns[0]"]
        more["many"] += ["turns[]", "turns"]
        more["object"] += ["turns"]
    if on("parent") and where == "rule":
        more["name"] += ["parent"]
    if on("definition") and where != "block":
        more["name"] += ["definition.server", "definition.server"]
        more["object"] += ["definition"]
    if on("error") and where == "past":
        more["name"] += ["error.type", "error.message", "error"]
    if on("values"):
        start = {"block": "it", "known": "item"}.get(where, "args")
        more["many"] += [f"{start}.m.*", f"{start}.m.*.to", f"{start}.*"]
    return more


@st.composite
def single_tests(draw: st.DrawFn, paths: Paths, where: str, known: bool = True) -> str:
    """One test."""
    paths = _second(paths, where)
    shapes = ["name", "name", "number", "text", "many", "many", "presence"]
    shapes += ["several"] * (on("several paths") and where == "rule")
    shapes += ["set"] * (on("text of") or on("key of") or on("word of"))
    shapes += ["truth"] * (on("error") and where == "past")
    shape = draw(st.sampled_from(shapes))
    if shape == "presence":
        path = draw(st.sampled_from(paths["name"] + paths["object"]))
        word = st.sampled_from(TYPES).map(lambda name: f"is {name}")
        return f"{path} {draw(st.one_of(st.sampled_from(['given', 'missing']), word))}"
    if shape == "truth":
        return f"error.nothing_done {draw(st.sampled_from(['==', '!=']))} true"
    if shape == "number":
        right = st.sampled_from([*NUMBERS, *paths["number"]])
        return f"{draw(st.sampled_from(paths['number']))} {draw(st.sampled_from(SIGNS))} {draw(right)}"
    quantifier = draw(st.sampled_from(["any", "every", "no"]))
    if shape == "set":
        return f"{quantifier} {draw(_sets(paths, known))}"
    if shape == "text":
        return f"{draw(st.sampled_from(paths['text']))} {draw(_text_tests(paths, known))}"
    if shape == "name":
        return f"{draw(st.sampled_from(paths['name']))} {draw(_name_tests(paths, known))}"
    operand = draw(st.sampled_from(paths["many"]))
    if shape == "several":
        listed = st.sampled_from([*paths["many"], "args.to", "args.t"])
        operand = f"({', '.join(draw(st.lists(listed, min_size=2, max_size=3)))})"
        if draw(st.integers(0, 4)) == 0:
            return f"{operand} {draw(st.sampled_from(['given', 'missing']))}"
    return f"{quantifier} {operand} {draw(_name_tests(paths, known))}"


@st.composite
def _sets(draw: st.DrawFn, paths: Paths, known: bool) -> str:
    facets = [name for name in ("text", "key", "word") if on(f"{name} of")]
    facet = draw(st.sampled_from(facets))
    operand = draw(st.sampled_from(paths["object"] if facet != "word" else paths["text"] + paths["name"]))
    test = st.sampled_from(['== "ann"', 'in ["ann", "to", "n", "t", "l", "rows", "m"]', 'contains "nn"', "in some"])
    if facet != "text" and known and on("in known"):
        test = st.one_of(test, st.sampled_from(KNOWNS).map(lambda name: f"in {name}"))
    if facet == "text" and known and on("contains any known"):
        test = st.one_of(test, st.sampled_from(LISTED).map(lambda name: f"contains any {name}"))
    return f"{facet} of {operand} {draw(test)}"


@st.composite
def _name_tests(draw: st.DrawFn, paths: Paths, known: bool) -> str:
    folds = draw(st.sampled_from(["", "", " ignoring case"]))
    negation = draw(st.sampled_from(["", "", "not "]))
    shapes = ["equal", "equal", "in", "like", *["known"] * 3 * (known and on("in known"))]
    shape = draw(st.sampled_from(shapes))
    if shape == "equal":
        right = st.sampled_from([*NAMES, *paths["name"]])
        return f"{draw(st.sampled_from(['==', '==', '!=']))} {draw(right)}{folds}"
    if shape == "in":
        right = st.sampled_from(['["ann"]', '["ann", "bob"]', '["ann", 1]', "some", "none", *paths["many"]])
        return f"{negation}in {draw(right)}{folds}"
    if shape == "known":
        return f"{negation}in {draw(st.sampled_from(KNOWNS))}{folds}"
    return f"{negation}like {draw(st.sampled_from(GLOBS))}"


@st.composite
def _text_tests(draw: st.DrawFn, paths: Paths, known: bool) -> str:
    folds = draw(st.sampled_from(["", "", " ignoring case"]))
    negation = draw(st.sampled_from(["", "", "not "]))
    shapes = ["contains", "starts with", "ends with", *["any"] * on("contains any list")]
    shape = draw(st.sampled_from(shapes + ["known"] * 3 * (known and on("contains any known"))))
    if shape == "known":
        return f"{negation}contains any {draw(st.sampled_from(LISTED))}"
    if shape == "any":
        right = st.sampled_from(['["ann", "50"]', "some", *paths["many"]])
        return f"{negation}contains any {draw(right)}{folds}"
    return f"{negation}{shape} {draw(st.sampled_from([*NAMES, *paths['name']]))}{folds}"


# ---------------------------------------------------------------- the past


@st.composite
def history_tests(draw: st.DrawFn, joined: bool = False) -> str:
    """`after`, `count` or `sum`, in a rule or (`joined`) in the `where` of another one."""
    forms = [name for name in ("after", "count", "sum") if on(name) and not (joined and name == "sum")]
    form = draw(st.sampled_from(forms))
    who = draw(st.sampled_from(["", "", "allowed ", "approved "])) if on("who") else ""
    subject = who + draw(st.sampled_from(TARGETS))
    if form == "sum":
        at = st.sampled_from(["args.n", "args.n", "result.n", "result[].n", "args.n, args.n", "args.rows[].n"])
        subject = f"{subject} at {draw(at)}"
    past = subject + draw(_wheres(joined))
    if on("since") and draw(st.integers(0, 2)) == 0:
        past += f" since {draw(st.sampled_from(TARGETS))}{draw(_wheres(joined))}"
    if on("within") and draw(st.integers(0, 2)) == 0:
        past += f" within {draw(st.sampled_from(['30s', '1m', '90s', '1h']))}"
    if form == "after":
        return f"after {past}"
    compared = f"{draw(st.sampled_from(SIGNS))} {draw(st.integers(0, 3))}"
    if form == "count":
        return f"count({past}) {compared}"
    plus = draw(st.sampled_from(["", " + args.n", " + args.n"]))
    number = draw(st.sampled_from(["0", "1", "3", "50", "0.2", "52"]))
    return f"sum({past}){plus} {draw(st.sampled_from(SIGNS))} {number}"


@st.composite
def _wheres(draw: st.DrawFn, joined: bool) -> str:
    if draw(st.booleans()):
        return ""
    test = draw(expressions(JOINED if joined else PAST, "past", depth=1))
    if on("join") and not joined and draw(st.booleans()):
        test = f"{test} and {draw(st.sampled_from(['', 'not ']))}{draw(history_tests(joined=True))}"
    return f" where ({test})"


# ---------------------------------------------------------------- whole bundles


@st.composite
def expressions(draw: st.DrawFn, paths: Paths, where: str, *, known: bool = True, depth: int = 2) -> str:
    """A condition in parentheses."""
    shapes = ["test", "test", "test"]
    shapes += ["not", "and", "or"] * bool(depth) + ["block"] * (bool(depth) and on("block") and where != "block")
    shapes += ["past", "past"] * (where == "rule" and on("after", "count"))
    shapes += ["condition"] * (where == "rule" and on("condition"))
    shape = draw(st.sampled_from(shapes))
    if shape == "past":
        return f"({draw(history_tests())})"
    if shape == "condition":
        return "(small)"
    if shape == "block":
        operand = draw(st.sampled_from(paths["many"] + paths["object"]))
        inside = draw(expressions(BLOCK, "block", known=known, depth=1))
        return f"({draw(st.sampled_from(['any', 'every', 'no']))} {operand} has ({inside}))"
    if shape == "test":
        return f"({draw(single_tests(paths, where, known))})"
    deeper = expressions(paths, where, known=known, depth=depth - 1)
    return f"(not {draw(deeper)})" if shape == "not" else f"({draw(deeper)} {shape} {draw(deeper)})"


@st.composite
def sources(draw: st.DrawFn, known: list[str]) -> str:
    """A source of a `known`, which may ask for what the sets `known` hold."""
    shapes = ["result", "result", "result", "approved", *["known"] * (bool(known) and on("known as source"))]
    shape = draw(st.sampled_from(shapes))
    if shape == "known":
        return draw(st.sampled_from(known))
    plain = ["to", "[]", "[].to", "[].to", "[].to", "[].to, [].by", "[].l[]", "[].n, n"]
    plain += ["*.to", "k.to", "*.l[]"] * on("values") + ["key of []"] * on("key of") + ["word of [].t"] * on("word of")
    at = f"at {draw(st.sampled_from(plain))}"
    tools = draw(st.sampled_from(['tool "list"', 'tool "list"', 'tool "*"', 'tool "list", "pay"']))
    if shape == "approved":
        return f"approved {tools} at {draw(st.sampled_from(['to', 'l[]', 'rows[].to', 'n']))}"
    if on("words at") and draw(st.integers(0, 2)) == 0:
        at = f"words at {draw(st.sampled_from(['[].t', '[].t', 't', '[]', '[].n', '[].l']))}"
    who = draw(st.sampled_from(["", "", "allowed ", "approved "])) if on("who in known") else ""
    where = ""
    if draw(st.booleans()):
        where = f" where ({draw(expressions(KNOWN, 'known', known=False, depth=1))})"
        if known and on("known in where") and draw(st.booleans()):
            path = draw(st.sampled_from(["item.by", "item.to", "any item.l[]", "args.to"]))
            where = f" where ({path} in {draw(st.sampled_from(known))})"
    return f"result of {who}{tools} {at}{where}"


@st.composite
def prologues(draw: st.DrawFn) -> str:
    """The names that the rules use."""
    inputs = [
        "input",
        "input.request",
        "input.request",
        "input.l[]",
        *["turns", "input.request or turns"] * on("turns"),
    ]
    lines = ['let some = ["ann", "bob"]', "let none = []", f"known asked = {draw(st.sampled_from(inputs))}"]
    lines.append(f"known said = {draw(sources(['asked']))}")
    first = draw(st.sampled_from(["input.request or ", "", "some or "]))
    lines.append(f"known grown = {first}{draw(sources(['said', 'asked']))}")
    # This one is also looked for in texts, so it must not hold the user's words.
    listed = draw(sources([])) if not on("words at") else 'result of tool "list" at [].to'
    lines.append(f'known listed = ["ann", 4711] or {listed}')
    if on("condition"):
        lines.append(f"condition small = {draw(expressions(RULE, 'other', depth=1))}")
    return "\n".join(lines)


@st.composite
def rules(draw: st.DrawFn, name: str) -> str:
    """One rule."""
    verdict = draw(st.sampled_from(["allow", "deny", "require approval for"]))
    subject = draw(
        st.sampled_from(['tool "pay"', 'tool "pay"', 'tool "p*"', 'tool some, "list"', "any step", 'local "*"'])
    )
    clauses = draw(st.sampled_from([["when"], ["when"], ["when", "unless"], ["unless"], []]))
    lines = [f"  {clause} {draw(expressions(RULE, 'rule'))}" for clause in clauses]
    return "\n".join([f"rule {name} {{", f"  {verdict} {subject}", *lines, "}"])


@st.composite
def bundles(draw: st.DrawFn) -> str:
    """A whole bundle."""
    default = draw(st.sampled_from(["", "default allow\n", "default deny\n"]))
    made = [draw(rules(f"r{number}")) for number in range(draw(st.integers(1, 4)))]
    return "\n".join([f"{default}{draw(prologues())}", *made])
