"""Patterns of commands that fix an option and leave the rest open, as `rebuno policy check` tells of them."""

from typing import Final

import pytest

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source

DEV: Final = '"kubectl -n dev get *"'
CLOSED: Final = 'every option of it in ["-n"]'


def found(when: str, verdict: str = "allow", prologue: str = "") -> list[str]:
    """The findings about open tails, each with what it points at."""
    text = f'default deny because "x"\n{prologue}\nrule r {{ {verdict} tool "sh" when {when} because "x" }}\n'
    bundle, errors = parse_bundle(Source(text))
    assert errors == []
    return [text[one.span.start : one.span.end] for one in check_bundle(bundle) if one.code == "open-tail"]


@pytest.mark.parametrize(
    "pattern",
    [
        DEV,
        '["ls *", "kubectl --namespace=dev get *"]',
        '"git log --oneline *"',
        '"kubectl -n ?* get *"',
        '"git -c *"',
    ],
)
def test_an_option_with_an_open_tail_is_told_of(pattern: str) -> None:
    """Of a text, and of a command in a block; `# accept` takes it away as every warning."""
    assert found(f"every command of args.c like {pattern}") == [f"every command of args.c like {pattern}"]
    assert found(f"every command of args.c has (it like {pattern})") == [f"it like {pattern}"]
    assert found("c", prologue=f"condition c = every command of args.c like {pattern}") != []


@pytest.mark.parametrize(
    "pattern",
    [
        '"kubectl get *"',
        '"kubectl -n dev get pods"',
        '"kubectl -n dev get ?*"',
        '"git log --oneline -- *"',
        '"- *"',
        '"-n *"',
    ],
)
def test_patterns_without_one_are_quiet(pattern: str) -> None:
    """Without an option, without a tail, or with a `--` before it; the first word is the program."""
    assert found(f"every command of args.c like {pattern}") == []


@pytest.mark.parametrize(
    ("quiet", "beside"),
    [
        (True, CLOSED),
        (True, 'every option "-n" of it == "dev"'),
        (True, 'every option "-n" of it has (it == "dev")'),
        (True, 'every it in ["kubectl", "-n", "dev", "get", "pods"]'),
        (True, 'every it matches "[a-z-]+"'),
        (False, 'any it in ["kubectl"]'),
        (False, 'no it == "-A"'),
        (False, 'every it under "/proj"'),
        (False, 'every option of args.c in ["-n"] or it like "ls"'),
    ],
)
def test_what_is_beside_it_in_the_block_closes_the_options(quiet: bool, beside: str) -> None:
    """Tests of the options, and of every word."""
    assert (found(f"every command of args.c has (it like {DEV} and ({beside}))") == []) is quiet


def test_other_places_do_not_close_them() -> None:
    """Another block, and another branch."""
    assert found(f"every command of args.c has (it like {DEV}) and every command of args.c has ({CLOSED})")
    assert found(f"every command of args.c has (it like {DEV} or {CLOSED})")
    assert found(f'every command of args.c has ((it like {DEV} or it like "ls") and {CLOSED})') == []


def test_only_allow_rules_are_looked_at() -> None:
    """And in them only what has to hold."""
    like = f"every command of args.c like {DEV}"
    assert found(like, "deny") == found(like, "require approval for") == []
    assert found(f"not (any command of args.c like {DEV}) and args.x == 1") == []
    assert found("args.x == 1", prologue=f"condition unused = {like}") == []
