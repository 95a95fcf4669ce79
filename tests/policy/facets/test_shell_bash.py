"""What the shell facets say is held to what the bash of this machine does."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from time import process_time

import pytest

from rebuno.policy.facets.shell.command import Command
from rebuno.policy.facets.shell.script import read_shell
from rebuno.policy.facets.shell.words import Word
from tests.policy.facets.real_bash import BASH, RealBash
from tests.policy.facets.shell_texts import thrown, well_formed


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> RealBash:
    """The bash of this machine, with stubs for all programs."""
    assert Path(BASH).exists(), "bash is missing; it is an essential program of every Debian"
    return RealBash(tmp_path_factory.mktemp("bash"))


def missed(text: str, bash: RealBash) -> str | None:
    """What bash ran or wrote and the facets do not tell of; None where they cannot read the text."""
    shell = read_shell(text)
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


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "3<&-", "0<&-", "2>&2", "2>&1-", "3<&0-", "2>&1"])
@pytest.mark.parametrize(
    "text",
    [
        "git {} b",
        "git a {} b c {}",
        "git {0} {0} b",
        "{} git b",
        "git {} b >f c",
        "git >f {} b",
        "git a{} b",
        "git {}\tb",
        "git {} \\\n b",
        "git {} b | a {} c",
        "(git {} b)",
        "{{ git {} b; }} {}",
        "if git {} b; then a; fi",
        "! git {} b",
        "git <<E {} b\nx\nE",
        'a "$(git {} b)"',
        "X=1 git {} b",
        "env {} git b",
        "nice git {} b",
        "sh -c 'git {} b'",
        "[ x ] {} && git b",
        "git {} 'b' \"c\" $x d",
        "git {} -",
        "git {} --output=f",
    ],
)
def test_a_redirect_without_a_word_swallows_none(text: str, closed: str, bash: RealBash) -> None:
    """A descriptor that is closed, moved or joined takes no word of the command."""
    text = text.replace("{}", closed).replace("{0}", closed).replace("{{", "{").replace("}}", "}")
    found = missed(text, bash)
    assert not found, found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("git 2>&- push", ["git", "push"]),
        ("git log -1 2>&- --output=f", ["git", "log", "-1", "--output=f"]),
        ("git diff 2>&- --no-index 2>&- a 3<&- b", ["git", "diff", "--no-index", "a", "b"]),
        ("git >&- a <&- b >f c", ["git", "a", "b", "c"]),
        ("git >f a b 2>g c d", ["git", "a", "b", "c", "d"]),
        ("git <<E >f a >g b c\nx\nE", ["git", "a", "b", "c"]),
        ("git <<E 2>&- a\nx\nE", ["git", "a"]),
        ("> f git a", ["git", "a"]),
        (">&- git a", ["git", "a"]),
        ("git a 2>&1- b", ["git", "a", "b"]),
        ("git <<<w a", ["git", "a"]),
    ],
)
def test_the_words_around_redirects(text: str, words: list[str], bash: RealBash) -> None:
    """All words of a command are there, in order, wherever redirects stand between them."""
    shell = read_shell(text)
    assert shell is not None
    assert [[word.start for word in one.words] for one in shell.commands] == [words]
    assert bash.run(text).commands == [words]


@pytest.mark.parametrize(
    "text",
    [
        "git 10>&- a",  # `10` is a word to other shells
        "git &>f a",  # two commands to other shells
        "&>f git",
        "git &>f >g a",
        "git >f 0<&-",
        "git 3<&0 0<&- >>f a",
        "git >f 2\\\n>g",
        "git 2>&- 2\\\n>g",
        "git >f a 2\\\n2>g",
        "git >f {fd}>g",
        "git 2>&- a {fd}>&-",
        "git >f 0<<E\nE",
        "git >f a 2\\\n<<<w",
        "git <<E >f a 0<&-\nE",
        "[[ a ]] >f 0<&-",
    ],
)
def test_a_word_that_is_a_descriptor_to_bash_is_in_doubt(text: str) -> None:
    """Digits and `{name}` that are glued to a redirect belong to it, which the parser does not always see; and shells
    differ in some redirects."""
    assert read_shell(text) is None


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
    read_shell(text)
    assert process_time() - start < 5
