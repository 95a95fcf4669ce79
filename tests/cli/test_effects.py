"""`rebuno effects`: what a command line is read as, and why."""

import json
from pathlib import Path

import pytest

from tests.cli.support import rebuno

BUNDLE = """\
bundle code
default deny
workdir "/work/app"
home "/home/dev"
effects bsd
effects "ours.yaml"

rule r {
  allow tool "shell"
  when unread of args.command missing and every read_path of args.command under "."
}
"""
TABLES = """\
deploy:
  options:
    --env: text
  effects: [contact deploy.example]
"""


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    """A bundle that says where commands stand, whose programs they are, and what one more does."""
    (tmp_path / "code.rbp").write_text(BUNDLE, encoding="utf-8")
    (tmp_path / "ours.yaml").write_text(TABLES, encoding="utf-8")
    return "code.rbp"


def test_what_it_shows(tmp_path: Path) -> None:
    """Each command with where it stands, its effects, what gave them, and what is unread."""
    ran = rebuno("effects", "cd src && sort -o out a; frobnicate --all", "--workdir", "/proj", within=tmp_path)
    assert ran.code == 1
    assert ran.out == (
        "cd src\n"
        "  stands in /proj\n"
        "sort -o out a\n"
        "  stands in /proj/src\n"
        "  reads     /proj/src/a  (sort: a)\n"
        "  writes    /proj/src/out  (sort: --output)\n"
        "frobnicate --all\n"
        "  stands in /proj or /proj/src\n"
        "  unread    frobnicate --all  (no table tells what `frobnicate` does)\n"
        "1 part unread: it may do more than is shown\n"
    )


def test_all_is_read(tmp_path: Path) -> None:
    """Nothing is left open: 0. Without --workdir the line stands in the current folder."""
    ran = rebuno("effects", "cat x | grep -r y", within=tmp_path)
    assert ran.code == 0
    assert f"reads     {tmp_path}/x  (cat: x)" in ran.out
    assert ran.out.endswith("all of it is read\n")


def test_as_json(tmp_path: Path) -> None:
    """The facets under their names, and every part that is unread with its reason."""
    ran = rebuno("effects", "-", "--workdir", "/proj", "--json", stdin=b"git show HEAD:.env; ls --foo", within=tmp_path)
    assert ran.code == 1
    told = json.loads(ran.out)
    assert told["text"] == "git show HEAD:.env; ls --foo"
    assert told["read"] is False
    first, second = told["commands"]
    assert first["directories"] == ["/proj"]
    assert {"facet": "read_path", "value": "/proj/.env", "why": "git show: HEAD:.env"} in first["effects"]
    assert first["unread"] == []
    assert second["unread"] == [{"part": "--foo", "why": "the table of `ls` does not name it"}]
    assert told["unread"] == second["unread"]


def test_a_bundle_says_where_it_stands_and_what_programs_do(tmp_path: Path, bundle: str) -> None:
    """Its `workdir`, `home` and `effects` lines hold; an option counts before them."""
    ran = rebuno(
        "effects", "deploy --env live ~/x; sed -i .bak s/a/b/ f", "--bundle", bundle, "--json", within=tmp_path
    )
    first, second = json.loads(ran.out)["commands"]
    assert first["effects"] == [
        {"facet": "contacted_host", "value": "deploy.example", "why": "deploy: the program itself"}
    ]
    assert [one["part"] for one in first["unread"]] == ["~/x"]
    assert second["directories"] == ["/work/app"]
    assert {one["value"] for one in second["effects"]} == {"/work/app/f", "/work/app/f.bak"}
    gnu = rebuno("effects", "sed -i .bak s/a/b/ f", "--bundle", bundle, "--flavour", "gnu", within=tmp_path)
    assert ".bak" not in gnu.out.partition("stands in")[2].partition("reads")[0]
    elsewhere = rebuno("effects", "cat f ~/g", "--bundle", bundle, "--workdir", "sub", "--home", "/h", within=tmp_path)
    assert f"{tmp_path}/sub/f" in elsewhere.out
    assert "/h/g" in elsewhere.out


@pytest.mark.parametrize(
    ("cwd", "path"), [("src", "/proj/src/x"), ("/else", "/else/x"), ("..", "/x"), ("src/../lib", "/proj/lib/x")]
)
def test_where_a_line_begins(tmp_path: Path, cwd: str, path: str) -> None:
    """A relative one is below the folder of the project."""
    ran = rebuno("effects", "cat x", "--workdir", "/proj", "--cwd", cwd, within=tmp_path)
    assert f"reads     {path}  " in ran.out


def test_the_home_is_not_guessed(tmp_path: Path) -> None:
    """A bundle without `home` does not know it either."""
    ran = rebuno("effects", "cat ~/x", within=tmp_path)
    assert ran.code == 1
    assert "unread    ~/x  (no `home` is given, so nobody knows where `~` is)" in ran.out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "there is no command line"),
        (("((",), "cannot be read with certainty"),
        (("",), "holds no command"),
        (("ls", "--programs"), "not both"),
        (("ls", "--flavour", "plan9"), "plan9"),
        (("ls", "--cwd", "~/x"), "expanded by nobody"),
        (("ls", "--bundle", "bad.rbp"), "no flavour"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    """A line, an option or a bundle: 2."""
    (tmp_path / "bad.rbp").write_text("bundle b\ndefault deny\neffects plan9\n", encoding="utf-8")
    ran = rebuno("effects", *argv, within=tmp_path)
    assert ran.code == 2
    assert said in ran.err + ran.out


def test_a_bundle_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be read."""
    ran = rebuno("effects", "ls", "--bundle", "none.rbp", within=tmp_path)
    assert ran.code in (2, 3)
    assert "none.rbp" in ran.err + ran.out


def test_the_programs(tmp_path: Path) -> None:
    """Each with the releases that were traced."""
    ran = rebuno("effects", "--programs", "--json", within=tmp_path)
    assert ran.code == 0
    known = {(one["name"], one["flavour"]): one for one in json.loads(ran.out)["programs"]}
    assert "GNU coreutils" in known["sort", ""]["versions"]
    assert known["sed", "bsd"]["name"] == "sed"
    assert "sort " in rebuno("effects", "--programs", within=tmp_path).out


@pytest.mark.parametrize("columns", [None, 40])
def test_nothing_of_the_line_reaches_the_terminal_as_it_is(tmp_path: Path, columns: int | None) -> None:
    """Signs that move or hide text are spelled out, and long words are shortened."""
    line = "cat '[red]\u202eevil' " + "x" * 500 + "; 'frob\u202enicate' [bold]"
    ran = rebuno("effects", line, "--workdir", "/proj", within=tmp_path, columns=columns)
    assert ran.code == 1
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "\\u202e" in ran.out
    assert "characters)" in ran.out.replace("\n", "")
    assert "[bold]" in ran.out
    assert columns is None or max(map(len, ran.out.splitlines())) <= columns


def test_a_bundle_for_many_folders(tmp_path: Path) -> None:
    """`workdir session` names none: the line stands in the current one."""
    (tmp_path / "many.rbp").write_text("bundle b\ndefault deny\nworkdir session\n", encoding="utf-8")
    ran = rebuno("effects", "cat x", "--bundle", "many.rbp", within=tmp_path)
    assert f"reads     {tmp_path}/x  " in ran.out
