"""Words of a command and redirects are read from where the command stands; where that is in doubt, so is the answer."""

import json
import random
from functools import cache

import pytest

from rebuno.policy.explain.explain import explain
from rebuno.policy.facets.path import facets
from rebuno.policy.facets.path.placed import Placed
from rebuno.policy.facets.shell import directories, script
from rebuno.policy.facets.shell.command import Command
from rebuno.policy.facets.shell.directories import MAX_LETTERS, MAX_NAMES
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.values.json_values import UNREADABLE, Tri
from tests.policy.bundles import policy_of
from tests.policy.facets.shell_asking import AROUND, COMMAND

HOMES = 'workdir "/proj"\nhome "/home/bot"\n'
WITHIN = 'every command of args.command has (every it under "/proj")'
READS = 'any command of args.command has (it like "cat *" and any path of it under "/vault")'


@cache
def _policy(expression: str, prologue: str = HOMES) -> Policy:
    text = f"{prologue}rule sure {{ allow any step when {expression} }}\n"
    return policy_of(f"{text}rule perhaps {{ deny any step when {expression} }}\n")


def asked(text: str, expression: str, prologue: str = HOMES) -> Tri:
    """What the condition comes to; `explain` must say the same."""
    policy, facts = _policy(expression, prologue), Facts("tool_call", "shell", {"command": text})
    rule = policy.decide(facts).rule_id
    told = explain(policy, facts)
    assert told.decision.rule_id == rule
    json.dumps([str(one) for one in told.rules])
    return {"sure": True, "perhaps": None}.get(rule, False)


def _commands(text: str) -> list[Command]:
    return [one for one in COMMAND.read(text, AROUND) if type(one) is Command]


def places(text: str) -> list[list[str]]:
    """Where the commands may stand, in the order of the facet: as `AROUND` has it, empty where it is not known."""
    found = []
    for command in _commands(text):
        here = facets.read(Placed(".", command.places), AROUND)
        readings = getattr(here, "readings", (here,))
        found.append([] if here is UNREADABLE else [str(one) for one in readings])
    return found


