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
