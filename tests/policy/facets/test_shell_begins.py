"""A command begins in the `cwd` beside it in the same object, if there is one, else in `workdir`."""

import json
import random
from functools import cache
from typing import Any

import pytest

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets.path import facets
from rebuno.policy.facets.path.begins import MAX_LETTERS, MAX_NAMES, beginning, resolved_places
from rebuno.policy.facets.path.placed import START
from rebuno.policy.facets.reading import PathContext, UncertainReading
from rebuno.policy.facets.shell.command import Command
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri
from tests.policy.bundles import policy_of
from tests.policy.facets.shell_asking import AROUND, COMMAND, REDIRECT
from tests.policy.facets.shell_wandering import text_of, wandering

HOMES = 'workdir "/proj"\nhome "/home/bot"\n'
WRITES = 'every redirect of args.command under "/proj"'
READS = 'every command of args.command has (path of it[1] under "/proj")'
TEXT = "cat x > y"


@cache
def _policy(expression: str, prologue: str) -> Policy:
    text = f"{prologue}rule sure {{ allow any step when {expression} }}\n"
    return policy_of(f"{text}rule perhaps {{ deny any step when {expression} }}\n")


def asked(args: Any, expression: str, prologue: str = HOMES, history: History | None = None) -> Tri:
    """What the condition comes to; `explain` must say the same."""
    policy, facts = _policy(expression, prologue), Facts("tool_call", "shell", args, history=history)
    rule = policy.decide(facts).rule_id
    told = explain_decision(policy, facts)
    assert told.decision.rule_id == rule
    json.dumps([str(one) for one in told.rules])
    return {"sure": True, "perhaps": None}.get(rule, False)


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        (MISSING, True), (None, True), ("/proj/src", True), ("src", True), (".", True), ("./~bot", True),
        ("a/..", True),
        ("/proj", True), ("..", False), ("/etc", False), ("/", False), ("src/../..", False), ("/proj-old", False),
        ("../proj", True), (7, None), (True, None), (["src"], None), ([], None), ({}, None), ("", None), (" src", None),
        ("~", None), ("~/x", None), ("~ann", None), ("C:/x", None), ("file:///proj", None), ("a\\b", None),
        ("a\nb", None), ("\0", None), ("\ud800", None), ("a" * (MAX_LETTERS + 1), None), ("a/" * (MAX_NAMES + 1), None),
    ],
)  # fmt: skip
def test_where_a_command_begins(cwd: Any, expected: Tri) -> None:
    """A relative directory leads on from `workdir`, an absolute one is as written; any other value is not known."""
    args = {"command": TEXT} if cwd is MISSING else {"command": TEXT, "cwd": cwd}
    assert asked(args, WRITES) is expected
    assert asked(args, READS) is expected


@pytest.mark.parametrize(
    ("command", "cwd", "written", "read"),
    [
        ("cd src && cat x > y", "/etc", False, False), ("cd /proj/src && cat x > y", "/etc", True, True),
        ("cd /proj/src && cat x > y", 7, True, True), ("cd src && cat x > y", 7, None, None),
        ("cat /proj/x > /proj/y", 7, True, True), ("cat ~/x > ~/y", "/proj", False, None),
        ("cd; cat x > y", "/proj", None, None), ("cd .. && cat x > y", "src", True, True),
        ("cd ../.. && cat x > y", "src", False, False), ("(cd /); cat x > y", "src", True, True),
    ],
)  # fmt: skip
def test_what_the_text_changes(command: str, cwd: Any, written: Tri, read: Tri) -> None:
    """A change of directory in the text leads on from where it begins."""
    args = {"command": command, "cwd": cwd}
    assert asked(args, WRITES) is written
    words = 'every command of args.command has (it like ["cd", "cd *"] or path of it[1] under "/proj")'
    assert asked(args, words) is read


@pytest.mark.parametrize(
    ("cwd", "expression", "expected"),
    [
        ("/proj", WRITES, True), ("/etc", WRITES, False), ("src", WRITES, None),
        ("src", 'every redirect of args.command under "src"', True),
        ("src", 'every redirect of args.command under "."', True),
        ("..", 'every redirect of args.command under "src"', None),
    ],
)  # fmt: skip
def test_without_a_workdir(cwd: str, expression: str, expected: Tri) -> None:
    """A relative directory then begins at a place that is not known, as relative paths do."""
    assert asked({"command": TEXT, "cwd": cwd}, expression, "") is expected


_WORDS = 'any command of args.command has (any it has (any redirect of it under "/proj"))'
_CALLS = [{"command": TEXT, "cwd": "src"}, {"command": TEXT}]
_LIST = {"commands": [TEXT], "cwd": "/"}
_OUTSIDE = [{"command": TEXT, "cwd": "src"}, {"command": TEXT, "cwd": "/"}]


