"""Characters that nobody sees are refused in a bundle and in its data files, but for comments."""

from pathlib import Path
from unicodedata import category

import pytest

from rebuno.errors import BundleError
from rebuno.policy.compile import compile_bundle, compile_text
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.diagnostics import Code
from rebuno.policy.syntax.source import Source, read_source
from rebuno.policy.syntax.text import Lines, refused

# Refused in comments too, as in the first edition.
EVERYWHERE = (
    "\u00a0\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\x00\x07\x7f\x85"
)
OUTSIDE_COMMENTS = (
    "\ufe00\ufe0f\U000e0100\U000e01ef"  # variation selectors
    "\U000e0001\U000e0020\U000e0041\U000e007f"  # tags
    "\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"  # other blanks
    "\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u180b\u180f\u034f\U0001d159\U00016fe4"  # fillers
    "\u206a\u206b\u206f\ufff9\ufffb\u0600\u06dd\U0001d173\U0001bca0"  # formats
    "\ufdd0\ufffe\uffff\U0001ffff\U0010ffff"  # noncharacters
    "\ue000\uf8ff\U000f0000\U00100000"  # private use
    "\u0378\uffc0\ufff0\U000e0080"  # unassigned
)
SEEN = "é中ñß“”–€→😀\u0301א\ufffd"


def findings(text: str) -> list[tuple[str, int, int]]:
    """The characters that a bundle's text is refused for, as code and place."""
    try:
        compile_text(text)
    except BundleError as error:
        return [(d.code, d.span.line, d.span.column) for d in error.diagnostics]
    return []


@pytest.mark.parametrize("character", [*EVERYWHERE, *OUTSIDE_COMMENTS], ids=lambda c: f"U+{ord(c):04X}")
@pytest.mark.parametrize(
    "text",
    [
        'deny tool "pay{}"',
        'deny tool "{}"',
        'deny tool r"pay{}"',
        'deny tool "pay" when args.a == "x{}y"',
        'deny tool "pay" because "no{}"',
        'require approval for tool "pay" message "Is{} it?"',
        'deny tool "pay" when args["a{}"] given',
        'deny tool "pay" when args.a{} given',
        'deny tool "pay"{} when args.a given',
    ],
)
def test_what_nobody_sees_is_refused(text: str, character: str) -> None:
    """In names, patterns, values, reasons, messages and between words, with its place."""
    written = text.format(character)
    found = findings(f"rule r {{ {written} }}")
    assert (Code.BAD_CHARACTER, 1, 10 + written.index(character)) in found


@pytest.mark.parametrize("character", OUTSIDE_COMMENTS, ids=lambda c: f"U+{ord(c):04X}")
def test_escaped_it_is_what_it_says(character: str) -> None:
    """An escape is seen, and means the character; a comment means nothing."""
    units = character.encode("utf-16-be").hex()
    escaped = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    policy = compile_text(
        f'rule r {{ # {character} "\n deny tool "pay{escaped}" # {character}\n because "{escaped}" }}\n'
    )
    assert policy.decide(Facts("tool_call", f"pay{character}")).rule_id == "r"


@pytest.mark.parametrize("character", EVERYWHERE, ids=lambda c: f"U+{ord(c):04X}")
def test_what_changes_the_text_around_it_is_refused_in_comments_too(character: str) -> None:
    """A comment that is shown in another order than it stands in could pass for a rule."""
    assert (Code.BAD_CHARACTER, 1, 3) in findings(f"# {character}\n")


def test_what_is_seen_passes() -> None:
    """Letters, signs and marks of any script are no error."""
    assert findings(f'rule r {{ deny tool "{SEEN}" because "{SEEN}" }}') == []


def test_a_comment_ends_at_its_line() -> None:
    """A number sign in a string begins no comment, and what stands on the next line is in none."""
    assert (Code.BAD_CHARACTER, 1, 24) in findings('rule r { deny tool "a# \ufe0f" }')
    assert (Code.BAD_CHARACTER, 2, 22) in findings('# "\ufe0f\nrule r { deny tool "a\ufe0f" }')


