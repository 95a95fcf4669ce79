"""Bundles become trees: every construct of the language, exact places, and a grammar without a conflict."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from lark.common import LexerConf
from lark.exceptions import GrammarError
from lark.lexer import Lexer, LexerState, Token

from rebuno.packaged import grammar
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.keywords import (
    CLAUSE_WORDS,
    HEAD_WORDS,
    RESERVED_WORDS,
    SOFT_CLAUSES,
    SOFT_FACETS,
    STATEMENT_WORDS,
)
from rebuno.policy.syntax.keywords import FACET_MODULES as OWN
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tree import Op, Quantifier

BANKING = """\
# Banking assistant. A transfer runs without asking only to an account that the user named, or has paid before.
bundle banking
default deny because "not a banking tool"

let reads = ["get_*", "read_file"]

known asked  = input
known payees = input
            or result of tool "get_most_recent_transactions" at [].recipient where (item.sender == "me")
            or approved tool "send_money" at recipient

condition small = args.amount missing or args.amount <= 2500

rule reads {
  allow tool reads
}

rule no-mail-after-web {
  deny tool "send_email" or tool "http_post"
  when (any domain of (args.to, args.cc) not under "corp.example") and after tool "web_*"
  because "mail leaves the company after the web was read"
}

rule pay {
  allow tool "send_money"
  when args.recipient in payees and small
  limit 5 per 1h else require approval
  because "a known payee and a moderate amount"
}

rule writes-ask {
  require approval for tool "send_money", "update_*"
  approvers "alice", "bob"
  expires 15m
  message "Did you ask for this?"
  because "a value that the user did not name"
}
"""


def tree(text: str) -> s.Bundle:
    bundle, found = parse_bundle(Source(text, stem="file"))
    assert [str(d) for d in found] == []
    return bundle


def expr(text: str) -> s.Expr:
    statement = tree(f"condition c = {text}").statements[0]
    assert isinstance(statement, s.Condition)
    return statement.expr


def path(text: str, *parts: str) -> s.Path:
    return s.Path(text, tuple(s.Key(part) for part in parts))


def operand(root: str, *parts: str) -> s.Operand:
    return s.Operand(None, (), (path(root, *parts),))


class NoLexer(Lexer):
    """Stands in for Lark's own lexers, whose strict mode needs another package."""

    def __init__(self, conf: LexerConf) -> None:
        self.conf = conf

    def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
        """Never called: only the parser's tables are built."""
        raise AssertionError


STARTS = ["start", "statement", "rule_open", "rule_part", "rule_end"]


def test_the_grammar_has_no_conflict() -> None:
    """Lark settles a conflict silently unless it is told not to."""
    Lark(grammar(), parser="lalr", lexer=NoLexer, start=STARTS, strict=True)
    with pytest.raises(GrammarError, match="Shift/Reduce"):
        Lark('start: start start | "a"', parser="lalr", lexer=NoLexer, strict=True)


def test_a_whole_bundle() -> None:
    """The example bundle has every statement in its place, and a name of its own."""
    bundle = tree(BANKING)
    assert bundle.name == "banking"
    assert [type(statement).__name__ for statement in bundle.statements] == (
        ["BundleLine", "Default", "Let", "Known", "Known", "Condition", "Rule", "Rule", "Rule", "Rule"]
    )
    assert bundle.whole
    assert len(bundle.comments) == 1
    pay = bundle.statements[8]
    assert isinstance(pay, s.Rule)
    assert [type(clause).__name__ for clause in pay.clauses] == ["When", "LimitClause", "Because"]