def last(text: str) -> set[str]:
    """Where the command `x`, which stands once in the text, may stand; empty where that is not known."""
    commands = [one.words[0].start for one in _commands(text)]
    assert commands.count("x") == 1
    return set(places(text)[commands.index("x")])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("cat a.py", True),
        ("cd src && cat a.py", True),
        ("cd src && cat ../a.py", True),
        ("cd src; cat a.py", True),
        ("cd /proj && cat a.py", True),
        ("cd src && cd .. && cat a.py", True),
        ("cd && cat .ssh/id_rsa", False),
        ("cd ~ && cat .ssh/id_rsa", False),
        ("cd ~/../../proj && cat a.py", None),  # `~/…` itself is a word that is not known
        ("cd / && rm -rf vault", False),
        ("cd ..; cat x", False),
        ("cd .. && cat proj/a.py", False),  # `cat` itself is a name there
        ("pushd / && cat x", False),
        ('cd "$x" && cat a.py', None),
        ("cd - && cat a.py", None),
        ("popd; cat a.py", None),
        ("cd src && cat /proj/a.py", True),
        ('cd "$x" && cat /etc/passwd', False),
        ("env -C src cat a.py", True),
        ("env -C .. cat a.py", False),
        ("sh -c 'cd src && cat a.py'", True),
        ("sh -c 'cd / && cat a.py'", False),
        ("cat '~/x'", None),
        ("cat ~/x", None),
        ("cd src/../../etc && cat passwd", False),
    ],
)
def test_every_word_below_a_directory(text: str, answer: Tri) -> None:
    """`every it under`, for every command."""
    assert asked(text, WITHIN) is answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("cat /vault/key", True),
        ("cd / && cat vault/key", True),
        ("cd /vault && cat key", True),
        ("cd /vault; cat key", None),
        ("cd /vault || cat key", None),
        ("cd /proj && cat key", False),
        ("cd vault && cat key", False),
        ("cd ../vault && cat key", True),
        ("cd /; cd vault && cat key", None),
        ("(cd /vault && ls); cat key", False),
        ("(cd /vault && cat key)", True),
        ("cd /vault | cat key", False),
        ("cd /vault & cat key", False),
        ("ls $(cd /vault && cat key)", True),
        ('ls "$(cd /vault; cat key)"', None),
        ("sh -c 'cd /vault && cat key'", True),
        ("cd /vault && sh -c 'cat key'", True),
        ("sh -c 'cd /vault'; cat key", False),
        ("env -C /vault cat key", True),
        ("env --chdir=/vault cat key", True),
        ("env -C/vault cat key", True),
        ("sudo -D /vault cat key", True),
        ("sudo --chdir /vault cat key", True),
        ("sudo cat key", False),
        ("cd /vault && sudo cat key", True),
        ("cd /vault && xargs cat key", None),  # and what its input adds
        ("cd /vault && find . -exec cat key \\;", True),
        ("find /vault -execdir cat key \\;", None),
        ("ssh host cat key", None),
        ("ssh host cat /vault/key", True),
        ("ssh host cat /proj/key", None),  # `cat` itself is a name there
        ("ssh host 'cd /vault && cat key'", True),
        ("sudo -R /vault cat key", None),
        ("env -C $x cat key", None),
        ("env -C /a -C /vault cat key", None),
        ("env -C '~' cat key", None),
        ("if cd /vault; then cat key; fi", True),
        ("if a; then cd /vault; fi; cat key", None),
        ("if cd /vault; then a; else cat key; fi", None),
        ("for i in 1 2; do cat key; cd /vault; done", None),
        ("while cd /vault; do cat key; done", True),
        ("until cd /vault; do cat key; done", None),
        ("case $x in a) cd /vault;; esac; cat key", None),
        ("case $x in a) cd /vault;& b) cat key;; esac", None),
        ("case $x in a) cd /vault;; b) cat key;; esac", False),
        ("! cd /vault && cat key", None),
        ("! cd /vault; cat key", None),
        ("command cd /vault && cat key", True),
        ("builtin cd /vault && cat key", True),
        ("time cd /vault && cat key", None),  # a keyword, or a program
        (">&- time cd /vault && cat key", None),
        ("time ls && cat key", False),
        ("bash -c - 'cd /vault && cat key'", True),
        ("command -p builtin cd /vault && cat key", True),
        ("nice cd /vault && cat key", False),  # in a process of its own
        ("env cd /vault && cat key", False),
        ("\\cd /vault && cat key", True),
        ("c'd' /vault && cat key", True),
        ("CD /vault && cat key", None),
        ("/usr/bin/cd /vault && cat key", None),
        ("$x /vault && cat key", None),
        ("X=1 cd /vault && cat key", True),
        ("cd /vault >&- && cat key", True),
        ("cd >&- /vault && cat key", True),
        ("2>&- cd /vault && cat key", True),
        ("cd -- /vault && cat key", True),
        ("cd -L /vault && cat key", True),
        ("cd -P /vault && cat key", None),
        ("cd -P src/.. && cat key", None),
        ("cd -e /vault && cat key", None),
        ("cd /vault x && cat key", None),
        ("cd '' && cat key", None),
        ("pushd -n /vault && cat key", None),
        ("pushd +1 && cat key", None),
        ("pushd && cat key", None),
        ("cat key <<E && cd /vault\nx\nE", False),
        ("a <<E && cd /vault\nx\nE\ncat key", None),
        ("cd /vault && a > f | b; cat key", None),  # the parser takes the list for a part of the pipe
        ("cd /vault && a <<E | b\nx\nE\ncat key", None),
        ("cd / && cd vault && cat key", True),
        ("cd / && cd - && cat key", None),
        ('cd "$x"; cd /vault && cat key', True),
        ('cd "$x"; cd /vault; cat key', None),
        ("bash -O cdspell -c 'cd /proj && cat key'", None),
        ("bash -P -c 'cd a/.. && cat key'", None),
        ("bash -o physical -c 'cd a/.. && cat key'", None),
        ("zsh -c 'a | cd /vault; cat key'", None),
        ("ksh -c 'a | cd /vault; cat key'", None),
        ("set -P; cd a/..; cat key", None),
        ("CDPATH=/; cd vault && cat key", None),
        ("CDPATH=/ cd vault && cat key", None),
        ("jobs -x cd /vault; cat key", None),
        ("mapfile -C 'cd /vault' x; cat key", None),
        ("f() { cd /vault; }; f; cat key", None),
        ("trap 'cd /vault' DEBUG; cat key", None),
        ("eval 'cd /vault'; cat key", None),
        ("alias a='cd /vault'\na; cat key", None),
        ("cd /va*t && cat key", None),
        ("cd /{vault,x} && cat key", None),
        ("cd 'C:/x' && cat key", None),
    ],
)
def test_what_a_tripwire_sees(text: str, answer: Tri) -> None:
    """`any command … has (it like "cat *" and any path of it under "/vault")`: a yes or a maybe denies."""
    assert asked(text, READS) is answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("cd ~/vault && cat key", True),
        ("cd; cd vault && cat key", None),
        ("cd && cd vault && cat key", True),
        ("cd ~/x/../vault && cat key", True),
        ("cd ~bob/vault && cat key", None),
        ("cd '~/vault' && cat key", None),
        ("HOME=/x; cd && cat vault/key", None),
        ("export HOME=/x; cd ~ && cat vault/key", None),
        ("read HOME; cd && cat vault/key", None),
        ("read $x; cd && cat vault/key", None),
        ("printf -v HOME /x; cd && cat vault/key", None),
        ("for HOME in /x; do cd; cat vault/key; done", None),
        ("unset HOME; cd && cat vault/key", None),
        ("sudo sh -c 'cd && cat vault/key'", None),
        ("ssh host 'cd && cat vault/key'", None),
        ("env -i sh -c 'cd && cat vault/key'", None),
        ("env - sh -c 'cd && cat vault/key'", None),
        ("env HOME=/x sh -c 'cd && cat vault/key'", None),
        ("env -u HOME sh -c 'cd && cat vault/key'", None),
        ("sh -c 'cd && cat vault/key'", True),
        ("export X=1; cd && cat vault/key", True),
        ("read -r line; cd && cat vault/key", True),
    ],
)
def test_the_home(text: str, answer: Tri) -> None:
    """`cd` and `cd ~` lead to `home`, unless the text may make another directory of it; without `home` it is maybe."""
    inside = READS.replace("/vault", "/home/bot/vault").replace('like "cat *"', 'contains "cat"')
    assert asked(text, inside) is answer
    assert asked(text, inside, 'workdir "/proj"\n') is None


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("cd /vault && a > f", True),
        ("cd /vault; a > f", None),
        ("(cd /vault && a) > f", False),
        ("{ cd /vault; a; } > f", False),
        ("{ cd /vault && a > f; }", True),
        ("cd /vault > f", False),
        ("cd /vault && > f", True),
        ("cd /vault && [[ a ]] > f", True),
        ("cd /vault && a > f || b", True),
        ("cd /vault && a | b > f", True),
        ("a | cd /vault && b > f", False),
        ("a $(cd /vault && b > f)", True),
        ('a < "$(cd /vault; > f)"', None),
        ("cd /vault && a <<E > f\nx\nE", True),
        ("cd src && a > ../../vault/f", True),
        ("cd src && a > /vault/f", True),
        ("cd / && a > ~/f", False),
        ('cd "$x" && a > f', None),
        ("env -C /vault sh -c 'a > f'", True),
        ("env -C /vault a > f", False),  # this shell opens it
        ("sudo -D /vault sh -c 'a > f'", True),
        ("ssh host 'a > ~/vault/f'", None),
        ("HOME=/; a > ~/vault/f", None),
        ("cd /vault && cd /proj && a > f", False),
        ("cd /vault && a >& f", True),
        ("cd /vault; a 2>&- b > f", None),
    ],
)
def test_redirects_from_where_the_command_stands(text: str, files: Tri) -> None:
    """`any redirect … under "/vault"`."""
    assert asked(text, 'any redirect of args.command under "/vault"') is files


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cd a; x", {"/proj", "/proj/a"}),
        ("cd a; cd b; x", {"/proj", "/proj/a", "/proj/b", "/proj/a/b"}),
        ("cd a; cd b; cd c; x", set()),  # more than four
        ("cd a && cd b && cd c && x", {"/proj/a/b/c"}),
        ("cd a || cd b; x", {"/proj", "/proj/a", "/proj/b", "/proj/a/b"}),
        ("cd a || cd /b; x", {"/proj", "/proj/a", "/b"}),
        ("if a; then cd a; elif b; then cd b; else cd c; fi; x", {"/proj", "/proj/a", "/proj/b", "/proj/c"}),
        ("if cd a; then b; else x; fi", {"/proj", "/proj/a"}),
        ("for i in 1; do cd /a; done; x", {"/proj", "/a"}),
        ("for i in 1; do x; cd /a; cd /b; done", {"/proj", "/a", "/b"}),
        ("for i in 1; do cd ..; done; x", set()),
        ("for i in 1; do cd / && cd ..; cd /a; done; x", {"/proj", "/", "/a"}),
        ("for i in 1; do cd a; done; x", set()),
        ("while cd /a && cd /b; do c; done; x", {"/proj", "/a", "/b"}),
        ("while a; do cd /a && break; cd /b; done; x", {"/proj", "/a", "/b"}),
        ("for i in 1; do (cd a && b); done; x", {"/proj"}),
        ("for i in $(cd /a; ls); do x; done", {"/proj"}),
        ("a <(cd /a; x)", {"/proj", "/a"}),
        ("a ${y:-$(cd /a && x)}", {"/a"}),
        ("[[ $(cd /a && x) ]]", {"/a"}),
        ("((1 + $(cd /a && x)))", {"/a"}),
        ("a <<E\n$(cd /a && x)\nE", {"/a"}),
        ("cd /a && y=$(x)", {"/a"}),
        ("cd /a && b > $(x)", {"/a"}),
        ("case $(cd /a) in b) x;; esac", {"/proj"}),
        ("cd /a && case $(x) in b) c;; esac", {"/a"}),
        ("cd / && cd .. && x", {"/"}),
        ("cd ../../.. && x", {"/"}),
        ("cd //a//b/./c && x", {"/a/b/c"}),
        ("cd a && { b; }; x", {"/proj", "/proj/a"}),
        ("{ cd a && b; } && x", {"/proj/a"}),
        ("{ a; cd a; } && x", {"/proj/a"}),
        ("if cd a; then cd b; fi && x", {"/proj", "/proj/a", "/proj/a/b"}),
        ("cd a&&x", {"/proj/a"}),
        ("cd a &&\n# comment\nx", {"/proj/a"}),
        ("a; cd a && ! b || x", {"/proj", "/proj/a"}),
        ("cd a & cd b && x", {"/proj/b"}),
        ("time -p cd a && x", set()),
        ("pushd a && pushd b && x", {"/proj/a/b"}),
        ("pushd a && popd && x", set()),
        (f"cd {'a/' * (MAX_NAMES + 1)} && x", set()),
        (f"cd {'a' * (MAX_LETTERS + 1)} && x", set()),
    ],
)
def test_the_places(text: str, found: set[str]) -> None:
    """The directories that a command may stand in, four at most."""
    assert last(text) == found


