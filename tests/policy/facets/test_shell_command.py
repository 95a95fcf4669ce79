"""A command and a program's name compare word by word, and say maybe where something else may happen too."""

from typing import Any

import pytest

from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import UNREADABLE, Tri
from tests.policy.facets.shell_asking import AROUND, COMMAND, PROGRAM, equals, like


@pytest.mark.parametrize(
    ("text", "pattern", "answer"),
    [
        ("git log -3", "git log *", True),
        ("git log", "git log *", True),  # a final `*` takes no word too
        ("git", "git *", True),
        ("git logs", "git log *", False),
        ("gitleaks detect", "git *", False),
        ("git-lfs push", "git *", False),
        ("git status", "git stat?s", True),
        ("git log -3", "git log", False),
        ("git log -3", "git * -3", True),  # one word, not at the end
        ("git a b -3", "git * -3", False),
        ("anything at all", "*", True),
        ("GIT log", "git log", None),  # the same program where the file system ignores case
        ("git LOG", "git log", False),
        ("/usr/bin/git log", "git *", None),
        ("git log", "/usr/bin/git *", None),
        ("/usr/bin/git log", "/usr/bin/git *", True),
        ("/usr/bin/git log", "rm *", False),
        ("git log > f", "git log *", None),
        ("git log > f", "git show *", False),
        ("git log > /dev/null 2>&1", "git log *", True),
        ("X=1 git log", "git log *", None),
        ("X=1 git log", "git push *", False),
        ("git log $x", "git log *", None),
        ('git log "$x"', "git log *", None),
        ("git $x log", "git push *", None),
        ("git $x log", "git push", False),  # it ends in another word
        ("git log $x", "git push *", False),
        ("git log -- *.py", "git log *", True),  # file names, whichever they are
        ("git add *.py", "git add x.py", None),
        ("git * log", "git log *", None),
        ("git log {a,b}", "git log *", True),
        ("ls ~/x", "ls *", True),
        ("git log '*.py'", "git log [*].py", True),
    ],
)
def test_like(text: str, pattern: str, answer: Tri) -> None:
    """Word by word: no where the known words say so, maybe where something else may happen too."""
    (one,) = COMMAND.read(text, AROUND)
    assert like(pattern)(one) is answer


@pytest.mark.parametrize(
    ("text", "word", "answer"),
    [
        ("git -C x push y", "push", True),
        ("git log", "push", False),
        ("git log --grep=push", "push", False),  # one word
        ("git log 'push it'", "push", False),
        ("git $x", "push", None),
        ('git "pre$x"', "push", False),
        ("git *.py", "push", False),
        ("git *", "push", None),
        ("git push > f", "push", True),
        ("/bin/rm x", "rm", None),
    ],
)
def test_contains(text: str, word: str, answer: Tri) -> None:
    """`contains` asks for one word, whatever happens to the output."""
    (one,) = COMMAND.read(text, AROUND)
    assert one.contains(word, False) is answer
    assert one.contains(5, False) is None


@pytest.mark.parametrize(
    ("text", "other", "fold", "answer"),
    [
        ("git log", "git  log", False, True),
        ("git log", "git log -3", False, False),
        ("git Log", "git log", False, False),
        ("git Log", "git log", True, True),
        ("git log > f", "git log", False, None),
        ("/bin/git log", "git log", False, None),
        ("git $x", "git log", False, None),
        ("git $x", "rm log", False, False),
    ],
)
def test_equal_commands(text: str, other: str, fold: bool, answer: Tri) -> None:
    """A command is the words of a literal, or is filed under the same key."""
    (one,) = COMMAND.read(text, AROUND)
    right = COMMAND.literal(other, AROUND)
    assert one.equals(right, fold) is answer
    keys, others = dict(one.index_keys(fold)), dict(right.index_keys(fold))
    shared = [keys[key] and others[key] for key in keys.keys() & others.keys()]
    if keys:
        assert (True if True in shared else None if shared else False) is answer


