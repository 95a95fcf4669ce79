"""Hypothesis strategies for texts of the whole grammar, as tokens that any layout may part, and for such layouts.

What they make parses; whether it makes sense, `check` would have to say.
"""

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

Tokens = list[str]

STRINGS: Final = ['""', '"a b"', '"a\\"b # c"', r'"\u00e9\\"', 'r"a\\d#"', 'r""', '"' + "long " * 18 + '"', '"{(["']
NUMBERS: Final = ["0", "-1", "10_000", "1_0.5", "1e+5", "2.5E-3", "9007199254740993"]
DURATIONS: Final = ["30s", "5m", "1h30m", "2d"]
NAMES: Final = ["people", "some_hosts", "x", "a_very_long_name_that_someone_gave_to_a_list_of_theirs"]
IDS: Final = ["a", "no-mail-after-web", "B_2", "in-between"]
KEYS: Final = [[".a"], [".in"], [".rule"], ["[", "]"], ["[", "0", "]"], ["[", '"odd key"', "]"], [".items", "[", "]"]]
FACETS: Final = ["path", "host", "domain", "command", "text", "size", "date"]


def _flat(parts: Sequence[Tokens]) -> Tokens:
    return [token for part in parts for token in part]


def _word(options: Sequence[str]) -> st.SearchStrategy[Tokens]:
    return st.sampled_from(options).map(lambda text: [text])


def _seq(*parts: "st.SearchStrategy[Tokens] | str") -> st.SearchStrategy[Tokens]:
    made: list[Any] = [st.just(part.split()) if isinstance(part, str) else part for part in parts]
    return st.tuples(*made).map(_flat)


def _maybe(part: st.SearchStrategy[Tokens]) -> st.SearchStrategy[Tokens]:
    return st.one_of(st.just(Tokens()), part)


def _joined(part: st.SearchStrategy[Tokens], by: str, least: int = 1, most: int = 4) -> st.SearchStrategy[Tokens]:
    def join(parts: list[Tokens]) -> Tokens:
        return _flat([parts[0], *([by, *part] for part in parts[1:])]) if parts else []

    return st.lists(part, min_size=least, max_size=most).map(join)


strings = _word(STRINGS)
numbers = _word(NUMBERS)
whole = _word(["1", "20", "1_000"])
durations = _word(DURATIONS)
names = _word(NAMES)
literals = st.one_of(strings, numbers, _word(["true", "false", "null"]))
lists = st.one_of(_seq("[", _joined(literals, ",", 0, 6), "]"), _seq("[ ]"))
parts = st.lists(st.sampled_from(KEYS), max_size=3).map(_flat)
paths = _seq(_word(["args", "input", "target", "agent", "it", "item", "result", "this"]), parts)
relative = st.one_of(_seq(_word(["recipient", "at_", "x"]), parts), _seq("[ ]", parts))
kinds = _seq(_word(["tool", "llm", "local"]), _joined(st.one_of(strings, names), ",", 1, 4))
subjects = st.one_of(_joined(kinds, "or", 1, 3), _seq("any step"))
ats = _joined(_seq(_maybe(_seq(_word(FACETS), "of")), relative), ",", 1, 3)
own_facets = _maybe(_joined(_word(FACETS), "of", 1, 2).map(lambda found: [*found, "of"]))
values = st.one_of(literals, lists, names, _seq(own_facets, paths))
many = _seq("(", _joined(paths, ",", 2, 3), ")")
operands = st.one_of(
    paths,
    _seq(own_facets, paths),
    many,
    _seq(_word(["any", "every", "no"]), own_facets, st.one_of(paths, many)),
)


def _tests(deeper: st.SearchStrategy[Tokens]) -> st.SearchStrategy[Tokens]:
    negation = st.sampled_from([[], ["not"]])
    fold = st.sampled_from([[], ["ignoring", "case"]])
    where = _maybe(_seq("where (", deeper, ")"))
    signs = _word(["==", "!=", "<", "<=", ">", ">="])
    return st.one_of(
        _seq(operands, signs, values, fold),
        _seq(operands, negation, _word(["in", "like", "matches", "contains", "under"]), values, fold),
        _seq(operands, negation, _word(["starts", "ends"]), "with", values, fold),
        _seq(operands, negation, "contains any", values, fold),
        _seq(operands, _word(["given", "missing"])),
        _seq(operands, "is", negation, _word(["string", "null", "list"])),
        _seq(operands, "has (", deeper, ")"),
        names,
        _seq("after", subjects, where),
        _seq("count (", subjects, where, ")", signs, whole),
        _seq("during", strings),
    )