X = operand("args", "x")
TESTS: list[tuple[str, s.Expr]] = [
    ("args.x == 1", s.Test(X, Op.EQ, s.Literal(1))),
    ("args.x != 1.5", s.Test(X, Op.NE, s.Literal(1.5))),
    ("args.x < -2", s.Test(X, Op.LT, s.Literal(-2))),
    ("args.x >= 1_000", s.Test(X, Op.GE, s.Literal(1000))),
    ("args.x == true", s.Test(X, Op.EQ, s.Literal(True))),
    ("args.x == null", s.Test(X, Op.EQ, s.NullLiteral())),
    ("args.x in [1, \"a\"]", s.Test(X, Op.IN, s.ListLiteral((s.Literal(1), s.Literal("a"))))),
    ("args.x not in people", s.Test(X, Op.IN, s.Name("people"), negated=True)),
    ("args.x in args.y", s.Test(X, Op.IN, operand("args", "y"))),
    ("args.x in input", s.Test(X, Op.IN, operand("input"))),
    ("args.x like \"a*\" ignoring case", s.Test(X, Op.LIKE, s.Literal("a*"), ignoring_case=True)),
    ("args.x not matches r\"\\d\"", s.Test(X, Op.MATCHES, s.Literal("\\d", raw=True), negated=True)),
    ("args.x contains \"a\"", s.Test(X, Op.CONTAINS, s.Literal("a"))),
    ("args.x not contains any secret", s.Test(X, Op.CONTAINS_ANY, s.Name("secret"), negated=True)),
    ("args.x starts with \"a\"", s.Test(X, Op.STARTS, s.Literal("a"))),
    ("args.x not ends with \"a\"", s.Test(X, Op.ENDS, s.Literal("a"), negated=True)),
    ("args.x under \"/a\"", s.Test(X, Op.UNDER, s.Literal("/a"))),
    ("args.x given", s.Test(X, Op.GIVEN, None)),
    ("args.x missing", s.Test(X, Op.MISSING, None)),
    ("args.x is not null", s.Test(X, Op.IS, s.Literal("null"), negated=True)),
    ("target == \"a\"", s.Test(operand("target"), Op.EQ, s.Literal("a"))),
    # words of the language as argument names
    ("args.in in args.when", s.Test(operand("args", "in"), Op.IN, operand("args", "when"))),
    ("args.host given", s.Test(operand("args", "host"), Op.GIVEN, None)),
    # a keyword is only whole words
    ("node_ok", s.ConditionRef(s.Name("node_ok"))),
    ("not small", s.Not(s.ConditionRef(s.Name("small")))),
    ("a and b and c", s.And(tuple(s.ConditionRef(s.Name(name)) for name in "abc"))),
    ("(a or b) and c",
     s.And((s.Or((s.ConditionRef(s.Name("a")), s.ConditionRef(s.Name("b")))), s.ConditionRef(s.Name("c"))))),
    ("during \"Mon-Fri 09:00-17:00 UTC\"", s.During(s.Literal("Mon-Fri 09:00-17:00 UTC"))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "node"), TESTS, ids=[text for text, _ in TESTS])
def test_tests(text: str, node: s.Expr) -> None:
    """Each form of a test gives its node."""
    assert expr(text) == node


OPERANDS: list[tuple[str, s.Operand]] = [
    ("any args.x[].y", s.Operand(Quantifier.ANY, (), (s.Path("args", (s.Key("x"), s.Each(), s.Key("y"))),))),
    ("no args.x", s.Operand(Quantifier.NO, (), (path("args", "x"),))),
    ("every (args.x, input.y)", s.Operand(Quantifier.EVERY, (), (path("args", "x"), path("input", "y")))),
    ("any host of link of args.x", s.Operand(Quantifier.ANY, (s.Name("host"), s.Name("link")), (path("args", "x"),))),
    ("every domain of (args.x, args.y)",
     s.Operand(Quantifier.EVERY, (s.Name("domain"),), (path("args", "x"), path("args", "y")))),
    ("size of args", s.Operand(None, (s.Name("size"),), (path("args"),))),
    ("(args.x, args.y)", s.Operand(None, (), (path("args", "x"), path("args", "y")))),
    ('args["odd key"][0]', s.Operand(None, (), (s.Path("args", (s.Key("odd key", quoted=True), s.Index(0))),))),
    ("this.args.x", s.Operand(None, (), (path("this", "args", "x"),))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "node"), OPERANDS, ids=[text for text, _ in OPERANDS])
def test_operands(text: str, node: s.Operand) -> None:
    """Each form of an operand gives its node."""
    assert expr(f"{text} given") == s.Test(node, Op.GIVEN, None)


def test_blocks_history_and_counts() -> None:
    """Blocks nest, subjects take their own `or`, and `where` belongs to the subject before it."""
    web = s.Subject((s.KindPatterns("tool", (s.Literal("a"),)), s.KindPatterns("llm", (s.Name("models"),))))
    first = expr('after tool "a" # both\n or # of them\n llm models where (args.x == this.args.x)')
    assert first == s.After(web, s.Test(X, Op.EQ, operand("this", "args", "x")))
    assert expr("count(any step) >= 3") == s.Count(s.Subject(()), None, Op.GE, 3)
    block = expr("every args.x has (it in people or any it.y has (it given))")
    assert isinstance(block, s.Test)
    assert isinstance(block.block, s.Or)
    after_or = expr('after tool "a" or args.x given')
    assert isinstance(after_or, s.Or)


