"""Syntax errors are told in plain words at the right place, all of a file at once, and nothing follows from them."""

import time

import pytest

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.syntax.diagnostics import MOST, Diagnostic, ordered
from rebuno.policy.syntax.parse import LARGEST, parse_bundle
from rebuno.policy.syntax.source import Source


def findings(text: str) -> list[Diagnostic]:
    bundle, found = parse_bundle(Source(text))
    return ordered([*found, *(d for d in check_bundle(bundle) if d.severity == "error")])


RULE = 'rule r {{\n  allow tool "a"\n  {}\n}}\n'

# text, code, line, column, words of the message, words of the hint
CASES: list[tuple[str, str, int, int, str, str]] = [
    # characters that no editor shows
    ("let a = 1\rlet b = 2\n", "bad-character", 1, 10, "carriage return alone (U+000D)", "LF"),
    ("bundle\u00a0a\n", "bad-character", 1, 7, "no-break space (U+00A0)", "\\u00a0"),
    ('let a = "x\u200by"\n', "bad-character", 1, 11, "zero-width character (U+200B)", "\\u200b"),
    ("# a\n# \u202eb\n", "bad-character", 2, 3, "direction of text (U+202E)", "remove"),
    ("bundle a\x00\n", "bad-character", 1, 9, "control character (U+0000)", "remove"),
    ("bundle a\n\ufeff\n", "bad-character", 2, 1, "zero-width character (U+FEFF)", "remove"),
    ("# \ud800\n", "bad-character", 1, 3, "half a surrogate pair (U+D800)", "UTF-8"),
    # literals
    (r'let a = "x\qy"', "bad-string", 1, 11, r"`\q`", r"`\\q`"),
    (r'let a = "\u12"', "bad-string", 1, 10, r"`\u`", "four hex digits"),
    (r'let a = "\ud800x"', "bad-string", 1, 10, "half a surrogate pair", "both halves"),
    (r'let a = "x\udc00"', "bad-string", 1, 11, "half a surrogate pair", "both halves"),
    (r'let a = "\ud800\u0041"', "bad-string", 1, 10, "half a surrogate pair", "both halves"),
    ('let a = "x\ty"', "bad-string", 1, 11, "a tab", "`\\t`"),
    ("let a = 007", "bad-number", 1, 9, "begins with a zero", "leave"),
    ("let a = -1e999", "bad-number", 1, 9, "more than a double can hold", ""),
    ("let a = " + "9" * 5000, "bad-number", 1, 9, "5,000 characters", "1,000"),
    ("let a = 1__0", "syntax", 1, 9, "cannot read `1__0`", "1_000"),
    ("let a = 5x", "syntax", 1, 9, "found `5x`", ""),
    (RULE.format("limit 1.5 per 1h"), "bad-number", 3, 9, "not a whole number", "digits"),
    (RULE.format("limit 5 per 1m30h"), "bad-duration", 3, 15, "`1m30h` is not a duration", "1h30m"),
    (RULE.format("limit 5 per 0s"), "bad-duration", 3, 15, "is zero", ""),
    (RULE.format("limit 5 per 60"), "syntax", 3, 15, "a duration", "`60s`, `60m`, `60h` or `60d`"),
    # what is never closed is told where reading ended, with the place where it began
    ("let a = [1, 2\n# the end\n", "not-closed", 1, 13, "the `[` of line 1, column 9 is never closed", ""),
    ('rule r {\n  allow tool "a"\n', "not-closed", 2, 14, "the `{` of line 1, column 8 is never closed", "a clause"),
    (RULE.format('when (args.x == 1\n  because "b"'), "not-closed", 3, 19, "the `(` of line 3, column 8", "`)`"),
    ('default deny because "x\n', "not-closed", 1, 22, "the string is never closed", "same line"),
    ('let a = r"x\n', "not-closed", 1, 9, "the string is never closed", "same line"),
    # words
    ("defualt deny\n", "syntax", 1, 1, "expected a statement, found `defualt`", "`default`"),
    ("knwon a = input\n", "syntax", 1, 1, "found `knwon`", "`known`"),
    ("default alow\n", "syntax", 1, 9, "expected `allow` or `deny`, found `alow`", "`allow`"),
    ('rule r {\n  alow tool "a"\n}\n', "syntax", 2, 3, "found `alow`", "`allow`"),
    ('rule r {\n  allow tol "a"\n}\n', "unknown-kind", 2, 9, "there is no kind `tol`", "`tool`"),
    ('rule r {\n  allow "a"\n}\n', "syntax", 2, 9, "`tool`", ""),
    (RULE.format("wehn args.x given"), "syntax", 3, 3, "found `wehn`", "`when`"),
    (RULE.format('when args.x liek "a"'), "syntax", 3, 15, "found `liek`", "`like`"),
    (RULE.format("when args.x inpeople"), "syntax", 3, 15, "found `inpeople`", ""),
    (RULE.format("when args.x = 1"), "syntax", 3, 15, "found `=`", "`==`"),
    ("let a == 1\n", "syntax", 1, 8, "found `=`", "a single `=`"),
    ('let a = ["x" "y"]\n', "syntax", 1, 14, "expected `,` or `]`", "the `[` of line 1, column 9"),
    (RULE.format('because "he said "hi" to"'), "syntax", 3, 21, "found `hi`", '`\\"`'),
    (RULE.format("when args.x == 'a'"), "syntax", 3, 18, "cannot read `'`", "double quotes"),
    (RULE.format("when a && b"), "syntax", 3, 10, "cannot read `&`", "`and`"),
    (RULE.format("when args.é given"), "syntax", 3, 12, "cannot read `.`", '["…"]'),
    (RULE.format("when args.x =="), "syntax", 4, 1, "expected a value, `[` or a name, found `}`", ""),
    (RULE.format('when args.x ==\n  because "b"'), "syntax", 3, 15, "expected a value, `[` or a name after `==`", ""),
    ("condition small = args.amount\n", "syntax", 1, 24, "expected a predicate", ""),
    # order and place
    ('allow tool "a"\n', "syntax", 1, 1, "expected a statement, found `allow`", "inside `rule ID { … }`"),
    ("rule r {\n}\n", "syntax", 2, 1, "expected `allow`, `deny` or `require approval for`", ""),
    ('rule r {\n  because "b"\n  allow tool "a"\n}\n', "syntax", 2, 3, "found `because`", ""),
    (RULE.format('deny tool "b"'), "syntax", 3, 3, "found `deny`", "one verdict"),
    (RULE.format("when a and b or c"), "mixed-and-or", 3, 16, "mixed without", "parentheses"),
    (RULE.format("when a or b and c"), "mixed-and-or", 3, 15, "mixed without", "parentheses"),
    (RULE.format('edits "args.x"'), "syntax", 3, 9, "expected a name", ""),
    ("known k = input and [1]\n", "syntax", 1, 17, "found `and`", ""),
    ("}\n", "syntax", 1, 1, "found `}`", ""),
]


