"""`command of`, `program of` and `redirect of` see what bash would run, and say maybe where they cannot."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.facets.shell import facets
from rebuno.policy.facets.shell.command import Command
from rebuno.policy.values.json_values import UNREADABLE
from tests.policy.facets.shell_asking import AROUND, COMMAND, PROGRAM, REDIRECT, any_of, equals, every, like
from tests.policy.facets.shell_texts import TOKENS

HIDDEN = "something that the text does not show"


def commands(text: Any) -> Any:
    """The commands in short: words with blanks between them, `>` behind where output goes to a file, `=` where a
    variable is set before."""
    found = COMMAND.read(text, AROUND)
    return [_short(one) for one in found] if found is not UNREADABLE else None


def _short(one: Any) -> str:
    if not isinstance(one, Command):
        return "?"
    words = [word.start if word.known else f"{word.start}…{word.end}" for word in one.words]
    return " ".join(words) + (" >" if one.redirected else "") + (" =" if one.assigned else "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("git log -3", ["git log -3"]),
        ("a;b&&c||d|e|&f&g\nh", ["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("(a; b) && { c; }", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
        ("! a | b", ["a", "b"]),
        ("[ -f x ] && a", ["[ -f x ]", "a"]),
        ('[ ! -f "$x" ] && test "$y" = z', ["[ ! -f … ]", "test … = z"]),
        ("[[ -f x && $y == b* ]] && a", ["a"]),  # `[[` is no program
        ("case $x in a|b) c;; *) d; esac", ["c", "d"]),
        ("echo \"a $(b 'c d') `e`\"", ["echo a …", "b c d", "e"]),
        ("a <(b) >(c)", ["a … …", "c", "b"]),
        ("a ${x:-$(b)} $((1 + $(c)))", ["a … …", "c", "b", "?"]),
        ("a <<E\n$(b) \\$(d)\nE\ne", ["a", "b", "e"]),
        ("a <<'E'\n$(b)\nE\ne", ["a", "e"]),  # a quoted delimiter: data
        ("a <<-E\n\tx\n\tE\nb", ["a", "b"]),
        ("a <<E && b\nx\nE\nc", ["a", "b", "c"]),
        ("a - <<E && b - x\n- <<F $(c)\nE\nd", ["a -", "b - x", "c", "d"]),
        ("a - <<< $(b)", ["a -", "b"]),
        ("a <<< $(b)", ["a", "b"]),
        ("a > $(b)", ["a >", "b"]),
        ("echo '$(a)' \"\\$(b)\" \\; '&& c'", ["echo $(a) $(b) ; && c"]),  # words in quotes are data
        ("r\\m s\"u\"'do' $'x' y\\ z", ["rm sudo x y z"]),
        ("a \\\n  b # c; d\ne", ["a b", "e"]),
        ("a # b", ["a"]),
        ("a b#c", ["a b#c"]),
        ("a b\u00a0c", ["a b\u00a0c"]),  # no blank to bash
        ("ls\t-la", ["ls -la"]),
        ("> f a b", ["a b >"]),
        ("a > f b", ["a b >"]),
        ("(a; b) > f; c", ["a >", "b >", "c"]),
        ("exec > f; a", ["exec >", "a >"]),
        ("a 2>&1 >/dev/null 2>&-", ["a"]),
        ("X=1 a", ["a ="]),
        ("X=1; a", ["a ="]),
        ("for i in 1 2; do a; done", ["a ="]),
        ("export X=1; a", ["export X=1 =", "a ="]),
        ("a ${X:=1}", ["a … ="]),
        ("$x a", ["?"]),
        ("`a` b", ["a", "?"]),
        ("./x* b", ["?"]),  # a glob in the program's place
        ("{a,b} c", None),
    ],
)
def test_commands(text: str, found: list[str] | None) -> None:
    """Each of these holds these commands."""
    assert commands(text) == found


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("sudo -u bob -E rm x", "rm x"),
        ("sudo A=1 rm x", "rm x ="),
        ("doas -u bob rm x", "rm x"),
        ("env -i -u B A=1 rm x", "rm x ="),
        ("env - rm x", "rm x"),
        ("nice -n 5 rm x", "rm x"),
        ("nice -5 rm x", "rm x"),
        ("nohup rm x", "rm x"),
        ("timeout -k 5 --signal=KILL 10 rm x", "rm x"),
        ("time -p rm x", "rm x"),
        ("command -p rm x", "rm x"),
        ("exec -a y rm x", "rm x"),
        ("builtin command rm x", "rm x"),
        ("echo y | xargs -n1 rm x", "rm x …"),
        ("xargs -I% rm %", "rm …"),
        ("find . -name '*.c' -exec rm x \\;", "rm x"),
        ("find . -execdir rm {} +", "rm …"),
        ("find . -ok rm x ';' -print", "rm x"),
        ("setsid -f rm x", "rm x"),
        ("stdbuf -oL -e 0 rm x", "rm x"),
        ("watch -n 2 'rm x'", "rm x"),
        ("watch -x rm x", "rm x"),
        ("parallel -j4 rm x ::: a b", "rm x …"),
        ("parallel rm {} ::: a b", "rm …"),
        ("busybox rm x", "rm x"),
        ("ssh -p 22 u@h -q rm x", "rm x"),
        ("sh -c 'rm x'", "rm x"),
        ("bash -lc 'a && rm x'", "rm x"),
        ("bash -o pipefail -c 'rm x' y z", "rm x"),
        ("dash -c \"sh -c 'rm x'\"", "rm x"),
        ("zsh -lc 'rm x'", "rm x"),
        ("/usr/bin/sudo rm x", "rm x"),
        ("sudo nice timeout 1 rm x", "rm x"),
        ("bash -c 'rm x' > f", "rm x >"),
    ],
)
def test_wrappers(text: str, inner: str) -> None:
    """The wrapper's own command and the inner one are both there."""
    found = commands(text)
    assert inner in found
    assert "?" not in found
    assert len(found) >= 2


