"""The rules that the documentation recommends, asked of the facets about texts that mean to get past them."""

import pytest

from rebuno.policy.values.json_values import UNREADABLE, Tri
from tests.policy.facets.shell_asking import AROUND, COMMAND, PROGRAM, REDIRECT, any_of, equals, every, like


def allowed(text: str, *patterns: str) -> Tri:
    """`when every command of args.command like [PATTERN, …]`."""
    tests = [like(pattern) for pattern in patterns]
    return every(COMMAND.read(text, AROUND), lambda one: any_of(tests, lambda test: test(one)))


def runs(text: str, name: str) -> Tri:
    """`when any program of args.command == NAME`."""
    return any_of(PROGRAM.read(text, AROUND), equals(name))


def pushes(text: str) -> Tri:
    """`when any command of args.command has (it like "git *" and it contains "push")`."""
    found = COMMAND.read(text, AROUND)
    if found is UNREADABLE:
        return None
    both = [{like("git *")(one), one.contains("push", False)} for one in found]
    return any_of(both, lambda answers: False if False in answers else None if None in answers else True)


@pytest.mark.parametrize(
    "text",
    [
        "git log -3",
        "git log -3 && git status",
        "git log --oneline | git log",
        'git log --grep "a && b"',
        "git log 2>&1",
        "git log 2>/dev/null",
        'git log --format="%an > %ae" HEAD',
        "(git log; git status) # git push",
        "  git\tlog",
        "git log HEAD~1 -- 'a b' *.py",
        "time git log",
    ],
)
def test_an_allow_list_lets_plain_commands_through(text: str) -> None:
    """Nothing but the commands of the list, on their own or together."""
    assert allowed(text, "git log *", "git status *", "time *") is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "git log -3 && git push origin main",
        "git status; touch owned.txt",
        "git status;touch owned.txt",
        "git log -3 | sh",
        "git log -3 |& sh",
        "git status & git push",
        "git log -3 || touch owned.txt",
        "git log\ntouch owned.txt",
        "git log $(touch owned.txt)",
        'git log "`touch owned.txt`"',
        "git log <(touch owned.txt)",
        "git log > .git/hooks/post-checkout",
        "git log>notes.txt",
        "git log >> profile.sh",
        "git log &> out.txt",
        "git log >&2file",
        "{ git log; } > out.txt",
        "exec > out.txt; git log",
        "LD_PRELOAD=./x.so git log",
        "GIT_PAGER='sh -c id' git log",
        "export PAGER=x; git log",
        "PATH=.; git log",
        "for PATH in .; do git log; done",
        "git log $x",
        "git $x",
        "$x log",
        "./git log",
        "gitleaks detect",
        "git-lfs push",
        "git logs",
        "time $x",
        "git() { touch owned.txt; }; git log",
        "alias git=touch; git log",
    ],
)
def test_an_allow_list_never_says_yes_to_more(text: str) -> None:
    """Whatever else happens in the text, the list does not allow it."""
    assert allowed(text, "git log *", "git status *", "time *") is not True


@pytest.mark.parametrize(
    "text",
    [
        "rm -r data",
        "echo $(rm -r data)",
        'echo "x $(rm -r data)"',
        "echo `rm -r data`",
        "{ rm -r data; }",
        "(rm -r data)",
        "cat <(rm -r data)",
        'eval "rm -r data"',
        "eval eval eval eval eval eval rm -r data",
        "bash -c 'rm -r data'",
        "bash -c \"bash -c 'rm -r data'\"",
        "c=rm; $c -r data",
        "c=m; r$c -r data",
        "echo 'rm -r data' | sh",
        "sh <<< 'rm -r data'",
        "r\\m -r data",
        'r""m -r data',
        "'rm' -r data",
        "$'rm' -r data",
        "$'\\x72m' -r data",
        " \t rm -r data",
        "/bin/rm -r data",
        "./bin/rm -r data",
        "RM -r data",
        "{rm,-r,data}",
        "r? -r data",
        "if true; then rm -r data; fi",
        "case x in *) rm -r data;; esac",
        "while rm -r data; do :; done",
        "cat <<E\n$(rm -r data)\nE",
        "echo ${x:-$(rm -r data)}",
        "echo $((1 + $(rm -r data)))",
        "x=$(rm -r data)",
        "[[ -n $(rm -r data) ]]",
        "echo > $(rm -r data)",
        "find . -exec rm -r {} +",
        "echo data | xargs rm -r",
        "sudo --odd-option rm -r data",
        "trap 'rm -r data' EXIT",
        "f() { rm -r data; }; f",
        "coproc rm -r data",
        "( " * 9 + "rm -r data" + " )" * 9,
    ],
)
def test_a_denied_program_is_never_missed(text: str) -> None:
    """Each of these runs `rm`, or may: never a no."""
    assert runs(text, "rm") is not False


@pytest.mark.parametrize(
    "text",
    [
        "echo '$(rm -r data)'",
        "echo rm",
        "rmdir data",
        "git rm data",
        'echo "rm" # rm',
        "cat <<'E'\n$(rm -r data)\nE",
        "sudo -u rm ls",
    ],
)
def test_a_denied_program_is_not_seen_in_data(text: str) -> None:
    """A name that is an argument, a comment or part of another is none."""
    assert runs(text, "rm") is False


@pytest.mark.parametrize(
    "text",
    [
        "git push origin main",
        "GIT_TRACE=1 git push origin main",
        "env A=1 git push origin main",
        "timeout 5 git push origin main",
        "nohup git push origin main",
        "echo main | xargs git push origin",
        "git -C sub push origin main",
        "zsh -lc 'git push origin main'",
        "git $x origin",
    ],
)
def test_a_denied_subcommand_is_never_missed(text: str) -> None:
    """The words of a command are asked one by one, so that options before it hide nothing."""
    assert pushes(text) is not False
    assert pushes("git log --grep 'push it' && echo push") is False


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("make", True),
        ("make > build/log 2>&1", True),
        ("make > ../log", False),
        ("cd .. && make > log", False),
        ("cd ..; make > log", None),
        ('cd "$x" && make > log', None),
        ("make > $x", None),
        ("bash -c 'make > /etc/passwd'", False),
        ("$x", None),
    ],
)
def test_output_below_a_directory(text: str, answer: Tri) -> None:
    """`when every redirect of args.command under "/proj"`."""
    assert REDIRECT.network
    right = REDIRECT.network("/proj", AROUND)
    assert every(REDIRECT.read(text, AROUND), lambda one: one.under(right)) is answer
