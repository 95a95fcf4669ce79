"""`effects_of_command`: what the facets read, command by command, and why something is unread."""

import pytest

from rebuno.errors import ValidationError
from rebuno.policy import LineEffects, PathContext, effects_of_command, known_programs
from rebuno.policy.facets.shell.effects.facets import FACETS
from rebuno.policy.facets.shell.effects.table_set import builtin_programs

LINES = [
    "git log -p -- .env",
    "cd src && cat a.py | grep -r x > out.txt; rm -rf ../b",
    "for f in *.py; do sed -i s/a/b/ $f; done",
    "FOO=1 frobnicate --all; ls --foo; git frob x",
    "bash -c 'cd a; cat b' && (cd / && ls); cat c > d 2> e",
    "find . -name '*.py' -exec grep -l x {} +",
    "xargs -n 1 rm < list",
    "$X y; cat $z",
    "curl -o x https://user@a.example/x; git push origin main",
    "cat ~/x; echo $HOME > ~/y",
    "[[ -f x ]] > z; true",
    "python -m pytest tests; exec 3> log",
]


def told(line: str, **more: str) -> LineEffects:
    """What is read, in a folder with a home."""
    return effects_of_command(line, workdir="/proj", home="/home/dev", **more)


@pytest.mark.parametrize("line", LINES)
def test_it_tells_what_the_facets_read(line: str) -> None:
    """The same values in each set, and the same parts unread."""
    found = told(line)
    context = PathContext("/proj", "/home/dev")
    for facet in FACETS:
        read = {str(getattr(one, "json", lambda one=one: one)()) for one in facet.read(line, context)}
        if facet.name == "unread":
            assert {one.part for one in found.unread} == read
        else:
            assert set(found.values(facet.name)) == read - {"perhaps something that the text does not show"}


@pytest.mark.parametrize(
    ("line", "part", "why"),
    [
        ("frobnicate --all", "frobnicate --all", "no table tells what `frobnicate` does"),
        ("ls --foo", "--foo", "the table of `ls` does not name it"),
        ("git frob x", "frob", "the table of `git` has no such subcommand"),
        ("git log --frob", "--frob", "the table of `git log` does not name it"),
        ("cat $x", "$x", "the text does not show what stands there"),
        ("FOO=1 ls", "FOO=", "this variable may change what the program does"),
        ("tar -xf a --to-command=y", "--to-command y", "the table of `tar` does not tell what it does"),
        ("$X y", "$X y", "what it runs is not written there"),
        ("cat x > $y", "$y", "the text does not show what stands there"),
    ],
)
def test_why_something_is_unread(line: str, part: str, why: str) -> None:
    """In a sentence about the part."""
    assert {one.part: one.why for one in told(line).unread}[part] == why


def test_where_commands_stand() -> None:
    """After `cd` in one branch, in one of two places; unknown behind a variable."""
    first, second, third, fourth = told("cd a; cat b; cd $x; cat c").commands
    assert first.directories == ("/proj",)
    assert second.directories == ("/proj", "/proj/a")
    assert third.directories == ("/proj", "/proj/a")
    assert fourth.directories is None
    assert [one.part for one in fourth.unread] == ["c"]


@pytest.mark.parametrize(
    ("cwd", "path"), [(None, "/proj/x"), ("a", "/proj/a/x"), ("/b", "/b/x"), ("..", "/x"), ("./c/", "/proj/c/x")]
)
def test_where_a_line_begins(cwd: str | None, path: str) -> None:
    """In `cwd`, which leads on from `workdir`."""
    assert effects_of_command("cat x", workdir="/proj", cwd=cwd).values("read_path") == (path,)


def test_without_a_folder_paths_stay_relative() -> None:
    """As in a bundle without `workdir`."""
    assert effects_of_command("cat x").values("read_path") == ("x",)


def test_own_tables_and_flavours() -> None:
    """A later text before an earlier one, both before what comes along."""
    texts = ["cat: {effects: [contact a.example]}", "cat: {effects: [contact b.example], operands: [text*]}"]
    assert effects_of_command("cat x", tables=texts).values("contacted_host") == ("b.example",)
    assert effects_of_command("cat", tables=texts[:1]).values("contacted_host") == ("a.example",)
    assert effects_of_command("sed -i .b s/a/b/ f", workdir="/p", flavour="bsd").values("written_path") == (
        "/p/f",
        "/p/f.b",
    )


@pytest.mark.parametrize(
    "wrong",
    [{"workdir": "x"}, {"home": "~"}, {"cwd": "~/x"}, {"cwd": ""}, {"flavour": "plan9"}, {"tables": ["cat: 5"]}],
)
def test_wrong_arguments(wrong: dict[str, str]) -> None:
    """Each with a sentence."""
    with pytest.raises(ValidationError):
        effects_of_command("cat x", **wrong)


@pytest.mark.parametrize("line", ["", "((", "# only a comment", "cat <<E"])
def test_a_line_that_cannot_be_read(line: str) -> None:
    """It says so and tells nothing."""
    with pytest.raises(ValidationError, match="cannot be read"):
        effects_of_command(line)


def test_each_program_with_a_table_is_known() -> None:
    """By name and flavour."""
    assert {f"{one.name}.{one.flavour}".rstrip(".") for one in known_programs()} == set(builtin_programs())