@pytest.mark.parametrize(
    ("args", "expression", "expected"),
    [
        ({"calls": _CALLS}, 'every redirect of args.calls[].command under "/proj"', True),
        ({"calls": _OUTSIDE}, 'every redirect of args.calls[].command under "/proj"', False),
        ({"calls": _OUTSIDE}, 'every redirect of args.calls[0].command under "/proj"', True),
        ({"calls": _OUTSIDE}, 'every redirect of args.calls[1].command under "/proj"', False),
        ({"calls": _CALLS, "cwd": "/"}, 'every redirect of args.calls[].command under "/proj"', True),
        ({"calls": _CALLS}, 'every args.calls has (every redirect of it.command under "/proj")', True),
        ({"calls": _OUTSIDE}, 'every args.calls has (every redirect of it.command under "/proj")', False),
        ({"calls": _OUTSIDE}, 'every args.calls[].command has (every redirect of it under "/proj")', False),
        ({"calls": _CALLS}, 'every args.calls[].command has (every redirect of it under "/proj")', True),
        ({"calls": {"a": _CALLS[0], "b": _OUTSIDE[1]}}, 'every redirect of args.calls.*.command under "/proj"', False),
        ({"calls": {"a": _CALLS[0], "b": _CALLS[1]}}, 'every redirect of args.calls.*.command under "/proj"', True),
        ({"calls": {"a": TEXT, "cwd": "/"}}, 'any redirect of args.calls.* under "/proj"', False),
        (_LIST, 'every redirect of args.commands under "/proj"', False),
        ({"commands": [TEXT], "cwd": "src"}, 'every redirect of args.commands[] under "/proj"', True),
        ({"commands": ["bash", TEXT], "cwd": "/"}, 'every redirect of args.commands[1] under "/proj"', False),
        (_LIST, 'every args.commands has (every redirect of it under "/proj")', False),
        ({"commands": [TEXT], "cwd": "src"}, 'every args.commands has (every redirect of it under "/proj")', True),
        (_LIST, 'every args.commands has (any it has (every redirect of it under "/proj"))', False),
        ({"commands": [[TEXT]], "cwd": "/"}, 'every args.commands has (every redirect of it[0] under "/proj")', False),
        (_LIST, 'every args.commands has (every command of it has (path of it[1] under "/proj"))', False),
        (_LIST, 'every args.commands has (it given and not (any redirect of it under "/proj"))', True),
        ({"commands": [{"c": TEXT}], "cwd": "/"},
         'every args.commands has (every redirect of it.c under "/proj")', True),
        ({"command": TEXT, "cwd": "/"}, 'every redirect of text of args.command under "/proj"', False),
        ({"command": TEXT, "cwd": "/"}, 'every text of args.command has (every redirect of it under "/proj")', False),
        ({"command": TEXT}, 'every text of args.command has (every redirect of it under "/proj")', True),
        ({"command": TEXT}, 'every text of args has (every redirect of it under "/proj")', None),
        ({"command": TEXT, "cwd": "/"}, 'every redirect of text of args under "/proj"', None),
        ({"a": TEXT, "b": _CALLS[0]}, 'every redirect of (args.a, args.b.command) under "/proj"', True),
        ({"a": TEXT, "b": _OUTSIDE[1]}, 'every redirect of (args.a, args.b.command) under "/proj"', False),
        ({"b": _OUTSIDE[1]}, 'every redirect of (args.a, args.b.command) under "/proj"', False),
        ({"command": TEXT, "cwd": "src", "file": "src/y"}, "any redirect of args.command == path of args.file", True),
        ({"command": TEXT, "cwd": "src", "file": "/proj/src/y"}, "path of args.file in redirect of args.command", True),
        ({"command": TEXT, "cwd": "src", "file": "/proj/y"}, "path of args.file in redirect of args.command", False),
        (TEXT, 'every redirect of args under "/proj"', True),
        ({"command": "run 'a > y'", "cwd": "/proj"}, _WORDS, None),
        ({"command": "run 'a > /proj/y'", "cwd": "/etc"}, _WORDS, True),
        ({"command": "run 'a > y'"}, 'any command of args.command has (any redirect of it[1] under "/proj")', None),
    ],
)  # fmt: skip
def test_the_object_around_it(args: Any, expression: str, expected: Tri) -> None:
    """The `cwd` counts that stands in the same object as the text, or as the list that the text is an element of."""
    assert asked(args, expression) is expected


def _earlier(*steps: Evidence) -> History:
    return History(steps)