def test_sources_of_known_values() -> None:
    """Every kind of source is read, and the names after `at` may be words of the language."""
    text = (
        "known k = input or input.request or names or [1] or "
        'result of tool "a" or tool "b" at [].in, date of [0].x where (item.y given) or approved any step at when'
    )
    known = tree(text).statements[0]
    ab = s.Subject((s.KindPatterns("tool", (s.Literal("a"),)), s.KindPatterns("tool", (s.Literal("b"),))))
    assert known == s.Known(
        s.Name("k"),
        (
            s.InputSource(path("input")),
            s.InputSource(path("input", "request")),
            s.ListSource(s.Name("names")),
            s.ListSource(s.ListLiteral((s.Literal(1),))),
            s.ResultSource(
                ab,
                (
                    s.At((), s.Path("", (s.Each(), s.Key("in")))),
                    s.At((s.Name("date"),), s.Path("", (s.Index(0), s.Key("x")))),
                ),
                s.Test(operand("item", "y"), Op.GIVEN, None),
            ),
            s.ApprovedSource(s.Subject(()), (s.At((), path("", "when")),)),
        ),
    )


HOUR, MINUTES = s.Duration("1h30m", 5400), s.Duration("5m", 300)
CLAUSE_CASES: list[tuple[str, s.Clause]] = [
    ("limit 5 per 1h30m", s.LimitClause(5, HOUR, "execution", "", None, "")),
    ("limit 5 per execution else deny", s.LimitClause(5, None, "execution", "deny", None, "")),
    ("limit 5 per 1h30m for each agent else wait up to 5m", s.LimitClause(5, HOUR, "agent", "wait", MINUTES, "")),
    ("limit 5 per 5m for all agents together else require approval if unavailable allow",
     s.LimitClause(5, MINUTES, "global", "require approval", None, "allow")),
    ("limit 5 per 5m for each execution if unavailable deny", s.LimitClause(5, MINUTES, "execution", "", None, "deny")),
    ("budget 10_000 tokens per execution else require approval", s.BudgetClause(10_000, "require approval")),
    ('approvers "a", "b"', s.Approvers((s.Literal("a"), s.Literal("b")))),
    ("quorum 2", s.Quorum(2)),
    ("expires 5m", s.Expires(MINUTES)),
    ('message "m"', s.Message(s.Literal("m"))),
    ("edits args.x, args.y.z", s.Edits((X.paths[0], path("args", "y", "z")))),
    ("unless args.x given", s.Unless(s.Test(X, Op.GIVEN, None))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "node"), CLAUSE_CASES, ids=[text for text, _ in CLAUSE_CASES])
def test_clauses(text: str, node: s.Clause) -> None:
    """Each clause gives its node."""
    rule = tree(f"rule r {{ require approval for any step {text} }}").statements[0]
    assert isinstance(rule, s.Rule)
    assert rule.clauses == (node,)


def test_edits_is_no_reserved_word() -> None:
    """A bundle may name a list, a rule and an argument `edits`."""
    text = 'let edits = ["a"]\nrule edits {\n  require approval for tool edits\n'
    rule = tree(
        f'{text}  when args.edits in edits\n  approvers edits\n  edits args.edits\n  because "b"\n}}'
    ).statements[1]
    assert isinstance(rule, s.Rule)
    assert [type(clause) for clause in rule.clauses] == [s.When, s.Approvers, s.Edits, s.Because]


def test_lines_of_their_own() -> None:
    """The statements that take a string, and the file's stem where there is no `bundle` line."""
    bundle = tree('use "lib/net.rbp"\nworkdir "/proj"\nhome "/home/bot"\nlet hosts = file "hosts.yaml"\ndefault allow')
    assert bundle.name == "file"
    assert bundle.statements == (
        s.Use(s.Literal("lib/net.rbp")),
        s.Workdir(s.Literal("/proj")),
        s.Home(s.Literal("/home/bot")),
        s.Let(s.Name("hosts"), s.FileValue(s.Literal("hosts.yaml"))),
        s.Default("allow", None),
    )
    assert tree("bundle a-b version 1").statements == (s.BundleLine(s.Name("a-b"), 1),)


STRINGS = [
    (r'"a\n\t\"\\\/b"', 'a\n\t"\\/b'),
    (r'"\u00e9"', "é"),
    (r'"x\ud83d\ude00y"', "x\U0001f600y"),  # a pair is one character
    (r'r"a\nb\"', "a\\nb\\"),  # raw: a backslash is a backslash
    ('"é # no comment"', "é # no comment"),
]


@pytest.mark.parametrize(("text", "value"), STRINGS)
def test_strings(text: str, value: str) -> None:
    """Strings are JSON strings, raw ones are taken word for word."""
    assert tree(f"let a = {text}").statements == (s.Let(s.Name("a"), s.Literal(value, raw=text[0] == "r")),)


