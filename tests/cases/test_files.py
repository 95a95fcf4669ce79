"""Rule files that are broken, cut short or written in odd bytes: refused with the place, or read as they are meant."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

import rebuno
from rebuno.errors import BundleError
from rebuno.policy import Diagnostic, Facts, Rule, Source, compile_bundle, compile_text, link_bundle, read_source
from rebuno.testing import memory_kernel
from tests.cases.playing import HERE
from tests.cli.support import rebuno as command
from tests.embedded.support import in_loop

GOOD = (HERE / "bundles" / "good.rbp").read_text(encoding="utf-8")
BASE = (HERE / "bundles" / "pay-denied.rbp").read_text(encoding="utf-8")
PUSH = Facts("tool_call", "shell", {"command": "git push"})
DATE = Facts("tool_call", "shell", {"command": "date"})


def refusal(data: bytes, folder: Path) -> list[Diagnostic]:
    """What a file of these bytes is refused for; it must be refused."""
    path = folder / "variant.rbp"
    path.write_bytes(data)
    with pytest.raises(BundleError) as caught:
        compile_bundle(read_source(path))
    return list(caught.value.diagnostics)


TWO_NAMES = 'rule a { deny tool "x" }\nrule b { deny tool "y" }\nrule a { allow tool "z" }\n'
TWO_VERDICTS = 'rule a {\n  deny tool "x"\n  allow tool "x"\n}\n'


@pytest.mark.parametrize(
    ("text", "lines"),
    [(TWO_NAMES, (1, 3)), (TWO_VERDICTS, (2, 3))],
    ids=["two_same_names", "two_verdicts"],
)
def test_what_stands_twice_in_a_rule_file_is_refused(text: str, lines: tuple[int, int]) -> None:
    """The message holds the lines of both."""
    with pytest.raises(BundleError) as caught:
        compile_text(text)
    told = str(caught.value)
    assert all(f"line {line}" in told or f":{line}:" in told for line in lines)


BROKEN = {
    "cut_off": GOOD[: GOOD.index("contains") + 3],
    "cut_in_string": GOOD[: GOOD.index("push") + 2],
    "cut_before_brace": GOOD[: GOOD.index("}")],
    "one_bad_rule": GOOD + 'rule third {\n  allow tool "x" when args.a === 1\n}\n',
    "bad_verdict": GOOD.replace("  deny", "  alow"),
    "bad_default": GOOD.replace("default allow", "default Permit"),
    "bad_regex": GOOD + 'rule third {\n  allow tool "x" when args.a matches "[a"\n}\n',
    "bad_glob": GOOD + 'rule third {\n  allow tool "x[a"\n}\n',
    "bad_clause": GOOD.replace("  when any", "  wenn any"),
    "bad_kind": GOOD.replace('deny tool "shell"', 'deny tol "shell"'),
    "bad_facet": GOOD.replace("any command of", "any comand of"),
    "bad_quantifier": GOOD.replace("any command of", "command of"),
    "two_defaults": GOOD + "default deny\n",
    "two_clauses": GOOD.replace('because "a person pushes"', 'because "a"\n  because "b"'),
    "extra_brace": GOOD + "}\n",
    "smart_quotes": GOOD.replace('"shell"', "“shell”"),
    "single_quotes": GOOD.replace('"shell"', "'shell'"),
    "merge_marks": "<<<<<<< HEAD\n" + GOOD,
    "yaml": "rules:\n  - id: a\n",
    "json": '{"rules": []}',
    "binary": "\x01\x02",
    "unknown_statement": GOOD + "rulez third {\n}\n",
    "unknown_version": GOOD.replace("bundle good", "bundle good version 99"),
    "unknown_name": GOOD + 'rule third {\n  allow tool "x" when args.a in nobody\n}\n',
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_gives_no_policy(name: str, tmp_path: Path) -> None:
    """One mistake anywhere, and there is a message with its place instead of a smaller policy."""
    found = refusal(BROKEN[name].encode(), tmp_path)
    assert all(str(d).startswith(f"{tmp_path / 'variant.rbp'}:{d.span.line}:{d.span.column}: ") for d in found)
    ran = command("policy", "explain", "variant.rbp", "--target", "shell", within=tmp_path)
    assert ran.code == 2
    assert "allow" not in ran.out


@pytest.mark.parametrize("text", ["", "# nothing\n# but comments\n", "\n\n", "\ufeff"], ids=ascii)
def test_a_file_without_rules_denies(text: str) -> None:
    """Nothing is allowed by an empty file, and the checker says that its default is not written."""
    policy = compile_text(text)
    assert [policy.decide(facts).verdict.value for facts in (PUSH, DATE)] == ["deny", "deny"]


@in_loop
async def test_a_kernel_does_not_start_on_what_cannot_be_read(tmp_path: Path) -> None:
    """A file that is gone, a folder in its place, and a file that may not be read are errors."""
    (tmp_path / "folder.rbp").mkdir()
    (tmp_path / "locked.rbp").write_text(GOOD)
    (tmp_path / "locked.rbp").chmod(0)
    names = ["gone.rbp", "folder.rbp"] + ["locked.rbp"] * (not os.access(tmp_path / "locked.rbp", os.R_OK))
    for name in names:
        with pytest.raises(BundleError, match="cannot read"):
            async with rebuno.open(tmp_path / "store.db", policy=tmp_path / name):
                pass
        assert command("policy", "check", name, within=tmp_path).code != 0


@in_loop
async def test_a_file_that_breaks_under_a_kernel_changes_nothing(tmp_path: Path) -> None:
    """What was compiled stays in force whatever happens to the file, and its digest says what that is."""
    path = tmp_path / "good.rbp"
    path.write_text(GOOD)
    async with memory_kernel(path) as kernel:
        before = kernel.policy.decide(PUSH)
        for text in BROKEN.values():
            path.write_text(text)
            assert kernel.policy.decide(PUSH).verdict.value == "deny"
            assert kernel.policy.decide(DATE).verdict.value == "require_approval"
        path.unlink()
        after = kernel.policy.decide(PUSH)
    assert (after.verdict, after.digest) == (before.verdict, before.digest)


LAST = BASE[: BASE.index("rule everything")] + "#"
ALIKE = {
    "lf": BASE.encode(),
    "crlf": BASE.replace("\n", "\r\n").encode(),
    "mixed": BASE.replace("\n", "\r\n", 3).encode(),
    "bom": b"\xef\xbb\xbf" + BASE.encode(),
    "bom_crlf": b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode(),
    "no_final_eol": BASE.rstrip("\n").encode(),
    "trailing_blanks": BASE.replace("\n", " \t\n").encode(),
    "tabs": BASE.replace("  ", "\t").encode(),
    "accented_comment": BASE.replace("P31", "Páÿment 🙂").encode(),
    "blank_lines": BASE.replace("\n", "\n\n").encode(),
    "one_line": " ".join(line for line in BASE.splitlines() if not line.startswith("#")).encode(),
}


@pytest.mark.parametrize("name", ALIKE)
def test_bytes_that_no_editor_shows_change_nothing(name: str, tmp_path: Path) -> None:
    """Line ends, a mark at the beginning, blanks: the same rules."""
    path = tmp_path / "variant.rbp"
    path.write_bytes(ALIKE[name])
    policy = compile_bundle(read_source(path))
    assert policy.decide(Facts("tool_call", "pay", {})).rule_id == "no-pay"
    assert policy.decide(Facts("tool_call", "search", {})).rule_id == "everything"


def test_a_deny_rule_counts_without_a_final_line_end(tmp_path: Path) -> None:
    """The last rule of a file is a rule, also where the file ends with its brace or within a comment."""
    for text in (LAST, LAST.rstrip("#\n"), LAST.rstrip("#\n") + " # end"):
        assert compile_text(text).decide(Facts("tool_call", "pay", {})).rule_id == "no-pay"


ODD = {
    "bom_line": (b"\xef\xbb\xbf\n" + BASE.encode(), None),  # a line that holds only the mark is an empty line
    "cr_only": (BASE.replace("\n", "\r").encode(), 1),
    "one_cr": (BASE.replace("pay-denied\n", "pay-denied\r").encode(), 2),
    "nbsp": (BASE.replace("deny tool", "deny\u00a0tool").encode(), 6),
    "zero_width": (BASE.replace("deny tool", "de\u200bny tool").encode(), 6),
    "bidi": (BASE.replace('"pay"', '"pay\u202e"').encode(), 6),
    "soft_hyphen": (BASE.replace('"pay"', '"p\u00aday"').encode(), 6),
    "bom_inside": (BASE.replace('"pay"', '"pay\ufeff"').encode(), 6),
    "line_separator": (BASE.replace("deny tool", "deny\u2028tool").encode(), 6),
    "vertical_tab": (BASE.replace("deny tool", "deny\x0btool").encode(), 6),
    "escape": (BASE.replace("no payments", "\x1b[8mno payments").encode(), 7),
    "nul": (BASE.replace("deny tool", "deny\x00 tool").encode(), 6),
    "nul_in_comment": (BASE.replace("# P31", "# P\x0031").encode(), 1),
    "cyrillic_word": (BASE.replace("deny tool", "d\u0435ny tool").encode(), 6),
    "wide_word": (BASE.replace("deny tool", "ｄｅｎｙ tool").encode(), 6),
    "utf16": (BASE.encode("utf-16"), 1),
    "utf16le": (b"\xff\xfe" + BASE.encode("utf-16-le"), 1),
    "utf16be": (BASE.encode("utf-16-be"), 1),
    "utf32": (BASE.encode("utf-32"), 1),
    "latin1": (BASE.replace("P31", "P\xe1y").encode("latin-1"), 1),
    "overlong": (BASE.encode().replace(b'pay"', b'p\xc1\xa1y"'), 6),
    "surrogate": (BASE.encode().replace(b'pay"', b'pay\xed\xa0\x80"'), 6),
    "cut_character": (BASE.encode() + b"# \xe2\x82", 13),
    "utf7": (BASE.replace("deny", "+AGQ-eny").encode(), 3),
}


@pytest.mark.parametrize("name", ODD)
def test_other_bytes_are_refused_with_their_line_or_read_as_they_are_meant(name: str, tmp_path: Path) -> None:
    """No encoding makes another policy of a file; what is refused names the line."""
    data, line = ODD[name]
    if line is None:
        path = tmp_path / "variant.rbp"
        path.write_bytes(data)
        assert compile_bundle(read_source(path)).decide(Facts("tool_call", "pay", {})).rule_id == "no-pay"
    else:
        assert refusal(data, tmp_path)[0].span.line == line


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=ascii)
def test_places_are_right_whatever_stands_before_them(ends: str, tmp_path: Path) -> None:
    """Lines and columns count characters, behind other line ends and characters outside ASCII too."""
    text = ends.join(["# é 🙂 漢", 'rule a { deny tool "é🙂" whem args.a == 1 }', ""])
    (found,) = refusal(text.encode(), tmp_path)
    assert (found.span.line, found.span.column) == (2, text.splitlines()[1].index("whem") + 1)


def test_every_unfinished_file_is_diagnosed_at_the_cut_or_before() -> None:
    """A file that ends anywhere within a statement gives a diagnostic, and keeps the rules before the cut."""
    ends = [at for at, char in enumerate(GOOD) if char in ' \n"(){}'] + list(range(GOOD.index("rule ask"), len(GOOD)))
    for end in ends:
        text = GOOD[:end]
        bundle, found = link_bundle(Source(text))
        for one in found:
            assert one.span.line <= text.count("\n") + 1
        if text.count("{") > text.count("}"):
            assert found, text
        if end > GOOD.index("rule ask"):
            assert "no-push" in [rule.id.text for rule in bundle.statements if isinstance(rule, Rule)]


def test_unfinished_files_are_diagnosed_alike_by_the_command_and_the_library(tmp_path: Path) -> None:
    """The command prints the diagnostics that the library gives."""
    for end in range(GOOD.index("rule"), len(GOOD), 40):
        (tmp_path / "cut.rbp").write_text(GOOD[:end])
        ran = command("policy", "check", "cut.rbp", "--json", within=tmp_path)
        told = [one for one in json.loads(ran.out)["diagnostics"] if one["severity"] == "error"]
        _, found = link_bundle(read_source(tmp_path / "cut.rbp"))
        first = [(one["line"], one["column"], one["code"]) for one in told[: len(found)]]
        assert first == [(one.span.line, one.span.column, str(one.code)) for one in found]
        assert (ran.code == 2) == bool(told)


def test_a_bundle_that_denies_by_default_allows_less_when_it_is_cut() -> None:
    """A cut between two rules leaves a whole bundle, which nobody can tell; what it allows was allowed before."""
    text = (HERE / "bundles" / "git-reading.rbp").read_text(encoding="utf-8")
    commands = ["git log", "git push", "date", "git log; date", ""]
    asked = [Facts("tool_call", "shell", {"command": command}) for command in commands]
    whole = compile_text(text)
    policies = []
    for end in range(len(text)):
        with suppress(BundleError):
            policies.append(compile_text(text[:end]))
    assert len({policy.decide(asked[0]).verdict for policy in policies}) == 2  # some cuts are before the first rule
    for policy in policies:
        for facts in asked:
            assert policy.decide(facts).verdict in (whole.decide(facts).verdict, "deny")