@pytest.mark.parametrize("character", [*OUTSIDE_COMMENTS, "\u200b", "\u202e"], ids=lambda c: f"U+{ord(c):04X}")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", "a{}b\n"),
        ("x.txt", "#no{}comment\n"),
        ("x.json", '["a{}b"]'),
        ("x.yaml", "- a{}b\n"),
        ("x.yaml", '- "a{}b"\n'),
        ("x.yaml", "- 'a # {}b'\n"),
        ("x.yaml", "- a#{}b\n"),
        ("x.yaml", "- |\n  # {}\n"),
        ("x.yml", "- &a{} b\n"),
    ],
)
def test_data_files_are_held_to_the_same(tmp_path: Path, name: str, text: str, character: str) -> None:
    """A value of a list that nobody can read is refused wherever the list stands."""
    (tmp_path / name).write_text(text.format(character), encoding="utf-8")
    bundle = tmp_path / "b.rbp"
    bundle.write_text(f'let names = file "{name}"\nrule r {{ deny tool "pay" when args.a in names }}\n')
    with pytest.raises(BundleError) as raised:
        compile_bundle(read_source(bundle))
    assert Code.BAD_CHARACTER in [d.code for d in raised.value.diagnostics]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", "# {}\na\n"),
        ("x.yaml", "# {}\n- a # {}\n"),
        ("x.json", '["\\u200b", "a"]'),
        ("x.yaml", '- "\\u200b"\n- a'),
    ],
)
def test_comments_and_escapes_of_data_files_pass(tmp_path: Path, name: str, text: str) -> None:
    """What holds for the bundle holds for its files."""
    (tmp_path / name).write_text(text.replace("{}", "\ufe0f\u3000\U0001f469"), encoding="utf-8")
    bundle = tmp_path / "b.rbp"
    bundle.write_text(f'let names = file "{name}"\nrule r {{ deny tool "pay" when args.a in names }}\n')
    policy = compile_bundle(read_source(bundle))
    assert policy.decide(Facts("tool_call", "pay", {"a": "a"})).rule_id == "r"


YAML_RULE = """# {0}
rules:
- id: r  # {0}
  when:
    target: "{1}"
    arguments: {{a: {{contains: "{1}"}}, b: {{regex: "{1}"}}}}
  then: {{decision: require_approval, reason: "{1}", approval_config: {{message: "{1}"}}}}
"""


@pytest.mark.parametrize("character", [*EVERYWHERE[:-5], *OUTSIDE_COMMENTS], ids=lambda c: f"U+{ord(c):04X}")
def test_yaml_bundles_are_held_to_the_same(character: str) -> None:
    """A rule that nobody can read is refused, with its place; in comments and escaped the characters pass."""
    for text in (YAML_RULE.format("x", f"pay{character}"), f"rules: []\ndefault_{character}action: deny\n"):
        with pytest.raises(BundleError) as raised:
            compile_bundle(Source(text, "b.yaml", "b"))
        assert {d.code for d in raised.value.diagnostics} == {Code.BAD_CHARACTER}
        assert raised.value.diagnostics[0].span.line == (5 if "target" in text else 2)
    commented = character if character in OUTSIDE_COMMENTS and character not in "\ufffe\uffff" else "x"
    policy = compile_bundle(Source(YAML_RULE.format(commented, f"pay\\U{ord(character):08x}"), "b.yaml", "b"))
    value = f"pay{character}"
    assert policy.decide(Facts("tool_call", value, {"a": value, "b": value})).rule_id == "r"
    assert policy.decide(Facts("tool_call", value, {"a": "pay", "b": value})).rule_id == "default"


def test_every_such_character_is_refused() -> None:
    """No format, private, unassigned or blank character is forgotten, and no letter or sign is refused."""
    # Behind a `#` they would stand in a comment.
    text = "".join(chr(code) for code in range(0x24, 0x110000) if not 0xD800 <= code <= 0xDFFF)
    clean, _ = refused(Lines(text), "", 1)
    taken = {was for was, now in zip(text, clean, strict=True) if was != now}
    hidden = {c for c in text if c != " " and (category(c)[0] == "Z" or category(c) in ("Cc", "Cf", "Cn", "Co"))}
    assert hidden <= taken
    assert {category(c)[0] for c in taken - hidden} <= {"L", "M", "S"}
    assert len(taken - hidden) < 300