@pytest.mark.parametrize(
    ("text", "expression", "answer"),
    [
        ("cd /vault && ls .", 'name of it == "vault"', True),
        ("cd /vault; ls .", 'name of it == "vault"', None),
        ("cd src; ls .", 'name of it == "vault"', False),
        ("cd src; cat a.py", 'extension of it == ".py"', True),
        ("cd src; ls .", 'extension of it == ".py"', False),
        ("cd /vault; cat key", 'path of it == "/vault/key"', None),
        ("cd src; cat key", 'path of it == "/vault/key"', False),
        ("cd src; cat key", 'path of it like "**/key"', True),
        ("cd src; cat key", 'path of it like "src/*"', None),
        ("cd src; cat key", 'path of it ends with "/key"', True),
        ("cd src; cat key", 'path of it contains "src"', None),
        ("cd src && cat key", 'path of it in ["/a", "/proj/src/key"]', True),
        ("cd src; cat key", 'path of it in ["/a", "/proj/src/key"]', None),
        ("cd src; cat key", 'path of it in ["/a", "/b"]', False),
        ("cd src; cat key", 'it == "key"', True),
        ("cd src; cat key", 'it in ["key"]', True),
        ("cd src; cat key", 'it like "k*"', True),
        ("cd src; cat key", 'it matches r"k.y"', True),
        ("cd src; cat key", "it is string", True),
        ("cd src; cat key", "size of it == 3", True),
        ("cd src; cat key", "path of it given", True),
        ('cd "$x"; cat key', 'it == "key"', True),
        ('cd "$x"; cat key', "path of it given", None),
        ("cd src; curl https://a.example/x", 'host of it == "a.example"', True),
        ("cd src; cat key", 'it starts with "k"', True),
        ("cd src; cat key", 'it contains "ey"', True),
    ],
)
def test_every_reader_of_a_word(text: str, expression: str, answer: Tri) -> None:
    """Readers of paths go by the places: where those agree the answer is sure. All others see the word as written."""
    other = 'it not contains "cd"'
    assert asked(text, f"any command of args.command has ({other} and any {expression})") is answer
    assert asked(text, f"any command of args.command has ({other} and any it has ({expression}))") is answer


