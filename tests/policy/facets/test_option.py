"""`option of` and `option "…" of`: what a command's words say, and what depends on the program that reads them."""

from typing import Any, Final

import pytest

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets.reading import PathContext, Perhaps
from rebuno.policy.facets.registry import find_facet
from rebuno.policy.facets.shell.options import OptionName
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri
from tests.policy.bundles import policy_of

NOWHERE: Final = PathContext()
NAMESPACE: Final = 'option "-n --namespace"'

LOOK: Final = """
every command of args.command has (it like ["kubectl get pods *", "kubectl logs *", "kubectl -n dev get pods *"]
                                   and every option of it in ["-n", "-o"]
                                   and every option "-n --namespace" of it == "dev")
"""


def answer(condition: str, command: Any, prologue: str = "") -> Tri:
    """What a condition comes to for a command; `explain` must say the same, of its negation too."""
    found: list[Tri] = []
    for test in (condition, f"not ({condition})"):
        rules = f"rule sure {{ allow any step when {test} }} rule perhaps {{ deny any step when {test} }}"
        policy = policy_of(f"{prologue} {rules}")
        facts = Facts("tool_call", "shell", {"command": command})
        decided = policy.decide(facts)
        told = explain_decision(policy, Facts("tool_call", "shell", {"command": command}))
        assert (told.decision.verdict, told.decision.rule_id) == (decided.verdict, decided.rule_id)
        words = {rule.rule_id: rule.answer.value for rule in told.rules if rule.answer is not None}
        here: Tri = {"sure": True, "perhaps": None}.get(decided.rule_id, False)
        assert words["sure"] == {True: "yes", None: "maybe", False: "no"}[here]
        found.append(here)
    assert found[1] is (None if found[0] is None else not found[0]) or None in found
    return found[0]


def read(facet: str, command: Any) -> Any:
    """What a facet reads in a shell text, names as texts."""
    found = find_facet(facet)
    assert found is not None
    values = found.read(command, NOWHERE)
    return [plain(value) for value in values] if type(values) is list else values


def plain(value: Any) -> Any:
    """A name as a text."""
    if type(value) is Perhaps:
        return Perhaps(plain(value.value))
    return value.name if type(value) is OptionName else value


P = Perhaps
GONE: Final = Perhaps(MISSING)