def _expressions(deeper: st.SearchStrategy[Tokens]) -> st.SearchStrategy[Tokens]:
    unary = st.one_of(_tests(deeper), _seq("not", _tests(deeper)), _seq("(", deeper, ")"), _seq("not (", deeper, ")"))
    return st.one_of(unary, _joined(unary, "and", 2, 4), _joined(unary, "or", 2, 4))


expressions = st.recursive(_seq("args .a ==", literals), _expressions, max_leaves=8)

sources = st.one_of(
    _seq("input", parts),
    lists,
    names,
    _seq("result of", subjects, "at", ats, _maybe(_seq("where (", expressions, ")"))),
    _seq("approved", subjects, "at", ats),
)
otherwise = st.sampled_from([[], ["else", "deny"], ["else", "require", "approval"], ["else", "wait", "up", "to", "5m"]])
scopes = _word(["", "for each execution", "for each agent", "for all agents together"]).map(lambda f: f[0].split())
CLAUSES: Final = (
    _seq("when", expressions),
    _seq("unless", expressions),
    _seq("because", strings),
    _seq(
        "limit", whole, "per", st.one_of(_word(["execution"]), _seq(durations, scopes)), otherwise,
        _maybe(_seq("if unavailable", _word(["allow", "deny"]))),
    ),
    _seq("budget", whole, "tokens per execution", otherwise),
    _seq("approvers", _joined(strings, ",")),
    _seq("quorum", whole),
    _seq("expires", durations),
    _seq("message", strings),
    _seq("edits", _joined(_word(["args.amount", "args.items[].n", "args.to.*"]), ",")),
)  # fmt: skip


@st.composite
def rules(draw: st.DrawFn) -> Tokens:
    """One rule, its clauses in any order."""
    head = draw(_seq(st.sampled_from([["allow"], ["deny"], ["require", "approval", "for"]]), subjects))
    clauses = draw(st.lists(st.sampled_from(CLAUSES), unique=True, max_size=4))
    return ["rule", draw(st.sampled_from(IDS)), "{", *head, *_flat([draw(clause) for clause in clauses]), "}"]


statements = st.one_of(
    _seq("default", _word(["allow", "deny"]), _maybe(_seq("because", strings))),
    _seq("let", names, "=", st.one_of(literals, lists, _seq("file", strings))),
    _seq(_word(["use", "workdir", "home"]), strings),
    st.just(["workdir", "session"]),
    _seq("effects", st.one_of(strings, _word(["gnu", "bsd"]))),
    _seq("known", names, "=", _joined(sources, "or", 1, 3)),
    _seq("condition", names, "=", expressions),
    rules(),
    rules(),
)
files = _seq(_maybe(_seq("bundle", _word(IDS), _maybe(_seq("version 1")))), st.lists(statements, max_size=5).map(_flat))

SMALL: Final = [" ", " ", " ", " ", "\n", "  \n\t", "\n\n\n", " # a note\n", "\n# above\n", "\n\n# one\n\n# two \n\n"]


@st.composite
def layouts(draw: st.DrawFn, tokens: st.SearchStrategy[Tokens] = files) -> str:
    """A text of the whole grammar with blanks, line breaks and comments wherever they may stand."""
    made = draw(tokens)
    calm = draw(st.booleans())
    gaps = draw(st.lists(st.sampled_from(SMALL[:5] if calm else SMALL), min_size=len(made), max_size=len(made)))
    ends = draw(st.sampled_from(["", "\n", "\n\n", "\n# the end", " # the end"]))
    text = "".join(token + gap for token, gap in zip(made, gaps, strict=True)) + ends
    return draw(st.sampled_from(["", "\ufeff", "# head\n\n"])) + (text.replace("\n", "\r\n") if calm else text)
