"""Where something of a command is unread, its sets hold what is known and perhaps more: no allow rule passes on it."""

import pytest

from rebuno.policy import Facts, compile_text, explain_decision

COMMANDS = ["cat $x", "cat a", "cat a $x", "true", "cat /etc/p $x"]


def answer(test: str, command: str) -> str:
    """What a test answers: an allow rule matches on yes alone, a deny rule on yes and maybe."""
    fired = []
    for verdict, other in (("allow", "deny"), ("deny", "allow")):
        policy = compile_text(f'default {other}\nworkdir "/proj"\nrule r {{ {verdict} tool "t" when {test} }}\n')
        facts = Facts("tool_call", "t", {"c": command})
        fired.append(policy.decide(facts).rule_id == "r")
        told = explain_decision(policy, facts).rules[0].answer
    found = {(True, True): "yes", (False, True): "maybe", (False, False): "no"}[fired[0], fired[1]]
    assert told is not None
    assert told.value == found
    return found


@pytest.mark.parametrize(
    ("test", "answers"),
    [
        ("read_path of args.c given", "maybe yes yes no yes"),
        ("read_path of args.c missing", "maybe no no yes no"),
        ('any read_path of args.c == "a"', "maybe yes yes no maybe"),
        ('any read_path of args.c == "b"', "maybe no maybe no maybe"),
        ('every read_path of args.c under "."', "maybe yes maybe yes no"),
        ('no read_path of args.c under "/etc"', "maybe yes maybe yes no"),
        ("any read_path of args.c has (it given)", "maybe yes yes no yes"),
        ("any command of args.c has (read_path of it given)", "maybe yes yes no yes"),
        ("every command of args.c has (read_path of it missing)", "maybe no no yes no"),
        ('every name of read_path of args.c == "a"', "maybe yes maybe yes no"),
        ("unread of args.c missing", "no yes no yes no"),
        ('every unread of args.c == "$x"', "yes yes yes yes yes"),
    ],
)
def test_what_is_unread_is_perhaps_an_effect(test: str, answers: str) -> None:
    """Of each kind, and perhaps none: not even `given` is sure of it."""
    assert [answer(test, command) for command in COMMANDS] == answers.split()


@pytest.mark.parametrize("command", ["source a && cat b", "$x a", 'cat "', "cat $x; source a"])
def test_what_hides_its_program_has_an_unread_part_for_sure(command: str) -> None:
    """So a deny rule that asks for `unread of it missing` leaves it to the rules that ask a person."""
    reads = 'any read_path of it in ["/etc/p"]'
    assert answer("any command of args.c has (unread of it given)", command) == "yes"
    assert answer("every command of args.c has (unread of it missing)", command) == "no"
    assert answer(f"any command of args.c has (unread of it missing and {reads})", command) == "no"
    assert answer(f"any command of args.c has ({reads})", command) == "maybe"
