"""What the shell facets say is held to what the bash of this machine does."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from time import process_time

import pytest

from rebuno.policy.facets.shell_command import Command
from rebuno.policy.facets.shell_script import read_script
from rebuno.policy.facets.shell_words import Word
from tests.policy.facets.real_bash import BASH, RealBash
from tests.policy.facets.shell_texts import thrown, well_formed


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> RealBash:
    """The bash of this machine, with stubs for all programs."""
    assert Path(BASH).exists(), "bash is missing; it is an essential program of every Debian"
    return RealBash(tmp_path_factory.mktemp("bash"))


def missed(text: str, bash: RealBash) -> str | None:
    """What bash ran or wrote and the facets do not tell of; None where they cannot read the text."""
    shell = read_script(text)
    if shell is None:
        return None
    ran = bash.run(text)
    if shell.hidden:
        return ""
    commands = [Command(one.words, one.redirected, bool(one.assigned)) for one in shell.commands]
    for words in ran.commands:
        literal = Command(tuple(Word(word) for word in words))
        # What bash looks for is a name; an empty one is never found.
        if words[0] and all(one.equals(literal, False) is False for one in commands):
            return f"bash ran {words}"
    for name in ran.files:
        if None not in shell.targets and name not in shell.targets:
            return f"bash wrote `{name}`"
    return ""


@pytest.mark.parametrize(
    ("make", "seed", "count", "least"),
    [
        (well_formed, 1, 200, 100),
        (thrown, 2, 2000, 120),  # most of these cannot be read, which costs little
    ],
)
def test_nothing_that_bash_runs_is_missed(
    make: Callable[[Random], str], seed: int, count: int, least: int, bash: RealBash
) -> None:
    """Each command that bash runs is one of those that the facet gives, with its words, and each file is told of."""
    random = Random(seed)
    found = [(text, missed(text, bash)) for text in (make(random) for _ in range(count))]
    assert [(text, what) for text, what in found if what] == []
    assert sum(what is not None for _, what in found) >= least


@pytest.mark.parametrize(
    "text",
    [
        "echo >&'$(rm)'",  # expanded twice
        "a -1>f",
        ",c1`aa,b`a",
        "2\\\n<<<\t$(b)git ! a",
        "time ! b",
        "a >&\\\n-b",
        "! ((echo '$(rm)' - \"$x\"))",
        "env a - b",
        "x='a[$(rm)]'; echo $((x))",
        "x='a[$(rm)]'; test -v \"$x\"",
        "declare -a 'x=($(rm))'",
        "printf -v 'z[$(rm)]' a",
        "a 2>f1 >f2 &>f3 >|f4",
        "a <<E | b\n$(c1) \\$(rm)\nE\ngit",
        "PS4='$(rm)'; set -x; a",
        "xargs -I{} rm {} <<< 'x'",
        "find . -maxdepth 0 -exec rm x {} + -exec git {} \\;",
        "trap rm EXIT",
        "f() { rm; }; f",
        "env -u Z A=1 nice -n 1 timeout 5 rm x",
    ],
)
def test_what_bash_does_with_tricks(text: str, bash: RealBash) -> None:
    """Each of these runs or writes something, and the facets tell of it or say that they cannot."""
    ran = bash.run(text)
    assert ran.commands or ran.files
    assert not missed(text, bash)


@pytest.mark.parametrize(
    "part",
    [
        "<",
        "|a",
        "a;",
        "(",
        "$(",
        "`",
        '"',
        "'",
        "${a:-",
        "{",
        "[",
        "a<<E\nE\n",
        "if a;then ",
        "a|",
        "\\\n",
        "sudo ",
        " >f",
        "~",
    ],
)
@pytest.mark.parametrize("end", ["", ")", "|", "'"])
def test_the_time_is_bounded(part: str, end: str) -> None:
    """64 KiB of anything are read or given up within seconds, though the parser alone would take minutes for some."""
    text = "a " + part * ((64 * 1024 - 3) // len(part)) + end
    start = process_time()
    read_script(text)
    assert process_time() - start < 5
