"""`path of`, `name of` and `extension of` compare places, not spellings, and say maybe where programs would differ."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.facets.path import facets
from rebuno.policy.facets.path.facets import PathReading
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri
from tests.policy.bundles import Text, values

NOWHERE = PathContext()
HERE = PathContext(workdir="/proj/./x/..", home="/home/bot/")
PATH, NAME, EXTENSION = facets.FACETS


@pytest.mark.parametrize(
    ("value", "alone", "here"),
    [
        ("/a/b", "/a/b", "/a/b"),
        ("/a//b/", "/a/b", "/a/b"),
        ("//a/./b/.", "/a/b", "/a/b"),
        ("/a/x/../b", "/a/b", "/a/b"),
        ("/../..", "/", "/"),  # nothing lies above the root
        ("/", "/", "/"),
        ("a/b", "a/b", "/proj/a/b"),
        ("./a", "a", "/proj/a"),
        (".", ".", "/proj"),
        ("a/..", ".", "/proj"),
        ("..", "../", "/"),
        ("../../a/../b", "../../b", "/b"),
        ("a/../../b", "../b", "/b"),
        ("~", None, "/home/bot"),
        ("~/a/../b", None, "/home/bot/b"),
        ("~/..", None, "/home"),
        ("./~", "~", "/proj/~"),  # a file of that name
        ("a/~b", "a/~b", "/proj/a/~b"),
        ("...", "...", "/proj/..."),
        ("a b/c", "a b/c", "/proj/a b/c"),
        ("12:30", "12:30", "/proj/12:30"),
        ("%2e%2e/a", "%2e%2e/a", "/proj/%2e%2e/a"),  # nothing is decoded
        ("/" + "a/" * 3000, "/" + "/".join(["a"] * 3000), "/" + "/".join(["a"] * 3000)),
    ],
)
def test_paths_are_resolved(value: str, alone: str | None, here: str) -> None:
    """By their words alone; from the bundle's `workdir` and `home` where it has them."""
    found = PATH.read(value, NOWHERE)
    assert (None if found is UNREADABLE else found.json()) == alone
    assert PATH.read(value, HERE).json() == here


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        " /etc/passwd",  # some programs cut blanks off
        "/etc/passwd\n",
        "/a\0.md",
        "/a\nb",
        "/a\x7f",
        "/a\x85b",
        r"/a\..\b",
        "~root/a",
        "~+/a",
        "C:/a",
        "c:a",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "https://a.example/b",
        "\ud800",
        "/" + "a" * facets.MAX_PATH_LENGTH,
        5,
        True,
        ["/a"],
        {},
        b"/a",
        Text("/a"),
    ],
)
def test_what_programs_do_not_agree_on_is_not_read(value: Any) -> None:
    """By any of the three facets, `workdir` or not."""
    for facet in facets.FACETS:
        assert facet.read(value, NOWHERE) is UNREADABLE
        assert facet.read(value, HERE) is UNREADABLE


@pytest.mark.parametrize(
    ("value", "right", "below", "same"),
    [
        ("/proj/out", "/proj/out", True, True),
        ("/proj/out/", "/proj/out", True, True),
        ("/proj/out/a", "/proj/out", True, False),
        ("/proj/out/a/../..", "/proj/out", False, False),
        ("/proj/out-old/a", "/proj/out", False, False),  # a sibling
        ("/proj", "/proj/out", False, False),
        ("/anything", "/", True, False),
        ("/proj/OUT/a", "/proj/out", None, False),  # one file on some systems
        ("/proj/OUT", "/proj/out", None, None),
        ("/caf\u00e9", "/cafe\u0301", None, None),  # composed or not
        ("/.s\u200bsh/id", "/.ssh", None, False),  # a character that some systems leave out
        ("/stra\u00dfe", "/STRASSE", None, None),
        ("a/b", "/proj", None, None),  # where does it start?
        ("a/b", "/", True, None),
        ("/proj/a", "a", None, None),
        ("a/b", "a", True, False),
        ("a/b", "A", None, False),
        ("a/b", "b", False, False),
        ("a", ".", True, False),
        ("../a", "..", True, None),
        ("../a", "../a", True, True),
        ("../a", "../b", False, None),
        ("../a", "a", None, None),
        ("../a", ".", None, None),
        ("a", "..", True, None),
        ("a", "../b", None, None),
        ("../a", "../..", True, None),
        ("../a", "/proj", None, None),
        ("/a", "..", None, None),
    ],
)
def test_places_compare(value: str, right: str, below: Tri, same: Tri) -> None:
    """`under` is that directory or below it; doubt wherever the file system or an unknown start decides."""
    found = PATH.read(value, NOWHERE)
    assert PATH.network is not None
    assert found.under(PATH.network(right, NOWHERE)) is below
    assert found.equals(PATH.literal(right, NOWHERE), False) is same