def test_in_earlier_steps() -> None:
    """A `where` and a `known` set read the commands of an earlier step from its own `cwd`."""
    out = {"command": TEXT, "cwd": "/etc"}
    history = _earlier(Evidence(1, "tool_call", "shell", out, {"command": TEXT, "cwd": "/etc"}))
    inside = 'after tool "shell" where (every redirect of args.command under "/proj")'
    outside = 'after tool "shell" where (every redirect of args.command under "/etc")'
    assert asked({}, inside, history=history) is False
    assert asked({}, outside, history=history) is True
    same = 'after tool "shell" where (every redirect of args.command in redirect of this.args.command)'
    assert asked({"command": "echo > /etc/y"}, same, history=history) is True
    assert asked({"command": "echo > y", "cwd": "/etc"}, same, history=history) is True
    assert asked({"command": "echo > y"}, same, history=history) is False
    read = 'known out = result of tool "shell" at redirect of command\n'
    assert asked({"c": "echo > /etc/y"}, "every redirect of args.c in out", HOMES + read) is False
    assert asked({"c": "echo > /etc/y"}, "every redirect of args.c in out", HOMES + read, history) is True
    assert asked({"c": "echo > /proj/y"}, "every redirect of args.c in out", HOMES + read, history) is False
    approved = 'known out = approved tool "shell" at redirect of command\n'
    granted = _earlier(Evidence(1, "tool_call", "shell", out, approved=True))
    assert asked({"c": "echo > /etc/y"}, "every redirect of args.c in out", HOMES + approved, granted) is True
    assert asked({"c": "echo > /proj/y"}, "every redirect of args.c in out", HOMES + approved, granted) is False


def test_a_value_that_no_facet_of_its_source_has_read() -> None:
    """Where the commands begin in a text that a set holds, nothing tells; so no relative path of it is in the set."""
    told = 'known out = result of tool "shell" at command\n'
    history = _earlier(Evidence(1, "tool_call", "shell", {}, {"command": "cat > y > /proj/z", "cwd": "/etc"}))
    assert asked({"c": "echo > /proj/z"}, "every redirect of args.c in out", HOMES + told, history) is True
    assert asked({"c": "echo > /proj/y"}, "every redirect of args.c in out", HOMES + told, history) is False


def _told(value: Any) -> Any:
    read = facets.read(value, AROUND)
    if type(read) is UncertainReading:
        return sorted(map(str, read.readings))
    return "unreadable" if read is UNREADABLE else str(read)


def _everything(text: str, context: PathContext) -> Any:
    commands, targets = COMMAND.read(text, context), REDIRECT.read(text, context)
    if commands is UNREADABLE:
        return None
    words: list[Any] = []
    for one in commands:
        # The words of a command are read in the context of the rule, which is that of no text.
        own = PathContext(context.workdir, context.home)
        for word in one.elements() if isinstance(one, Command) else []:
            read = facets.read(word, own)
            words.append(sorted(map(str, read.readings)) if type(read) is UncertainReading else str(read))
    return words, [str(one.json()) if not isinstance(one, str) else one for one in targets]


@pytest.mark.parametrize("seed", range(12))
def test_a_cwd_is_a_workdir_of_its_own(seed: int) -> None:
    """For every text: what is read with a `cwd` beside it is what is read with that directory as the `workdir`."""
    drawn = random.Random(seed)
    for _ in range(40):
        text = text_of(wandering(drawn), "/other") if seed else drawn.choice(["cat x", "cd a; cat x > y"])
        for cwd, workdir in (("/", "/"), ("/etc/x", "/etc/x"), ("src", "/proj/src"), ("../a", "/a"), (".", "/proj")):
            found = _everything(text, beginning(cwd, AROUND))
            own = _everything(text, PathContext(workdir, AROUND.home))
            assert _sorted(found) == _sorted(own), (text, cwd)


def _sorted(found: Any) -> Any:
    return None if found is None else (found[0], [sorted(one.split(" or ")) for one in found[1]])


def test_without_a_cwd_nothing_changes() -> None:
    """The context is the same object, and the places are those of the text."""
    assert beginning(MISSING, AROUND) is AROUND
    assert beginning(None, AROUND) is AROUND
    assert beginning("/proj/src/..", AROUND) is AROUND
    assert resolved_places(START, AROUND) is START
    assert resolved_places(("..",), beginning("src", PathContext())) is START
    assert resolved_places(("~/x", "/a"), beginning(7, AROUND)) == ("~/x", "/a")
    assert resolved_places(("~/x", "a"), beginning(7, AROUND)) is None


def test_a_name_that_begins_with_a_tilde_is_no_home() -> None:
    """`cd ./~x` leads to a directory of that name."""
    within = 'every command of args.command has (it like "cd *" or path of it[1] under "/proj")'
    assert asked({"command": "cd ./~x && cat a"}, within) is True
    assert asked({"command": "cat a", "cwd": "./~x"}, within, "") is None
    assert asked({"command": "cat a", "cwd": "./~x"}, within.replace('"/proj"', '"."'), 'home "/h"\n') is True


def test_explain_tells_where_it_begins() -> None:
    """The trace shows the directory beside the command."""
    policy = _policy(READS, HOMES)
    told = explain_decision(policy, Facts("tool_call", "shell", {"command": TEXT, "cwd": "/etc"}))
    assert any("in /etc" in str(one) for one in told.rules)