@pytest.mark.parametrize(
    "text",
    [
        "sudo --odd rm",  # an option that may take a word
        "sudo -s",
        "sudo $x rm",
        "env A=$x rm",  # `$x` may be `1 sh`
        "env =x rm",
        "env -S 'rm x'",
        "xargs -I$x rm",
        "find . $x",
        'find . "$x" rm {} +',  # `$x` may be `-exec`
        "find . -exec rm",
        'watch "rm $x"',
        "parallel ::: rm",
        "parallel --odd rm ::: a",
        "ssh host",
        "ssh -o ProxyCommand='rm x' host ls",
        "git log | sh",
        "bash x.sh",
        "bash <<E\nrm\nE",
        'bash -c "rm $x"',
        "zsh -c 'a; =rm x'",
        "su -c rm",
        "flock f rm",
        "PATH=. a",
        "export LD_PRELOAD=x; a",
        "BASH_ENV=f bash -c a",
        "for PATH in x; do a; done",
        "read PATH; a",
        "x='a[$(rm)]'; echo $((x))",  # a sum evaluates what its variables hold
        "((x)); a",
        "for ((i = 0; i < 9; i++)); do a; done",
        "[[ $x -eq 1 ]] && a",
        "test -v $x",
        "[ $x = 1 ]",
        'test "$x" "=$y" z',  # `$x` may be `-v`, and the rest more
        'timeout "$x" 5 rm',  # `$x` may be an option
        'ssh "$x" ls',
        "find . -exec a $x {} +",  # `$x` may end it and begin another
        "ssh -o LocalCommand=rm host ls",
        "parallel 'a {= rm =}' ::: b",
        "timeout -s $x 5 rm",
        "timeout -- $x 5 rm",
        "readarray -C rm x",  # `$x` may be `-v y`
        "printf -v 'a[$(rm)]' x",
        "read 'a[$(rm)]'",
        "unset 'a[$(rm)]'",
        "let x=y",
        "declare -i x=y",
        "declare -a 'x=($(rm))'",
        "set -o posix; a",
        "set -k; a",
    ],
)
def test_what_is_not_written_there_is_in_every_set(text: str) -> None:
    """More may run than the text says, so there is one more element, about which all is maybe."""
    for facet in (COMMAND, PROGRAM, REDIRECT):
        assert facet.read(text, AROUND)[-1].json() == HIDDEN
    assert any_of(PROGRAM.read(text, AROUND), equals("other")) is None
    assert every(COMMAND.read(text, AROUND), like("* *")) is not True


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "# a",
        "X=1",
        "[[ -f x ]]",
        "a\0",
        "a\rb",
        "a\x1b",
        "a\ud800",
        "a" * (64 * 1024 + 1),
        "é" * (32 * 1024 + 1),
        "( " * 9 + "a" + ")" * 9,
        "$(" * 9 + "a" + ")" * 9,
        "sudo " * 9 + "a",
        "f() { a; }",
        "function f { a; }",
        "eval a",
        "'eval' a",
        "builtin eval a",
        "source f",
        ". f",
        "alias a=b",
        "trap a EXIT",
        "hash -p f a",
        "shopt -s extglob",
        "enable -n echo",
        "coproc a",
        "time { a; }",
        "time ! a",
        "a 'b",
        'a "b',
        "a `b",
        "a $(b",
        "a <<E\nb",
        "a )",
        "a && ",
        "a; ; b",
        "echo !a",  # another command in an interactive shell
        'echo "!a"',
        "ls {fd}>f",
        "a 2\\\n>f",
        "a >&'$(b)'",  # bash expands what follows `>&` twice
        "a `b \\`c\\``",
        'a "`b "c"`"',
        "a ${!x}",
        "a ${x@P}",
        "a ${x[y]}",
        "a ${x:y}",
        "a ${x:-'b'}",
        "a $[1+1]",
        "a <<E <<F\nE\nF",
        "a <<E\nb\\\nE\nE",
        "a -1>f",
        "a <<E\nE \nb\nE",  # the parser ends it a line too soon
        "$ 1",
        "a$$",
        "case x in a) esac;;a elif if ",
        "a `b # c`",
        "a >&-b",
        "a >&\\\n-b",  # `>&-` and `b`
        "((echo 'x'))",  # a sum, in which quotes are nothing
        "(\\\n(a 'x'))",
        "a $((b 'x'))",
        "a \\ b",  # the parser leaves the blank out
        "a <<E\n`b`\nE",
        5,
        ["a"],
    ],
)
def test_texts_that_cannot_be_read(text: Any) -> None:
    """All is maybe where a text may be read in two ways, or is beyond the bounds, or is no text with a command."""
    assert [facet.read(text, AROUND) for facet in facets.FACETS] == [UNREADABLE] * 3


