"""The parser's tables in the file are those of the grammar, and a parser made of them reads as a computed one does."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from rebuno import packaged
from rebuno.policy.syntax import tables

ROOT = Path(__file__).resolve().parents[2]
BUNDLES = sorted(path for folder in ("policies", "examples") for path in (ROOT / folder).rglob("*.rbp"))


def computed(starts: tuple[str, ...]) -> Lark:
    """A parser that knows nothing of the file."""
    return Lark(packaged.grammar(), parser="lalr", lexer="contextual", start=list(starts), propagate_positions=True)


def outcome(parser: Lark, text: str, start: str) -> Any:
    """The tree with every place, or what was expected where."""
    try:
        tree = parser.parse(text, start)
    except UnexpectedToken as error:
        expected = sorted(error.expected), sorted(error.accepts)
        return "token", error.line, error.column, error.token.type, str(error.token), expected
    except UnexpectedCharacters as error:
        return "characters", error.line, error.column, sorted(error.allowed or ())
    return "tree", tree.pretty(), [(node.data, vars(node.meta)) for node in tree.iter_subtrees()]


def test_the_file_is_current() -> None:
    """After a change of the grammar or another Lark, `make tables` makes it anew."""
    assert tables.written() == packaged.grammar_tables()


@pytest.mark.parametrize("starts", [tables.WHOLE, tables.PIECES], ids=["whole", "pieces"])
def test_a_parser_from_the_file_reads_as_a_computed_one(starts: tuple[str, ...]) -> None:
    """Bundles as they are, cut off, and with words left out: the same trees, the same errors."""
    chosen = random.Random(7)
    saved, fresh = tables.parser(starts), computed(starts)
    broken = 0
    for path in BUNDLES:
        text = path.read_text(encoding="utf-8")
        words = text.split(" ")
        texts = [text]
        for _ in range(6):
            texts.append(text[: chosen.randrange(len(text))])
            out = chosen.randrange(len(words))
            texts.append(" ".join(words[:out] + words[out + 1 :]))
        for one in texts:
            for start in starts:
                found = outcome(saved, one, start)
                assert found == outcome(fresh, one, start)
                broken += found[0] != "tree"
    assert broken > len(BUNDLES)


@pytest.mark.parametrize(
    "head", [{"grammar": "0" * 64}, {"lark": "0.0.0"}, None], ids=["another grammar", "another Lark", "no file"]
)
def test_tables_of_something_else_are_not_used(monkeypatch: pytest.MonkeyPatch, head: dict[str, str] | None) -> None:
    """The lines after such a head could mean anything: here they are no tables at all."""
    own = json.loads(packaged.grammar_tables().splitlines()[0])
    text = "" if head is None else json.dumps(own | head) + "\n{}\n{}\n"
    monkeypatch.setattr(tables, "grammar_tables", lambda: text)
    monkeypatch.setattr(tables, "parser", tables.parser.__wrapped__)
    assert tables.parser(tables.WHOLE).parse("bundle b\ndefault deny\n").data == "start"