@pytest.mark.parametrize(
    ("command", "names", "values"),
    [
        ("k get", [], [MISSING]),
        ("k -n dev get", ["-n"], ["dev"]),
        ("k get --namespace dev", ["--namespace"], ["dev"]),
        ("k get --namespace=dev", ["--namespace"], ["dev"]),
        ("k get -n dev -n prod", ["-n"], ["dev", "prod"]),
        ("k get --namespace=", ["--namespace"], [""]),
        ("k get -n ''", ["-n"], [""]),
        ("k get --namespace=a=b", ["--namespace"], ["a=b"]),
        ("k get -n 'a b'", ["-n"], ["a b"]),
        # glued, shortened, in a cluster
        ("k get -ndev", ["-ndev"], ["dev"]),
        ("k get -n=dev", ["-n"], [UNREADABLE]),
        ("k get --name dev", ["--name"], [UNREADABLE]),
        ("k get --name=dev", ["--name"], [UNREADABLE]),
        ("k get --n dev", ["--n"], [UNREADABLE]),
        ("k get -vn dev", ["-vn"], [UNREADABLE]),
        ("k get -vnprod", ["-vnprod"], [UNREADABLE]),
        ("k get -namespace dev", ["-namespace"], [UNREADABLE]),
        # other options
        ("k get --names dev", ["--names"], [UNREADABLE]),
        ("k get --namespaces dev", ["--namespaces"], [MISSING]),
        ("k get --no-namespace dev", ["--no-namespace"], [MISSING]),
        ("k get -A", ["-A"], [MISSING]),
        ("k get -v=n", ["-v"], [MISSING]),
        ("k get -N dev --NAMESPACE=dev", ["-N", "--NAMESPACE"], [MISSING]),
        # what may be the value of another option, or no option
        ("k get --message -n dev", ["--message", P("-n")], [P("dev"), GONE]),
        ("k get --message=x -n dev", ["--message", "-n"], ["dev"]),
        ("k get -- -n dev", [P("-n")], [P("dev"), GONE]),
        ("k -n dev get -- --namespace=prod", ["-n", P("--namespace")], ["dev", P("prod")]),
        ("k get -m -- -n dev", ["-m", P("-n")], [P("dev"), GONE]),
        ("k get - -n dev", [P("-"), "-n"], ["dev"]),
        ("k get -o wide -n dev", ["-o", "-n"], ["dev"]),
        ("k get -ojson -x", ["-ojson", P("-x")], [UNREADABLE]),
        # no value, or one that begins with `-`
        ("k get -n", ["-n"], [UNREADABLE]),
        ("k get -n -A", ["-n", P("-A")], [UNREADABLE]),
        ("k get -n -- prod", ["-n"], [UNREADABLE]),
        ("k get -n -5", ["-n", P("-5")], ["-5"]),
        ("k get -n -", ["-n", P("-")], ["-"]),
        # what is not known
        ("k get $x", [UNREADABLE], [UNREADABLE]),
        ("k get $x -n dev", [UNREADABLE, P("-n")], [UNREADABLE, P("dev")]),
        ('k -n dev get "$x"', ["-n", UNREADABLE], ["dev", UNREADABLE]),
        ('k get "pods$x" -n dev', ["-n"], ["dev"]),
        ('k get -n "$x"', ["-n", UNREADABLE], [UNREADABLE]),
        ('k get -n"$x"', [UNREADABLE], [UNREADABLE]),
        ('k get --namespace="$x"', ["--namespace"], [UNREADABLE]),
        ('k get --message="$x"', ["--message"], [MISSING]),
        ('k get --message"$x"', [UNREADABLE], [MISSING]),
        ('k get --na"$x"', [UNREADABLE], [UNREADABLE]),
        ('k get -v"$x"', [UNREADABLE], [UNREADABLE]),
        ('k get -"$x" -n dev', [UNREADABLE, P("-n")], [UNREADABLE, P("dev")]),
        ("k get *", [UNREADABLE], [UNREADABLE]),
        ("k get a/*.py -n dev", ["-n"], ["dev"]),
        ("k get ~/x -n dev", ["-n"], ["dev"]),
        ("HOME=-n k get ~ dev", [UNREADABLE], [UNREADABLE]),
        ("k get {a,-A}", [UNREADABLE], [UNREADABLE]),
        ("k get -n ~/x", ["-n"], [UNREADABLE]),
        # several commands
        ("ls -a; k -n dev get", ["-a", "-n"], ["dev"]),
        ("ls; k get", [], [MISSING]),
        ("env -i k -n dev get", ["-i", "-n"], ["dev"]),
        ("env k --namespace=dev get", ["--namespace"], ["dev"]),
        ("xargs k get", [UNREADABLE], [UNREADABLE]),
        ("sh -c 'k get -n dev'", ["-c", "-n"], ["dev"]),
        ("sh x.sh", [UNREADABLE], [UNREADABLE]),
        ("k get | $x", [UNREADABLE], [UNREADABLE]),
        # what is no command
        ("", UNREADABLE, UNREADABLE),
        ("k 'open", UNREADABLE, UNREADABLE),
        (5, UNREADABLE, UNREADABLE),
        ({"a": 1}, UNREADABLE, UNREADABLE),
        ("f() { ls; }", UNREADABLE, UNREADABLE),
    ],
)
def test_what_the_facets_read(command: Any, names: Any, values: Any) -> None:
    """The names of the options, and the values of `-n --namespace`."""
    assert read("option", command) == names
    assert read('option "-n --namespace"', command) == values


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("kubectl -n dev get pods", True),
        ("kubectl get pods -o wide -n dev", True),
        ("kubectl -n dev get pods -- -n dev", True),
        ("kubectl get pods -n dev -- -n dev", True),
        ("kubectl get pods -n dev -n prod", False),
        ("kubectl get pods -nprod", False),
        ("kubectl get pods --namespace=prod", False),
        ("kubectl get pods -n dev --names prod", False),
        ("kubectl get pods -n dev -A", False),
        ("kubectl get pods -n dev --context prod", False),
        ("kubectl get pods", False),
        ("kubectl get pods,secrets -n dev", False),
        ("kubectl get pods -n dev $x", False),
        ("kubectl get pods -- -n dev", False),
        ("kubectl get pods -n dev; kubectl delete pods -n dev", False),
    ],
)
def test_the_rule_of_the_contract(command: str, given: bool) -> None:
    """What it allows, and what it does not."""
    assert (answer(LOOK, command) is True) is given