def test_the_bounds_are_just_there() -> None:
    """Eight levels and 64 KiB are read."""
    assert commands("( " * 8 + "a" + ")" * 8) == ["a"]
    assert commands("sudo " * 8 + "a")[-1] == "a"
    assert commands("a" * 64 * 1024) == ["a" * 64 * 1024]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("a", []),
        ("a < f", []),
        ("a 2>&1 >&- > /dev/null", []),
        ("a > f", ["/proj/f"]),
        ("a >f 2>>../g &>h >|i &>>j >&k", ["/proj/f", "/g", "/proj/h", "/proj/i", "/proj/j", "/proj/k"]),
        ("a >&2file", ["/proj/2file"]),
        ("a > 'b c'\"d\"", ["/proj/b cd"]),
        ("a > ~/f", ["/home/bot/f"]),
        ("a > '~/f'", [HIDDEN]),  # a file below a directory of that name
        ("a > ~bob/f", [HIDDEN]),
        ("a > $x", [HIDDEN]),
        ("a > *.txt", [HIDDEN]),
        ("a <<E > f\nE", ["/proj/f"]),
        ("{ a; b; } > f", ["/proj/f"]),
        ("echo $(a > f) `b > g`", ["/proj/g", "/proj/f"]),
        ("bash -c 'a > f'", ["/proj/f"]),
        ("cd /etc && a > f", ["/etc/f"]),
        ('cd "$x" && a > f', [HIDDEN]),  # somewhere else
        ("cd /etc && a > /f", ["/f"]),
        ("env -C /etc sh -c 'a > f'", ["/etc/f"]),
        ("a > ''", [HIDDEN]),
        ("exec 3</dev/tcp/h/80", ["/dev/tcp/h/80"]),
        ("a | tee f", []),  # a command like any other
        ("a '> f'", []),
    ],
)
def test_redirects(text: str, files: list[str]) -> None:
    """The files that a text's output goes to, as paths."""
    found = REDIRECT.read(text, AROUND)
    assert [str(one) if one.json() != HIDDEN else HIDDEN for one in found] == files


def test_redirects_are_below_directories() -> None:
    """`under` asks as it does for a path."""
    assert REDIRECT.network
    right = REDIRECT.network("/proj/src", AROUND)
    assert [one.under(right) for one in REDIRECT.read("a > src/x 2> /proj/y > $z", AROUND)] == [True, False, None]


@given(st.one_of(st.text(), st.lists(st.sampled_from(TOKENS), max_size=30).map("".join)))
@settings(max_examples=300, deadline=None)
def test_no_text_raises(text: str) -> None:
    """Whatever the text, each facet gives a list or says that it cannot be read, and each test has an answer."""
    for facet in facets.FACETS:
        found = facet.read(text, AROUND)
        assert found is UNREADABLE or all(one.json() is not None for one in found)
    for one in COMMAND.read(text, AROUND) if COMMAND.read(text, AROUND) is not UNREADABLE else []:
        assert like("git * x *")(one) in (True, False, None)
        list(one.index_keys(True))