@pytest.mark.parametrize(("text", "code", "line", "column", "message", "hint"), CASES)
def test_one_mistake_one_finding(text: str, code: str, line: int, column: int, message: str, hint: str) -> None:
    """Each mistake gives exactly one syntax error, where it is, in words that help."""
    found = parse_bundle(Source(text))[1]
    assert [(d.code, d.span.line, d.span.column) for d in found] == [(code, line, column)]
    assert message in found[0].message
    assert hint in found[0].help


TEN = """\
bundle ten
default dney
let reads = ["get_*", "read_file"
let names = ["a", null]
knwon payees = input
condition small = args.amount <=
condition large = not smal

rule pay {
  allow tool "send_money"
  wehn args.recipient in payees and small
  because "a known payee"
}

rull ask {
  require approval for tool reads
  becuase "a person looks"
}

rule last {
  deny tool "x"
  when small and large or args.x in payees
}
"""


def test_ten_mistakes_give_ten_findings() -> None:
    """After each mistake reading goes on, and what a broken statement defines is not called unknown."""
    found = [(d.code, d.span.line) for d in findings(TEN)]
    assert found == [
        ("syntax", 2),
        ("not-closed", 3),
        ("bad-list", 4),
        ("syntax", 5),
        ("syntax", 6),
        ("unknown-name", 7),
        ("syntax", 11),
        ("syntax", 15),
        ("syntax", 17),
        ("mixed-and-or", 22),
    ]


def test_statements_around_a_broken_one_are_read() -> None:
    """The bundle holds what could be read and says that it is not whole."""
    bundle, found = parse_bundle(Source('let a = 1\nlet b = = 2\nrule r {\n  allow tool "x"\n}\n'))
    assert len(found) == 1
    assert [type(statement).__name__ for statement in bundle.statements] == ["Let", "Rule"]
    assert not bundle.whole
    assert bundle.broken == {"b"}


def test_a_multi_line_condition_is_not_cut_at_names_of_the_bundle() -> None:
    """A name that looks like a misspelt clause keyword is no clause where the bundle defines it."""
    text = "condition whena = args.x given\nrule r {\n  allow tool 'a'\n  when args.y given and\n    whena\n}\n"
    assert [d.span.line for d in findings(text)] == [3]


def test_many_errors_are_capped() -> None:
    """A hundred findings are listed, and a last one says that there are more."""
    found = parse_bundle(Source("let = 1\n" * 500))[1]
    assert len(found) == MOST + 1
    assert found[-1].code == "too-many-errors"
    inside = parse_bundle(Source("rule r {\n" + "when\n" * 5_000 + "}\n"))[1]
    assert len(inside) == MOST + 1


BOUNDS = [
    ("#" * (LARGEST + 1), "file-too-big"),
    ("condition a = " + "(" * 101 + "b" + ")" * 101, "too-deep"),
    ("condition a = " + "not " * 101 + "b", "too-deep"),
    ("condition a = " + "(" * 20_000, "syntax"),
    ("condition a = " + "not (" * 5_000 + "b" + ")" * 5_000, "too-deep"),
]


@pytest.mark.parametrize(("text", "code"), BOUNDS, ids=[code for _, code in BOUNDS])
def test_bounds(text: str, code: str) -> None:
    """What is too big or too deep is refused in words, never by a crash."""
    assert [d.code for d in parse_bundle(Source(text))[1]] == [code]


def test_a_hundred_levels_are_read() -> None:
    """The bound itself is still inside."""
    assert parse_bundle(Source("condition a = " + "(" * 100 + "b" + ")" * 100))[1] == []


def test_a_long_comment_after_or_costs_no_time() -> None:
    """The look-ahead of the subject's `or` is linear in what follows."""
    began = time.process_time()
    findings('condition a = after tool "x" or ' + "# " * 20_000 + "\n" + " " * 20_000 + "tool")
    assert time.process_time() - began < 2