# ---------------------------------------------------------------- in a rule


@pytest.mark.parametrize(
    ("condition", "command", "expected"),
    [
        # the table of the contract, row by row
        ('any option of args.command in ["-n", "--namespace"]', "k -n dev", True),
        ('any option of args.command in ["-n", "--namespace"]', "k --namespace dev", True),
        ('any option of args.command in ["-n", "--namespace"]', "k --namespace=dev", True),
        ('any option of args.command in ["-n", "--namespace"]', "k -ndev", None),
        ('any option of args.command in ["-n", "--namespace"]', "k --name dev", None),
        ('any option of args.command in ["-n", "--namespace"]', "k -vn dev", None),
        ('any option of args.command in ["-n", "--namespace"]', "k $x", None),
        ('any option of args.command in ["-n", "--namespace"]', "k -A --other", False),
        ('every option of args.command in ["-n", "--namespace"]', "k -n dev --namespace=x", True),
        ('every option of args.command in ["-n", "--namespace"]', "k", True),
        ('every option of args.command in ["-n", "--namespace"]', "k -- -n dev", True),
        ('every option of args.command in ["-n", "--namespace"]', "k -n -n", True),
        ('every option of args.command in ["-n", "--namespace"]', "k -- -A", None),
        ('every option of args.command in ["-n", "--namespace"]', "k -A", False),
        ('any option of args.command == "-n"', "k -- -n dev", None),
        ('any option of args.command == "-n"', "k --message -n dev", None),
        ('no option of args.command == "-A"', "k -nvAx", None),
        ('no option of args.command == "-A"', "k -nvx", True),
        ('any option of args.command == "-N" ignoring case', "k -n dev", True),
        ('any option of args.command == "--NAME" ignoring case', "k --na", None),
        # presence
        ("option of args.command missing", "k a b", True),
        ("option of args.command missing", "k -", None),
        ("option of args.command missing", "k -- -x", None),
        ("option of args.command given", "k -x", True),
        ('option "-A" of args.command missing', "k get", True),
        ('option "-A" of args.command missing', "k get -A", None),
        ('option "-A" of args.command missing', "k get -A pods", False),
        ('option "-A" of args.command missing', "k get -- -A pods", None),
        ('option "-A" of args.command missing', "k get *", None),
        ('option "-A" of args.command missing', "k get -vAx", None),
        # values
        ('every option "-n" of args.command == "dev"', "k -n dev", True),
        ('every option "-n" of args.command == "dev"', "k", False),
        ('every option "-n" of args.command != "dev"', "k", None),
        ('every option "-n" of args.command == "dev"', "k -- -n dev", None),
        ('every option "-n" of args.command == "dev"', "k -n dev -- -n dev", True),
        ('every option "-n" of args.command == "dev"', "k -n dev -- -n prod", None),
        ('any option "-n" of args.command == "dev"', "k -n prod -- -n dev", None),
        ('any option "-n" of args.command == "dev"', "k -n prod -n dev", True),
        ('any option "-n" of args.command == "dev"', "k -n prod -- -n prod", False),
        ('no option "-n" of args.command == "prod"', "k -n dev -- -n prod", None),
        ('any option "-n" of args.command like "d*"', "k -ndev", True),
        ('any option "-n" of args.command has (it == "dev")', "k -- -n dev", None),
        ('every option "-n" of args.command has (it == "dev")', "k -n dev -- -n dev", True),
        ('every option "-n" of args.command has (it == "dev")', "k -n dev -- -n prod", None),
        ('any number of option "-n" of args.command <= 5', "k -n 7 -n 3", True),
        ('any number of option "-n" of args.command <= 5', "k -n 7 -- -n 3", None),
        ('every number of option "-n" of args.command <= 5', "k", False),
        # a command in a block, whole
        ('every command of args.command has (every option of it in ["-n"])', "k -n a -n b; ls", True),
        ('every command of args.command has (every option of it in ["-n"])', "k -n a; ls -A", False),
        ('every command of args.command has (every option "-n" of it == "a")', "k -n a; ls", False),
        ('any option "-n" of command of args.command == "a"', "k -n a; ls", True),
        ('any command of args.command has (any it == "-n" and any option of it == "-n")', "k -n a", True),
        ('any command of args.command has (any it has (any option of it == "-n"))', "k -n a", False),
        # the text of a command that no shell takes, and other values
        ('any option of args.command == "-n"', ["k -n a", "ls"], True),
        ('every option of args.command == "-n"', ["k -n a", "ls -A"], False),
        ('any option of args.command == "-n"', 5, None),
        ('any option of args.command == "-n"', [], False),
        ('any option of args.none == "-n"', "k -n", False),
        # on the right
        ('args.command in option "-n" of args.command', "k -n x", False),
        ('args.command in option "-n" of args.command', "k -n 'k -n x'", False),
    ],
)
def test_options_in_a_rule(condition: str, command: Any, expected: Tri) -> None:
    """The contract's table, presence, quantifiers, blocks and chains: `decide` and `explain` agree."""
    assert answer(condition, command) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("k -o out/x", True),
        ("k -oout/x", True),
        ("k --out=out/x", True),
        ("k -o ../x", False),
        ("k -o /proj/out/x", True),
        ("cd out && k -o x", True),
        ("cd / && k -o out/x", False),
        ("cd out; k -o x", None),
        ('cd "$d" && k -o out/x', None),
        ("k -o '~/x'", None),
        ("k -o out/x -- -o ../x", None),
    ],
)
def test_a_value_is_a_path_from_where_the_command_stands(command: str, expected: Tri) -> None:
    """In a chain and in a block; a plain test sees the text."""
    around = 'workdir "/proj"\n'
    chain = 'every path of option "-o --out" of args.command under "/proj/out"'
    block = 'every option "-o --out" of args.command has (path of it under "/proj/out")'
    assert answer(chain, command, around) is answer(block, command, around) is expected
    inside = (
        'any command of args.command has (it like "k *" and every path of option "-o --out" of it under "/proj/out")'
    )
    assert answer(inside, command, around) is expected
    assert answer('any option "-o --out" of args.command ends with "x"', command, around) is True