@pytest.mark.parametrize(
    ("value", "right", "same"),
    [("/a/B", "/A/b", True), ("/\u00c9", "/e\u0301", None), ("/a", "/b", False), ("/STRASSE", "/stra\u00dfe", True)],
)
def test_places_ignoring_case(value: str, right: str, same: Tri) -> None:
    """What differs in upper and lower case alone is the same; what is composed otherwise stays in doubt."""
    assert PATH.read(value, NOWHERE).equals(PATH.literal(right, NOWHERE), True) is same


@pytest.mark.parametrize(
    ("pattern", "value", "answer"),
    [
        ("/a/*.py", "/a/b.py", True),
        ("/a/*.py", "/a/c/b.py", False),  # `*` stays inside a segment
        ("/a/**/*.py", "/a/b.py", True),
        ("/a/**/*.py", "/a/c/d/b.py", True),
        ("/a/**", "/a", True),
        ("/a/**", "/ab", False),
        ("/a/?/[!x]", "/a/b/c", True),
        ("/a/?/[!x]", "/a/b/x", False),
        ("/a[!b]c", "/a/c", False),  # no class reaches over a `/`
        ("/a[.-0]c", "/a/c", False),
        ("/a**c", "/abbc", True),
        ("/a**c", "/a/b/c", False),
        ("/a/./b//c/", "/a/b/c", True),
        ("/", "/", True),
        ("/", "/a", False),
        ("/A/*", "/a/b", None),  # one file on some systems
        ("/[A-C]/*", "/b/x", None),
        ("/cafe\u0301/*", "/caf\u00e9/x", None),
        ("**/.env", "/a/.env", True),
        ("**/.env", "/.env", True),
        ("**/.env", "/a/.ENV", None),
        ("**/.env", "/a/x.env", False),
        ("**/.env", ".env", True),  # wherever it starts
        ("**/.env", "a", False),
        ("**/.env", "../.env", True),
        ("**/.ssh/**", "/home/x/.ssh/id", True),
        ("**/.ssh/**", "/home/x/ssh/id", False),
        ("**/.ssh/**", "id", None),  # perhaps it starts in there
        ("**", "../a", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/*.py", "/p/src/a.py", None),
        ("src/*.py", "/p/a.py", False),
        ("src/*.py", "/p/src/b/a.py", False),
        ("src/*.py", "../src/a.py", None),
        ("src/*.py", "../b/a.py", False),
        ("/p/src/*.py", "src/a.py", None),
        ("/p/src/*.py", "a.md", False),
        ("/p/src/*.py", "../src/a.py", None),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        ("*", ".hidden", True),
    ],
)
def test_globs_go_by_segments(pattern: str, value: str, answer: Tri) -> None:
    """`*` inside one, `**` any number; maybe where an unknown start or a forgiving file system decides."""
    assert PATH.pattern is not None
    assert PATH.read(value, NOWHERE).text_test(Op.LIKE, PATH.pattern(pattern, NOWHERE), False) is answer


@pytest.mark.parametrize(
    ("pattern", "value", "answer"),
    [
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "/proj/src/a.py", True),
        ("src/*.py", "/src/a.py", False),
        ("~/.ssh/*", "~/.ssh/id", True),
        ("~/.ssh/*", "/home/bot/.ssh/id", True),
        (r"\~/a", "./~/a", True),
        ("**/.ssh/**", "id", False),
    ],
)
def test_globs_start_where_the_bundle_stands(pattern: str, value: str, answer: Tri) -> None:
    """With `workdir` and `home` nothing is left open."""
    assert PATH.pattern is not None
    assert PATH.read(value, HERE).text_test(Op.LIKE, PATH.pattern(pattern, HERE), False) is answer


def test_a_directory_with_wild_characters_is_taken_at_its_word() -> None:
    """The names of `workdir` are no pattern."""
    context = PathContext(workdir=r"/a[b]*")
    assert PATH.pattern is not None
    glob = PATH.pattern("c", context)
    assert PATH.read("c", context).text_test(Op.LIKE, glob, False) is True
    assert PATH.read("/ab/c", context).text_test(Op.LIKE, glob, False) is False


def test_globs_ignoring_case() -> None:
    """Case no longer leaves a doubt."""
    assert PATH.pattern is not None
    glob = PATH.pattern("**/.ssh/[A-Z]*", NOWHERE)
    assert PATH.read("/.Ssh/id", NOWHERE).text_test(Op.LIKE, glob, True) is True
    assert PATH.read("/.Ssh/id", NOWHERE).text_test(Op.LIKE, glob, False) is None
    assert PATH.read("/.Ssh/1", NOWHERE).text_test(Op.LIKE, glob, True) is False


@pytest.mark.parametrize(
    ("op", "value", "right", "answer"),
    [
        (Op.STARTS, "/a/../b/c", "/b/", True),
        (Op.STARTS, "/a/../b/c", "/a", False),
        (Op.STARTS, "/B/c", "/b/", None),
        (Op.STARTS, "a", "a", None),  # it may start anywhere
        (Op.ENDS, "/a/b.py/", ".py", True),
        (Op.ENDS, "/a/b.PY", ".py", None),
        (Op.ENDS, "a/b.py", ".py", True),
        (Op.ENDS, "b.py", "a/b.py", None),
        (Op.ENDS, "b.py", ".md", False),
        (Op.MATCHES, "/a/./b", "/a/b", True),
        (Op.MATCHES, "/a/b", "/a", False),
        (Op.MATCHES, "/A/b", "/a/b", None),
        (Op.MATCHES, "a", "a", None),
        (Op.MATCHES, "/a", "(", None),
        (Op.LIKE, "/a", "/a", None),  # no pattern made of it
        (Op.EQ, "/a", "/a", None),
        (Op.ENDS, "/a", 5, None),
        (Op.ENDS, "/a", "\ud800", None),
        (Op.MATCHES, "/a", "\ud800", None),
    ],
)
def test_the_text_of_a_path(op: Op, value: str, right: Any, answer: Tri) -> None:
    """Other tests look at the resolved path; what stands before a relative one is not known."""
    assert PATH.read(value, NOWHERE).text_test(op, right, False) is answer


@pytest.mark.parametrize(
    ("value", "right", "fold", "answer"),
    [
        ("/a/b", "a/b", False, True),
        ("/a/../b", "..", False, False),
        ("/a/B", "b", False, None),
        ("/a/B", "b", True, True),
        ("a/b", "b", False, True),
        ("a/b", "c", False, None),
        ("../b", "..", False, None),
        ("/a", 1, False, None),
    ],
)
def test_the_text_of_a_path_contains(value: str, right: Any, fold: bool, answer: Tri) -> None:
    """After resolving there is no `..` in it."""
    assert PATH.read(value, NOWHERE).contains(right, fold) is answer


def test_paths_compare_with_nothing_else() -> None:
    """What is no path is maybe."""
    place = PATH.read("/a", NOWHERE)
    assert place.equals("/a", False) is None
    assert place.under("/") is None
    assert PATH.pattern is not None
    assert place.text_test(Op.MATCHES, PATH.pattern("/a", NOWHERE), False) is None


places = st.builds(
    lambda head, names: PATH.read(head + "/".join(names), NOWHERE),
    st.sampled_from(["/", "./", "../", "../../"]),
    st.lists(st.sampled_from(["a", "A", "b", "e\u0301", "\u00c9", ".."]), max_size=3),
)


@settings(max_examples=200)
@given(places, places, st.booleans())
def test_a_set_answers_as_equality_does(filed: PathReading, asked: PathReading, fold: bool) -> None:
    """Sure where the two are equal, met in doubt where they may be, not met where they are not."""
    found = dict(filed.index_keys(fold))
    shared = [sure and found[key] for key, sure in asked.lookup_keys(fold) if key in found]
    assert (True if any(shared) else None if shared else False) is asked.equals(filed, fold)


@settings(max_examples=200)
@given(places, places)
def test_below_holds_what_equality_holds(value: PathReading, right: PathReading) -> None:
    """The directory itself is under itself, and nothing that is surely not below is perhaps the same."""
    if value.equals(right, False):
        assert value.under(right) is True
    if value.under(right) is False:
        assert value.equals(right, False) is not True


@pytest.mark.parametrize(
    ("value", "name", "extension"),
    [
        ("/a/b.tar.GZ", "b.tar.GZ", ".gz"),
        ("/a/.bashrc", ".bashrc", MISSING),
        ("/a/.a.txt", ".a.txt", ".txt"),
        ("/a/b.txt/", "b.txt", ".txt"),
        ("/a/b.txt/../c.md", "c.md", ".md"),
        ("/a/b", "b", MISSING),
        ("/", MISSING, MISSING),
        ("/a/..", MISSING, MISSING),
        ("a.py", "a.py", ".py"),
        ("../a.py", "a.py", ".py"),
        (".", UNREADABLE, UNREADABLE),  # of the place where it starts
        ("..", UNREADABLE, UNREADABLE),
        ("/a/b.exe.", "b.exe.", UNREADABLE),  # one file with `b.exe` on some systems
        ("~/a.py", UNREADABLE, UNREADABLE),
    ],
)
def test_names_and_extensions(value: str, name: Any, extension: Any) -> None:
    """Of the resolved path; absent where there is none."""
    assert NAME.read(value, NOWHERE) == name
    assert EXTENSION.read(value, NOWHERE) == extension


def test_names_where_the_bundle_stands() -> None:
    """A `workdir` and a `home` have names."""
    assert NAME.read(".", HERE) == "proj"
    assert NAME.read("~", HERE) == "bot"
    assert NAME.read("~/a.py", HERE) == "a.py"


@pytest.mark.parametrize(
    ("facet", "written", "reason"),
    [
        (PATH, 5, "is no path; write a string"),
        (PATH, "", "is empty, or begins or ends with a blank"),
        (PATH, "/a ", "is empty, or begins or ends with a blank"),
        (PATH, "a" * 65_537, "is longer than 65,536 characters"),
        (PATH, "~/a", 'needs to know the home directory; add a line such as `home "/home/bot"`'),
        (PATH, "~", "needs to know the home directory"),
        (PATH, "~bob/a", "begins with the home of somebody else"),
        (PATH, r"C:\a", "holds a backslash"),
        (PATH, "C:/a", "begins with a drive or a scheme"),
        (NAME, "a/b", "is no file name"),
        (NAME, "..", "is no file name"),
        (NAME, 5, "is no file name"),
        (EXTENSION, "gz", "is no extension; write it with its dot"),
        (EXTENSION, ".tar.gz", "is no extension"),
        (EXTENSION, ".", "is no extension"),
        (EXTENSION, 5, "is no extension"),
    ],
)
def test_a_rule_that_names_no_path_is_refused(facet: Any, written: Any, reason: str) -> None:
    """With the reason, and what to write instead."""
    with pytest.raises(ValueError, match=re.escape(reason)):
        facet.literal(written, NOWHERE)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "is empty, ends in a blank or goes up"),
        (" ", "is empty, ends in a blank or goes up"),
        ("a ", "is empty, ends in a blank or goes up"),
        ("../a", "is empty, ends in a blank or goes up"),
        ("a/../b", "is empty, ends in a blank or goes up"),
        ("~/a", "needs to know the home directory"),
        ("~bob/*", "begins with the home of somebody else"),
        ("a/[b", "has no `]`"),
        ("[a/b]", "has no `]`"),  # a class is for one character of a name
        ("a/\\", "at the end escapes nothing"),
    ],
)
def test_a_bad_glob_is_refused(pattern: str, reason: str) -> None:
    """A pattern that could match nothing is a mistake."""
    assert PATH.pattern is not None
    with pytest.raises(ValueError, match=re.escape(reason)):
        PATH.pattern(pattern, NOWHERE)