def test_other_tests_of_a_command_are_maybe() -> None:
    """A command is no text, so it neither begins nor ends with one."""
    (one,) = COMMAND.read("git log", AROUND)
    assert one.text_test(Op.STARTS, "git", False) is None
    assert one.text_test(Op.MATCHES, ".*", False) is None
    assert one.equals("git log", False) is None


def test_how_a_trace_shows_a_command() -> None:
    """As a shell would take it, with what is in doubt."""
    one, two = COMMAND.read("X=1 git 'a b' pre$x > f; ls", AROUND)
    assert one.json() == "git 'a b' … (its output goes to a file, variables are set before it)"
    assert two.json() == "ls"


def test_the_words_of_a_command() -> None:
    """`any it …` goes through them; what is not known, and a program with a directory, cannot be read."""
    (one,) = COMMAND.read('./git "a b" $x', AROUND)
    assert list(one.elements()) == [UNREADABLE, "a b", UNREADABLE]


def test_a_dash_before_a_text_is_a_word() -> None:
    """The parser loses it there."""
    (one,) = COMMAND.read("git commit -F - <<E\nx\nE", AROUND)
    assert list(one.elements()) == ["git", "commit", "-F", "-"]


@pytest.mark.parametrize(
    ("text", "name", "answer"),
    [
        ("rm x", "rm", True),
        ("rmdir x", "rm", False),
        ("/bin/rm x", "rm", None),
        ("./rm x", "rm", None),
        ("rm x", "/bin/rm", None),
        ("/bin/rm x", "/bin/rm", True),
        ("/bin/rm x", "/bin/ls", False),
        ("RM x", "rm", None),
        ("X=1 rm", "rm", None),  # what a variable says may run instead
        ("rm > f", "rm", True),
        ("echo rm", "rm", False),
    ],
)
def test_programs(text: str, name: str, answer: Tri) -> None:
    """A program's name is sure only where it stands alone, and nothing is set before it."""
    (one,) = PROGRAM.read(text, AROUND)
    assert equals(name)(one) is answer
    keys, others = dict(one.index_keys(False)), dict(PROGRAM.literal(name, AROUND).index_keys(False))
    shared = [keys[key] and others[key] for key in keys.keys() & others.keys()]
    assert (True if True in shared else None if shared else False) is answer


@pytest.mark.parametrize(
    ("text", "op", "right", "answer"),
    [
        ("git-lfs x", Op.LIKE, "git*", True),
        ("git-lfs x", Op.MATCHES, "git", False),
        ("/bin/git x", Op.LIKE, "git*", None),
        ("/bin/git x", Op.LIKE, "/bin/*", True),
        ("git x", Op.LIKE, "/bin/*", None),
        ("git x", Op.STARTS, "g", True),
        ("git x", Op.ENDS, "x", False),
        ("GIT x", Op.ENDS, "git", None),
    ],
)
def test_the_text_of_a_program(text: str, op: Op, right: str, answer: Tri) -> None:
    """The usual tests of a text look at the name, and at the base name in doubt."""
    (one,) = PROGRAM.read(text, AROUND)
    assert one.text_test(op, right, False) is answer
    assert one.text_test(op, 5, False) is None


@pytest.mark.parametrize("value", ["", "  ", 5, None, ["git"]])
def test_literals_that_are_no_commands(value: Any) -> None:
    """A right side without a word is refused with the reason."""
    for facet in (COMMAND, PROGRAM):
        with pytest.raises(ValueError, match="write its words in a string"):
            facet.literal(value, AROUND)


def test_a_program_is_one_word() -> None:
    """A name with arguments is refused, and so is a bad glob."""
    with pytest.raises(ValueError, match="use `command` for its arguments"):
        PROGRAM.literal("git push", AROUND)
    assert COMMAND.pattern
    with pytest.raises(ValueError, match="has no"):
        COMMAND.pattern("git [a", AROUND)
