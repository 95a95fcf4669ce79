"""The grammar for editors: it is sound, knows every word, and sees the comments and strings that the parser sees."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rebuno.policy import (
    CLAUSE_WORDS,
    HEAD_WORDS,
    KIND_WORDS,
    RESERVED_WORDS,
    ROOT_WORDS,
    STATEMENT_WORDS,
    TYPE_WORDS,
    Source,
    parse_bundle,
    source_tokens,
)
from rebuno.policy import FACET_MODULES as OWN

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR: dict[str, Any] = json.loads((ROOT / "grammar" / "editors" / "rbp.tmLanguage.json").read_text(encoding="utf-8"))
SHIPPED = sorted([*(ROOT / "policies").rglob("*.rbp"), *(ROOT / "examples").rglob("*.rbp")])
Piece = tuple[str, str]  # text and scope, without `.rbp`


def patterns(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The patterns that may match, in their order, included ones in place."""
    for pattern in found:
        if "include" in pattern:
            yield from patterns(GRAMMAR["repository"][pattern["include"].removeprefix("#")]["patterns"])
        else:
            yield pattern


def pieces(text: str) -> list[Piece]:
    """What an editor makes of a text, line by line: the scope of each piece, empty where it has none."""
    return [piece for line in text.split("\n") for piece in _line(line)]


def _line(line: str) -> Iterator[Piece]:
    at = 0
    while at < len(line):
        found = [(m, p) for p in patterns(GRAMMAR["patterns"]) if (m := _start(p).search(line, at)) and m[0]]
        if not found:
            yield line[at:], ""
            return
        match, pattern = min(found, key=lambda pair: pair[0].start())
        if match.start() > at:
            yield line[at : match.start()], ""
        at = match.end()
        if "begin" in pattern:
            end = at
            while not (stop := re.compile(pattern["end"]).match(line, end)):
                inner = next((m for p in pattern["patterns"] if (m := re.compile(p["match"]).match(line, end))), None)
                end = inner.end() if inner else end + 1
            at = stop.end()
            yield line[match.start() : at], _scope(pattern)
        elif "captures" in pattern:
            yield from ((match[int(group)], _scope(name)) for group, name in pattern["captures"].items())
        else:
            yield match[0], _scope(pattern)


def _start(pattern: dict[str, Any]) -> re.Pattern[str]:
    return re.compile(str(pattern["begin"] if "begin" in pattern else pattern["match"]))


def _scope(pattern: dict[str, Any]) -> str:
    return str(pattern["name"]).removesuffix(".rbp")


def test_the_grammar_is_one_that_editors_load() -> None:
    """A scope, a file type, no include that leads nowhere, and only expressions that every engine reads."""
    assert (GRAMMAR["scopeName"], GRAMMAR["fileTypes"]) == ("source.rbp", ["rbp"])
    found = list(patterns(GRAMMAR["patterns"]))
    assert {p["include"].removeprefix("#") for p in GRAMMAR["patterns"]} == set(GRAMMAR["repository"])
    for pattern in found:
        names = [pattern, *pattern.get("captures", {}).values(), *pattern.get("patterns", [])]
        assert all(name["name"].endswith(".rbp") for name in names if "name" in name)
        assert _start(pattern).match("") is None


WORDS = [
    *((word, "keyword.declaration") for word in STATEMENT_WORDS),
    *((word, "keyword.other.clause") for word in CLAUSE_WORDS),
    *((word, "storage.type.kind") for word in KIND_WORDS),
    *((word, "keyword.control") for word in HEAD_WORDS),
    *((word, "variable.language.root") for word in ROOT_WORDS),
    *((word, "support.type") for word in TYPE_WORDS if word != "null"),
    *((f"{word} of args", "support.function.facet") for word in OWN),
    ("result of tool", "keyword.other.source"),
    ("for each agent", "keyword.other.scope"),
    ("any step", "storage.type.kind"),
    ("any args.a", "keyword.operator.quantifier"),
    ("iban of args.a", "support.function.facet"),
    ('option "-n \\"x" of it', "support.function.facet"),
    (".rule", "variable.other.member"),
    ("rule_of_mine", "variable.other.constant"),
    ("1h30m", "constant.numeric.duration"),
    ("-10_000.5e3", "constant.numeric"),
    ('r"\\"', "string.quoted.double.raw"),
    ('f"pay {args.to}"', "string.quoted.double.filled"),
    ("definition.server", "variable.language.root"),
    (".*", "variable.other.member"),
    ("# accept late-deny: meant", "comment.line.number-sign.accept"),
    ('"\\" # no comment"', "string.quoted.double"),
    ("# a \"comment\"", "comment.line.number-sign"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "scope"), WORDS, ids=[word for word, _ in WORDS])
def test_every_role_has_its_scope(text: str, scope: str) -> None:
    """What a word does is seen from its colour."""
    assert pieces(text)[0][1].startswith(scope)


@pytest.mark.parametrize("word", sorted(RESERVED_WORDS - set(OWN)))
def test_no_word_of_the_language_looks_like_a_name(word: str) -> None:
    """A word that is new in the language is missed here."""
    assert "variable.other" not in pieces(word)[0][1]


def test_a_rule_and_a_definition_show_their_names() -> None:
    """The names that other places refer to, ids with hyphens as one."""
    assert pieces("rule no-mail-in {")[:2] == [("rule", "keyword.declaration"), ("no-mail-in", "entity.name.function")]
    assert pieces("known asked = input")[1] == ("asked", "entity.name.constant")


@pytest.mark.parametrize("path", [*SHIPPED, ROOT / "grammar" / "README.md"], ids=lambda path: path.name)
def test_shipped_bundles_are_seen_as_they_are_parsed(path: Path) -> None:
    """The same comments and strings, and nothing but blanks without a scope."""
    text = path.read_text(encoding="utf-8")
    text = text.partition("```rbp\n")[2].partition("```")[0] if path.suffix == ".md" else text
    seen = pieces(text)
    bundle, found = parse_bundle(Source(text))
    assert not found
    assert [word for word, scope in seen if not scope and word.strip()] == []
    comments = [word.removeprefix("#") for word, scope in seen if scope.startswith("comment")]
    assert comments == [comment.text for comment in bundle.comments]
    strings = [token.text for token in source_tokens(bundle) if token.text.startswith(('"', 'r"', 'f"'))]
    assert [word for word, scope in seen if scope.startswith("string")] == strings