def test_literals_are_normalised() -> None:
    """As the facets' values are."""
    assert PATH.literal("~/a/..", HERE) == PathReading(True, 0, ("home", "bot"))
    assert NAME.literal("a.PY", NOWHERE) == "a.PY"
    assert EXTENSION.literal(".PY", NOWHERE) == ".py"


def test_paths_are_found_in_a_text() -> None:
    """Every whole token is one, with and without the stop that may end a sentence."""
    assert PATH.find is not None
    assert NAME.find is not None
    text = "edit 'src/a.py', x=y/b and (../c). C:/d"
    found = [str(place) for place in PATH.find(text, NOWHERE)]
    assert found == ["edit", "src/a.py", "x=y/b", "and", "../c"]
    assert list(NAME.find("see /a/b.txt.", NOWHERE)) == ["see", "b.txt.", "b.txt"]


@settings(max_examples=150)
@given(st.one_of(values, st.text("/.~aA\\\0 e\u0301:", max_size=12)))
def test_no_value_is_too_odd(value: Any) -> None:
    """Reading never raises, and what is read can be compared."""
    for context in (NOWHERE, HERE):
        found = PATH.read(value, context)
        assert found is UNREADABLE or found.equals(found, False) is True
        assert NAME.read(value, context) in (MISSING, UNREADABLE) or type(NAME.read(value, context)) is str
        assert EXTENSION.read(value, context) in (MISSING, UNREADABLE) or type(EXTENSION.read(value, context)) is str