def test_numbers_are_exact() -> None:
    """Whole numbers of any size stay whole; a fraction or an exponent makes a double."""
    values = [(2**53 + 1), 10**30, 0, -7]
    for value in values:
        assert tree(f"let a = {value}").statements == (s.Let(s.Name("a"), s.Literal(value)),)
    let = tree("let a = 1e3").statements[0]
    assert isinstance(let, s.Let)
    assert isinstance(let.value, s.Literal)
    assert isinstance(let.value.value, float)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark(newline: str, mark: str) -> None:
    """The same visible text is the same bundle, comments included."""
    text = "bundle a # one\ndefault deny\n\t# two\n"
    bundle = tree(mark + text.replace("\n", newline))
    assert bundle == tree(text)
    assert bundle.comments == (s.Comment(" one", own_line=False), s.Comment(" two", own_line=True))
    assert bundle.statements[1].span.line == 2
    assert bundle.statements[0].span.column == 1


def test_places() -> None:
    """Every node of the example says exactly where its text stands."""
    bundle = tree(BANKING)
    text = bundle.text
    starts = [text[st.span.start : st.span.end].split()[0] for st in bundle.statements]
    assert starts == ["bundle", "default", "let", "known", "known", "condition", "rule", "rule", "rule", "rule"]
    rule = bundle.statements[7]
    assert isinstance(rule, s.Rule)
    assert text[rule.head_span.start : rule.head_span.end] == 'deny tool "send_email" or tool "http_post"'
    assert text[rule.span.start : rule.span.end].endswith("}")
    when = rule.clauses[0]
    assert isinstance(when, s.When)
    assert isinstance(when.expr, s.And)
    domain = when.expr.items[0]
    assert isinstance(domain, s.Test)
    assert text[domain.operand.span.start : domain.operand.span.end] == "any domain of (args.to, args.cc)"
    assert (when.span.line, when.span.column, when.span.end_line) == (20, 3, 20)


def test_words_are_in_one_place() -> None:
    """Every word that the grammar knows is reserved, but for those of the second edition, which reserve none."""
    known = {
        line.split(":")[0].strip().split(".")[0].strip("_").lower()
        for line in grammar().splitlines()
        if "(?!\\w)/" in line
    }
    words = known - {"or_kind", "key"}
    second = {"zone", "effects", "never", "edits", "session", "allowed", "words", "since", "within", "secret"}
    assert words - second <= RESERVED_WORDS | {"number"}
    assert not second & RESERVED_WORDS
    assert {*STATEMENT_WORDS, *CLAUSE_WORDS, *HEAD_WORDS, *OWN} - SOFT_FACETS - SOFT_CLAUSES <= RESERVED_WORDS
    assert not (SOFT_FACETS | SOFT_CLAUSES) & RESERVED_WORDS


SIGNS = ['"a"', 'r"b"', "5", "1h", "{", "}", "(", ")", "[", "]", ",", "=", "==", "x", ".y", "#z"]
WORDS = [*sorted(RESERVED_WORDS)[::3], *SIGNS, "\n"]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_no_text_raises(text: str) -> None:
    """Whatever the text says, the answer is a bundle and findings, never an exception."""
    bundle, found = parse_bundle(Source(text))
    assert bundle.whole is not bool(found)
    for diagnostic in found:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)


def test_every_prefix_is_understood_up_to_the_cut() -> None:
    """A file cut off anywhere gives findings at or before the cut, and the statements before it."""
    ends = [statement.span.end for statement in tree(BANKING).statements]
    for cut in range(0, len(BANKING), 17):
        bundle, found = parse_bundle(Source(BANKING[:cut]))
        assert all(diagnostic.span.start <= cut for diagnostic in found)
        assert len(bundle.statements) >= sum(end < cut for end in ends) - 1


def test_layout_carries_no_meaning() -> None:
    """Line breaks and indentation do not change the tree."""
    text = "rule r {\n    allow any step\n      when args.x\n   given\n}\n"
    assert tree(text) == tree(" ".join(text.split()))


@pytest.mark.parametrize(
    "rest",
    ["\nr", "\n}", "\n# more\nallow", ' "x"', "\n\n   ="],
    ids=ascii,
)
def test_a_rule_before_the_place_of_an_error_is_kept(rest: str) -> None:
    """What follows a closing brace is read by itself, whatever it begins with."""
    bundle, found = parse_bundle(Source('rule a {\n  deny tool "x" # }\n}' + rest))
    assert [rule.id.text for rule in bundle.statements if isinstance(rule, s.Rule)] == ["a"]
    assert len(found) == 1
