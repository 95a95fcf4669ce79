"""Words that a table hands on: to the table of a module or of another program. And kinds that a table makes itself."""

from collections.abc import Mapping
from typing import Any

import pytest

from rebuno.policy.facets.shell.effects.effects import text_effects
from rebuno.policy.facets.shell.effects.table import TableError, read_table
from rebuno.policy.facets.shell.script import read_shell

TABLES: Mapping[str, Any] = {
    "snake": {
        "permute": False,
        "options": {"-m": {"value": "module", "effects": ["run-deep ."]}, "-q": None},
        "modules": {"look": "look", "own.tool": {"options": {"-o": "new"}, "operands": ["path*"]}},
        "operands": ["script", "text*"],
    },
    "cover": {"subcommands": {"run": {"permute": False, "modules": "snake", "options": {"-m": "module"}}}},
    "with": {
        "subcommands": {"run": {"permute": False, "options": {"-q": None, "-C": "dir"}, "operands": ["tool"]}},
    },
    "look": {"names": "harmless", "options": {"-n": None}, "operands": ["path*"], "unread": ["@*"]},
    "dashes": {"dashed": "options", "options": {"-t --text": "text", "-n": "text?"}, "operands": ["path*"]},
    "globs": {
        "kinds": {
            "report": {"term*": "text", "html": "new-deep = htmlcov", "html:PATH": "new-deep", "*": "unread"},
            "node": {"@*": "unread", "PATH::*": "run", "*": "run-deep"},
            "test": {"PATH::*": "run", "*": "run-deep"},
        },
        "options": {"--report": "report", "--glob": "pattern", "--write": "pattern-new", "-k": "text"},
        "operands": ["node*"],
        "unread": ["@*"],
        "after": ["test*"],
    },
}


def told(command: str) -> tuple[set[str], set[str]]:
    """What a command does, as `KIND TEXT` with `/**` behind what counts for all below, and what is unread."""
    shell = read_shell(command)
    assert shell is not None
    tables = {name: read_table(name, value) for name, value in TABLES.items()}
    found = text_effects(shell, tables.get)
    effects = {f"{one.kind.value.split('_')[0]} {one.text}{'/**' if one.below else ''}" for one in found.found}
    return effects, set(found.unread)


@pytest.mark.parametrize(
    ("command", "effects", "unread"),
    [
        ("snake x.py -m look", {"executed x.py"}, set()),
        ("snake -m look a -n b", {"executed ./**", "read a", "read b"}, set()),
        ("snake -mlook a", {"executed ./**", "read a"}, set()),
        ("snake -q -m own.tool -o x y", {"executed ./**", "written x", "read y"}, set()),
        ("snake -m own.tool -q", {"executed ./**"}, {"-q"}),
        ("snake -m app.cli --x", {"executed ./**", "executed python -m app.cli"}, set()),
        ("snake -m ../x", {"executed ./**"}, {"../x"}),
        ("snake -m $x look", {"executed ./**"}, {"$x look"}),
        ("snake -m", {"executed ./**"}, {"-m"}),
        ("cover run -m look a", {"read a"}, set()),
        ("cover run -m --x=y look", set(), {"--x=y look"}),
        ("with run look a", {"executed look", "read a"}, set()),
        ("with run -q -- look -n a", {"executed look", "read a"}, set()),
        ("with run -C /tmp ./look", {"executed ./look"}, set()),
        ("with run frob a", {"executed frob"}, {"frob a"}),
        ("with run $x a", set(), {"$x a", "$x"}),
        ("with run env look a", {"executed env"}, {"env look a"}),
        ("with run snake -m look a", {"executed snake", "executed ./**", "read a"}, set()),
        ("X=1 with run look a", {"executed look", "read a"}, {"X="}),
        ("look -n @a b", {"read @a", "read b"}, {"@a"}),
        ("look $x", set(), {"$x"}),
        ("dashes -t x a", {"read a"}, set()),
        ("dashes -t --evil=x a", {"read a"}, {"--evil=x"}),
        ("dashes -t -- a", {"read a"}, {"--"}),
        ("dashes -t $x a", {"read a"}, {"$x"}),
        ("dashes -t -1 --text='- x' -t - a", {"read a"}, set()),
    ],
)
def test_words_are_handed_to_the_table_that_reads_them(command: str, effects: set[str], unread: set[str]) -> None:
    """What the other table says counts as done here, and so does what it leaves unread."""
    assert told(command) == (effects, unread)


@pytest.mark.parametrize(
    ("command", "effects", "unread"),
    [
        ("globs --report term-missing", set(), set()),
        ("globs --report html --report=html:x", {"written htmlcov/**", "written x/**"}, set()),
        ("globs --report html:", set(), {"--report html:"}),
        ("globs --report $x", set(), {"$x"}),
        ("globs tests/a.py::test_x src", {"executed tests/a.py", "executed src/**"}, set()),
        ("globs a.py::T::test_x", {"executed a.py"}, set()),
        ("globs tests/*.py", set(), {"tests/*.py"}),
        ("globs -- tests/*.py", {"executed tests/**"}, set()),
        ("globs @x -k @y", set(), {"@x", "@y"}),
        ("globs -k $x", set(), {"$x"}),
        ("globs --glob 'src/**/*.{ts,tsx}'", {"read src/**"}, set()),
        ("globs --write '*.ts' --write x", {"written ./**", "written x"}, set()),
        ("globs --glob '/tmp/*' --glob '/*'", {"read /tmp/**", "read //**"}, set()),
        ("globs --glob '!x/**'", set(), set()),
        ("globs --glob '{a,/etc}/x'", set(), {"{a,/etc}/x"}),
        ("globs --glob '{.,}{.,}/x'", set(), {"{.,}{.,}/x"}),
        ("globs --glob '..?(a)/x'", set(), {"..?(a)/x"}),
        ("globs --glob 'a*/../../x'", set(), {"a*/../../x"}),
        (r"globs --glob '\../x'", set(), {r"\../x"}),
        ("globs --glob '!(a|/etc)/x'", set(), {"!(a|/etc)/x"}),
    ],
)
def test_a_table_makes_kinds_of_its_own(command: str, effects: set[str], unread: set[str]) -> None:
    """The first glob that a word fits says its kind; globs that a program expands itself stand for their folder."""
    assert told(command) == (effects, unread)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kinds": {"path": {"*": "text"}}}, "is a kind already"),
        ({"kinds": {"mine": "text"}}, "write a mapping"),
        ({"kinds": {"mine": {"*": "mine"}}}, "is unknown"),
        ({"modules": ["x"]}, "write a mapping of modules"),
        ({"options": {"-x": "mine+text"}, "kinds": {"mine": {"*": "text"}}}, "is unknown"),
    ],
)
def test_a_faulty_table_is_refused(table: Any, message: str) -> None:
    """With what is wrong in it."""
    with pytest.raises(TableError, match=message):
        read_table("x", table)


@pytest.mark.parametrize(
    ("command", "places"),
    [
        ("with run -C ~/x ./look", ("~/x",)),
        ("with run -C $HOME ./look", ("~",)),
        ("with run -C '~/x' ./look", None),
        ("with run -C x -C y ./look", ("x/y",)),
    ],
)
def test_a_directory_in_the_home_is_where_paths_are_read_from(command: str, places: tuple[str, ...] | None) -> None:
    """What stands below the home is not read from the project."""
    shell = read_shell(command)
    assert shell is not None
    tables = {name: read_table(name, value) for name, value in TABLES.items()}
    found = text_effects(shell, tables.get)
    assert {one.places for one in found.found} == {places}
    assert bool(found.unread) is (places is None)
