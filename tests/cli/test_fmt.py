"""`rebuno policy fmt` and `ast`: what they write, what they leave alone, and how they end."""

import json
import stat
from pathlib import Path

import pytest

from rebuno.policy import DEEPEST_TREE, Source, load_ast, parse_bundle
from tests.cli.support import rebuno

LOOSE = 'bundle a\ndefault deny\nrule b { allow tool "x" because "c" when args.a==1 } # d\n'
TIDY = 'bundle a\ndefault deny\n\nrule b {\n  allow tool "x"\n  when args.a == 1\n  because "c"\n}  # d\n'


def test_files_that_change_are_written_and_named(tmp_path: Path) -> None:
    """Others are not touched; a second run has nothing to do."""
    (tmp_path / "loose.rbp").write_text(LOOSE)
    tidy = tmp_path / "tidy.rbp"
    tidy.write_text(TIDY)
    before = tidy.stat()
    ran = rebuno("policy", "fmt", ".", within=tmp_path)
    assert (ran.code, ran.out) == (0, "formatted loose.rbp\n1 of 2 files changed\n")
    assert (tmp_path / "loose.rbp").read_text() == TIDY
    assert tidy.stat() == before
    assert rebuno("policy", "fmt", ".", within=tmp_path).out == "0 of 2 files changed\n"


def test_a_written_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    """A link goes on pointing at the file, nothing is left beside it."""
    file = tmp_path / "loose.rbp"
    file.write_text(LOOSE)
    file.chmod(0o640)
    (tmp_path / "link.rbp").symlink_to(file)
    assert rebuno("policy", "fmt", "link.rbp", within=tmp_path).code == 0
    assert (tmp_path / "link.rbp").is_symlink()
    assert file.read_text() == TIDY
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.rbp", "loose.rbp"]


def test_check_writes_nothing_and_ends_with_1(tmp_path: Path) -> None:
    """For a build that is to fail."""
    (tmp_path / "loose.rbp").write_text(LOOSE)
    ran = rebuno("policy", "fmt", "--check", "loose.rbp", within=tmp_path)
    assert (ran.code, ran.out) == (1, "would change loose.rbp\n1 of 1 file differ\n")
    assert (tmp_path / "loose.rbp").read_text() == LOOSE
    (tmp_path / "loose.rbp").write_text(TIDY)
    assert rebuno("policy", "fmt", "--check", "loose.rbp", within=tmp_path).code == 0


@pytest.mark.parametrize(("options", "code"), [(["--diff"], 0), (["--diff", "--check"], 1)])
def test_diff_shows_and_writes_nothing(tmp_path: Path, options: list[str], code: int) -> None:
    """The lines that would go and come."""
    (tmp_path / "loose.rbp").write_text(LOOSE)
    ran = rebuno("policy", "fmt", *options, "loose.rbp", within=tmp_path)
    assert ran.code == code
    lines = ran.out.splitlines()
    assert lines[:2] == ["--- loose.rbp", "+++ loose.rbp (formatted)"]
    assert {'-rule b { allow tool "x" because "c" when args.a==1 } # d', "+  when args.a == 1"} <= set(lines)
    assert (tmp_path / "loose.rbp").read_text() == LOOSE


def test_line_ends_and_a_mark_of_byte_order_are_changes(tmp_path: Path) -> None:
    """What cannot be seen is put right too."""
    file = tmp_path / "windows.rbp"
    file.write_bytes(b"\xef\xbb\xbf" + TIDY.replace("\n", "\r\n").encode())
    assert rebuno("policy", "fmt", "--check", "windows.rbp", within=tmp_path).code == 1
    assert rebuno("policy", "fmt", "windows.rbp", within=tmp_path).code == 0
    assert file.read_bytes() == TIDY.encode()


def test_a_bundle_with_errors_stays_and_the_others_are_written(tmp_path: Path) -> None:
    """Every error is told, and the exit code is that of a broken bundle."""
    (tmp_path / "bad.rbp").write_text("let a =\nrule b { alow }")
    (tmp_path / "latin.rbp").write_bytes(b"# \xe9\n")
    (tmp_path / "loose.rbp").write_text(LOOSE)
    ran = rebuno("policy", "fmt", ".", within=tmp_path)
    assert ran.code == 2
    assert "bad.rbp:" in ran.err
    assert "latin.rbp:1:3: error[not-utf8]" in ran.err
    assert (tmp_path / "bad.rbp").read_text() == "let a =\nrule b { alow }"
    assert (tmp_path / "loose.rbp").read_text() == TIDY


def test_standard_input_is_formatted_to_standard_output() -> None:
    """For editors."""
    assert rebuno("policy", "fmt", "-", stdin=LOOSE.encode()).out == TIDY
    assert rebuno("policy", "fmt", "-", "--check", stdin=LOOSE.encode()).code == 1
    assert rebuno("policy", "fmt", "-", "--check", stdin=TIDY.encode()).code == 0
    assert rebuno("policy", "fmt", "-", stdin=b"rule").code == 2
    assert rebuno("policy", "fmt", "-", stdin=b"\xff").code == 2
    assert rebuno("policy", "fmt", "-", "other.rbp", stdin=b"").code == 2


def test_json_names_what_changed(tmp_path: Path) -> None:
    """Counts and paths for programs."""
    (tmp_path / "loose.rbp").write_text(LOOSE)
    ran = rebuno("policy", "fmt", "--json", "--check", ".", within=tmp_path)
    assert (ran.code, json.loads(ran.out)) == (1, {"files": 1, "changed": ["loose.rbp"]})


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_ast_prints_a_tree_that_can_be_read_back(tmp_path: Path, options: list[str]) -> None:
    """The tree of the file, down to the deepest condition that a bundle may hold."""
    text = LOOSE + f"condition a = {'not (' * (DEEPEST_TREE // 2)}b{')' * (DEEPEST_TREE // 2)}"
    (tmp_path / "a.rbp").write_text(text)
    ran = rebuno("policy", "ast", "a.rbp", *options, within=tmp_path)
    assert ran.code == 0
    assert load_ast(ran.out) == parse_bundle(Source(text))[0]
    assert ran.out.count("\n") == 1 if options else ran.out.count("\n") > 100


def test_ast_of_a_bundle_with_errors_is_none(tmp_path: Path) -> None:
    """Half a tree would be taken for a whole one."""
    (tmp_path / "bad.rbp").write_text("let a =")
    ran = rebuno("policy", "ast", "bad.rbp", "--json", within=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert json.loads(ran.err)["error"]["details"][0]["code"] == "syntax"
