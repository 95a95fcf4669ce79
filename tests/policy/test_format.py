"""The formatter: one layout for every bundle, the same tree, no comment lost, nothing left to change."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings

from rebuno.errors import BundleError
from rebuno.policy.format.format import ORDER, format_bundle
from rebuno.policy.format.layout import WIDTH
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from tests.policy import bundles, grammar_texts

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted([*(ROOT / "policies").rglob("*.rbp"), *(ROOT / "examples").rglob("*.rbp")])


def tree(text: str) -> tuple[s.Bundle, Counter[str]]:
    """The tree with clauses in their order, and the comments without trailing blanks."""
    bundle, found = parse_bundle(Source(text))
    assert not found, "\n".join(map(str, found)) + "\n" + text
    ordered = tuple(
        replace(each, clauses=tuple(sorted(each.clauses, key=lambda clause: ORDER.index(type(clause)))))
        if isinstance(each, s.Rule)
        else each
        for each in bundle.statements
    )
    return s.Bundle(bundle.name, ordered), Counter(comment.text.rstrip() for comment in bundle.comments)


def raw(text: str) -> list[str]:
    """The strings and numbers as they are written, clauses apart."""
    bundle, _ = parse_bundle(Source(text))
    found = []
    stack: list[object] = [bundle.statements]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, s.Literal | s.Duration):
            found.append(bundle.text[node.span.start : node.span.end])
        elif hasattr(node, "__slots__"):
            stack.extend(getattr(node, name) for name in node.__slots__)
    return sorted(found)


def holds(text: str) -> None:
    """Everything that formatting promises, for one text."""
    once = format_bundle(Source(text))
    assert tree(once) == tree(text)
    assert raw(once) == raw(text)
    assert format_bundle(Source(once)) == once
    assert not {"\r", "\t", "\ufeff"} & {*once}
    assert all(line == line.rstrip() for line in once.split("\n"))
    assert not once.startswith("\n")
    assert "\n\n\n" not in f"{once}\n"


@settings(max_examples=150)
@given(grammar_texts.layouts())
def test_any_text_of_the_grammar_keeps_its_tree_and_its_comments(text: str) -> None:
    """Wherever blanks, line breaks and comments stand, formatting moves only them, and does it once."""
    holds(text)


@settings(max_examples=40)
@given(bundles.bundles())
def test_bundles_that_decide_keep_their_trees(text: str) -> None:
    """Equal trees decide alike."""
    holds(text)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_bundles_are_formatted(path: Path) -> None:
    """What people copy from is written the way that theirs will be."""
    text = path.read_text(encoding="utf-8")
    assert format_bundle(Source(text)) == text


def test_the_example_on_the_page_is_formatted() -> None:
    """The page shows what the formatter writes."""
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    text = page.partition("```rbp\n")[2].partition("```")[0]
    assert format_bundle(Source(text)) == text


CASES = [
    ("", "", "an empty file stays empty"),
    ("\n\n# only a comment\n\n\n", "# only a comment\n", "blank lines at both ends go"),
    ("default allow # why\n", "default allow  # why\n", "a comment at the end of a line stays there"),
    ("let a=[1,2]", "let a = [1, 2]\n", "blanks around `=` and after commas"),
    ("let a = [\n  1, # one\n  2\n  # end\n]", "let a = [\n  1,  # one\n  2\n  # end\n]\n", "comments open a list"),
    ("let a = 1\n\n\n\nlet b = 2\nlet c = 3", "let a = 1\n\nlet b = 2\nlet c = 3\n", "blank lines stay, one each"),
    ('let a = 10_000\nlet b = r"\\d"', 'let a = 10_000\nlet b = r"\\d"\n', "values stay as they are written"),
    ("known a = input or [1]", "known a = input\n       or [1]\n", "a source a line"),
    (
        'rule a { # why\n# first\nallow tool "x" # x\n# last\n}# end',
        'rule a {  # why\n  # first\n  allow tool "x"  # x\n  # last\n}  # end\n',
        "comments around braces",
    ),
    (
        'rule a { allow tool "x" because "b" unless args.c given when args.a == 1 }',
        'rule a {\n  allow tool "x"\n  when args.a == 1\n  unless args.c given\n  because "b"\n}\n',
        "clauses take their order, each on a line",
    ),
    (
        'rule a { deny tool "x"\n# of m\nmessage "m" # m\n# of w\nwhen args.a == 1 # w\n}',
        'rule a {\n  deny tool "x"\n  # of w\n  when args.a == 1  # w\n  # of m\n  message "m"  # m\n}\n',
        "comments move with their clauses",
    ),
    (
        'rule a { deny tool "x" }\nlet b = 1',
        'rule a {\n  deny tool "x"\n}\n\nlet b = 1\n',
        "a rule stands between blank lines",
    ),
    (
        'rule a { deny tool "x" when args.a == 1 # one\n or args.b == 2 }',
        'rule a {\n  deny tool "x"\n  when args.a == 1  # one\n    or args.b == 2\n}\n',
        "a comment parts a condition at its connectives",
    ),
    (
        f'rule a {{ deny tool "x" when (args.{"a" * 50} == 1 or args.b == 2) and args.{"c" * 30} == 3 }}',
        f'rule a {{\n  deny tool "x"\n  when (args.{"a" * 50} == 1 or args.b == 2)\n'
        f"   and args.{'c' * 30} == 3\n}}\n",
        "a long condition breaks outside of parentheses first",
    ),
    (
        'rule r { deny tool "t" when sum(tool "a" at args.first_amount, args.second_amount '
        'where (args.x == this.args.x) since tool "another" within 24h) < 5 }',
        'rule r {\n  deny tool "t"\n  when sum(tool "a"\n             at args.first_amount,\n'
        "                args.second_amount\n             where (args.x == this.args.x)\n"
        '             since tool "another"\n             within 24h) < 5\n}\n',
        "the paths of a sum stand below each other",
    ),
    ("let a = 1\r\n# b\r\nlet c = 2\r\n", "let a = 1\n# b\nlet c = 2\n", "lines end with LF"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "reason"), CASES, ids=[case[2] for case in CASES])
def test_layout(text: str, expected: str, reason: str) -> None:
    """One layout for each construct."""
    assert format_bundle(Source(text)) == expected, reason


def test_lines_are_as_long_as_allowed_and_no_longer() -> None:
    """A list of just the right length stays on its line; one character more opens it."""
    fits = f'let a = ["{"x" * (WIDTH - 15)}", 1]'
    assert len(fits) == WIDTH
    assert format_bundle(Source(fits)) == fits + "\n"
    assert format_bundle(Source(fits.replace("1]", "10]"))).count("\n") == 4


def test_what_follows_a_list_has_to_fit_too() -> None:
    """A list that would just fit opens where the words behind it would not."""
    text = f'condition a = args.b in ["{"x" * 65}"] ignoring case'
    assert len(text) > WIDTH > len(text.partition(" ignoring")[0])
    lines = format_bundle(Source(text)).splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= WIDTH


def test_large_bundles_take_linear_time() -> None:
    """Ten thousand tests in one condition are no more than ten thousand tests."""
    tests = " or ".join(f"args.a{n} == [{n}]" for n in range(10_000))
    assert format_bundle(Source(f"condition a = {tests}")).count("\n") == 10_000


def test_every_clause_has_its_place() -> None:
    """A clause that is new in the language is missed here."""
    assert set(ORDER) == set(get_args(s.Clause))


def test_a_text_with_syntax_errors_is_not_formatted() -> None:
    """Every error is told, and nothing is guessed."""
    with pytest.raises(BundleError) as caught:
        format_bundle(Source("let a =\nrule b { allow tol }\n"))
    assert len(caught.value.diagnostics) == 2