def test_equal_operands_share_their_values_and_keep_directories_apart() -> None:
    """A test and a block of one operand read it once each: the block alone sees directories."""
    around = 'workdir "/proj"\n'
    text, place = (
        'every option "-o" of args.command == "x"',
        'option "-o" of args.command has (path of it under "/proj/out")',
    )
    assert answer(f"{text} and every {place}", "cd out && k -o x", around) is True
    assert answer(f"every {place} and {text}", "cd out && k -o x", around) is True
    other = 'every option "-o" of args.command == "x" and every option "-p" of args.command == "y"'
    assert answer(other, "k -o x -p y") is True
    assert answer(other, "k -o y -p x") is False


def test_a_known_set_of_values() -> None:
    """Values of an option may be known, and make known."""
    known = 'known asked = ["dev", "test"]\nknown ran = result of tool "list" at option "-n" of [].line\n'
    assert answer('every option "-n" of args.command in asked', "k -n dev", known) is True
    assert answer('every option "-n" of args.command in asked', "k -n prod", known) is False
    assert answer('every option "-n" of args.command in asked', "k -n dev -- -n prod", known) is None
    # A name may be short for another one.
    assert answer("any option of args.command in asked", "k -n dev", known) is None


def test_reading_takes_time_in_proportion() -> None:
    """A text of the greatest size, and an option with many names."""
    text = "k " + "-n dev --na=x " * 4_000
    names = " ".join(f"--name{n}" for n in range(50))
    assert len(read("option", text)) == 2
    assert read(f'option "-n {names}"', text) == ["dev", UNREADABLE]