def test_a_word_by_its_position() -> None:
    """`it[1]` is read from where the command stands too."""
    expression = 'any command of args.command has (it like "cat *" and path of it[1] == "/vault/key")'
    assert asked("cd /vault && cat key", expression) is True
    assert asked("cd /vault; cat key", expression) is None
    assert asked("cat key; cd /vault", expression) is False
    assert asked("cd /vault; cat key", 'any command of args.command has (it[1] == "key")') is True
    assert asked("cd /vault && cat key", 'any command of args.command has (it[1] under "/vault")') is True


def test_a_path_on_the_right_that_may_be_one_of_several() -> None:
    """Where the word stands on the right side, the answer is maybe unless one certain place gives it."""
    policy = _policy("any command of args.command has (any it has (path of args.p == path of it))")
    for text, answer in (("cd /vault && cat key", "sure"), ("cd /vault; cat key", "perhaps"), ("cat key", "")):
        facts = Facts("tool_call", "shell", {"command": text, "p": "/vault/key"})
        rule = policy.decide(facts).rule_id
        assert explain(policy, facts).decision.rule_id == rule
        assert (rule if rule in ("sure", "perhaps") else "") == answer


def test_without_a_directory_to_begin_in() -> None:
    """Without `workdir` a certain change to an absolute directory is read from there, and any other stays unknown."""
    assert asked("cd /vault && cat key", READS, "") is True
    assert asked("cd vault && cat key", READS, "") is None
    assert asked("cd /vault && cd ../proj && cat key", READS, "") is False


