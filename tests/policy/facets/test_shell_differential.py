"""Generated texts, each run in the bash of this machine: what it runs, where, and what it writes is what the facets
say. `shell_differential` runs more of them by hand."""

from itertools import islice
from pathlib import Path
from random import Random

import pytest

from rebuno.policy.values.json_values import UNREADABLE
from tests.policy.facets.shell_asking import AROUND, COMMAND, every, like
from tests.policy.facets.shell_differential import Differential, texts
from tests.policy.facets.shell_sandbox import Sandbox

TEXTS = 1500


def test_bash_does_what_the_facets_say(tmp_path: Path) -> None:
    """Each program that bash runs is a command of the facet with its words, in one of the places where it may stand;
    each file that it makes is told of, and then no allow list is sure of the whole text."""
    counts = Differential(Sandbox(tmp_path)).all(islice(texts(Random(10)), TEXTS))
    assert counts.differences == []
    # Enough of them are read and run for that to mean something.
    assert counts.made == TEXTS
    assert counts.run > TEXTS // 4
    assert counts.programs > TEXTS // 5
    assert counts.files > TEXTS // 10
    assert counts.elsewhere > TEXTS // 50


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        ("cd src && a w", ("a", "w"), "proj/src"),
        ("cd && a", ("a",), "home"),
        ("cd ~/x && a", ("a",), "home/x"),
        ("(cd src && b); a", ("a",), "proj"),
        ("env -C docs a", ("a",), "proj/docs"),
        ("cd src; cd ../docs && a 2>&- w", ("a", "w"), "proj/docs"),
        ("sh -c 'cd .. && a'", ("a",), ""),
        ("cd docs && b > f | rm; a", ("a",), "proj/docs"),
    ],
)
def test_the_sandbox_sees_where_programs_stand(text: str, words: tuple[str, ...], place: str, tmp_path: Path) -> None:
    """The stubs tell their words and their folder, so that a reading that is wrong would be found."""
    sandbox = Sandbox(tmp_path)
    ran = sandbox.run(text)
    assert (words, str(sandbox.root / place)) in [(one.words, one.place) for one in ran.programs]


@pytest.mark.parametrize(
    "text",
    [
        "ls; [[ a ]] > f",
        "[[ a ]] >> f; ls",
        'ls < "$(> f)"',
        "[[ $(> f) ]]; ls",
        "[[ -n `> f` ]]; ls",
        "ls; (( 1 )) > f",
        "ls; (( 1 + $(> f) ))",
        "[ -n a ] > f; ls",
        "X=$(> f); ls",
        "ls; > f",
        "ls ${x:-$(> f)}",
        "ls <<E\n$(> f)\nE",
        "ls <<< $(> f)",
        "ls <(> f)",
        "case $(> f) in a) ls;; esac; ls",
        "for i in $(> f); do ls; done; ls",
        "if > f; then ls; fi",
        "case a in b) ls;; esac > f; ls",
        "while > f; false; do ls; done; ls",
        "ls; [[ a ]] 2>&- > f",
        "ls; { [[ a ]]; } > f",
        "ls; [[ a ]] > f || [[ b ]]",
        "ls; ! [[ a ]] > f",
        "ls; $(a > f)",
        "exec > f; ls",
    ],
)
def test_a_redirect_without_a_command_is_in_doubt_for_all(text: str) -> None:
    """A file that a test, a sum, a substitution or nothing at all opens keeps an allow list from being sure."""
    commands = COMMAND.read(text, AROUND)
    assert commands is UNREADABLE or every(commands, like("*")) is not True


@pytest.mark.parametrize(
    "text", ["ls; [[ a ]]", "[[ a ]] 2>&1; ls", "ls 2>&- >/dev/null", "ls <<< w", "ls; [[ b > a ]]"]
)
def test_no_file_no_doubt(text: str) -> None:
    """Without an open file the same texts are sure."""
    assert every(COMMAND.read(text, AROUND), like("*")) is True