@pytest.mark.parametrize(
    "text", ["cd src && git log -3", "cd src; git log -3", 'cd "$x" && git log -3', "cd; git log -3"]
)
def test_the_command_itself_does_not_depend_on_the_place(text: str) -> None:
    """Which program runs with which words is as sure as it was."""
    assert asked(text, 'every command of args.command like ["cd *", "git log *"]') is (None if "$x" in text else True)
    assert asked(text, 'any program of args.command == "git"') is True


@pytest.mark.parametrize(
    "text",
    [
        "for a in 1; do cd b; " * 8 + "x" + "; done" * 8,
        "while cd a; do for b in 1; do cd ..; " * 4 + "x" + "; done; done" * 4,
        "; ".join(["cd /a || cd b && (cd c)"] * 2000),
        " && ".join(["cd a"] * 9000),
        " && ".join(["cd ."] * 9000) + " && x",
        "if cd a; then b; fi; " * 2500,
        "{ cd a; } && " * 4000 + "x",
        "time " * 8 + "cd a; x",
    ],
)
def test_the_work_is_bounded(text: str) -> None:
    """Loops inside loops, and thousands of changes, are read in a number of steps that grows with the text alone."""
    assert COMMAND.read(text, AROUND) is not None


_COMMANDS = ("cd a", "cd ..", "cd /tmp", "ls x", "pushd b", "popd", "cd $X", "time cd z", "A=1 cd w", "A=1", "# c\n")


@pytest.mark.parametrize("seed", range(20))
def test_plain_texts_need_not_be_laid_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands one behind the other have the places that the steps of the text give them."""
    drawn = random.Random(seed)
    texts = [
        "".join(
            drawn.choice(_COMMANDS) + drawn.choice((" && ", " || ", "; ", "\n", " &&\n"))
            for _ in range(drawn.randint(1, 6))
        )
        + "ls y"
        for _ in range(20)
    ]
    read = script.read_script.__wrapped__
    quickly = [read(text) for text in texts]
    assert any(shell is not None and any(one.places != ("",) for one in shell.commands) for shell in quickly)
    monkeypatch.setattr(directories, "_straight", lambda root: None)
    assert [read(text) for text in texts] == quickly
