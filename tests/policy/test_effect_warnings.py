"""What `check` says of rules about effects: sets that may be empty, lists that are never complete, texts that are read
by facets."""

import pytest

from rebuno.policy import Source, check_bundle, parse_bundle, read_soft_roots
from rebuno.policy.analysis.tool_schemas import ToolSchema
from rebuno.policy.check.tools import check_tools

HEAD = 'bundle b\ndefault deny because "no"\nworkdir "/proj"\nhome "/home/dev"\n'
KEYS = 'let keys = ["**/.env"]\n'


def codes(text: str) -> list[str]:
    """The codes of all findings, those that are accepted marked."""
    bundle, found = parse_bundle(Source(text))
    assert found == []
    findings = check_bundle(read_soft_roots(bundle))
    return [f"accepted {one.code}" if one.accepted else str(one.code) for one in findings if one.code != "unused-name"]


def allowing(condition: str, *, above: str = "") -> str:
    """A bundle with one allow rule."""
    return f'{HEAD}{KEYS}{above}rule r {{\n  allow tool "shell"\n  when {condition}\n}}\n'


EMPTY = [
    'every written_path of args.command under "."',
    'every read_path of args.command under "." and every written_path of args.command under "."',
    'every command of args.command has (every written_path of it under ".")',
    'not any contacted_host of args.command == "a.example" and every contacted_host of args.command under "b.example"',
    '(unread of args.command missing or every read_path of args.command under ".")',
    'every command of args.command has (every executed of it in ["x"]) and args.note given',
    'every name of written_path of args.command == "out.txt"',
    'every program of args.command != "rm" and every written_path of args.command under "."',
]
CLOSED = [
    'every written_path of args.command under "." and unread of args.command missing',
    'every command of args.command has (unread of it missing and every written_path of it under ".")',
    'unread of args.command missing and every command of args.command has (every written_path of it under ".")',
    'every unread of args.command in ["--fast"] and every written_path of args.command under "."',
    'every command of args.command has (it like ["git diff *"] and every read_path of it under ".")',
    'every program of args.command in ["ls"] and every read_path of args.command under "."',
    'any executed of args.command == "x" and every executed of args.command in ["x", "y"]',
    "unread of args.command missing",
    'every program of args.command in ["ls"]',
    'every path of args.file under "."',
]


@pytest.mark.parametrize("condition", EMPTY)
def test_an_empty_set_passes(condition: str) -> None:
    """The rule lets a command through that has none of these effects."""
    assert codes(allowing(condition)).count("no-unread") == 1


@pytest.mark.parametrize("condition", CLOSED)
def test_no_warning_where_more_is_asked(condition: str) -> None:
    """What is unread, which commands they are, or that an effect is there."""
    assert "no-unread" not in codes(allowing(condition))


def test_only_an_allow_rule_is_warned_of() -> None:
    """A deny rule fires on maybe."""
    condition = 'every written_path of args.command under "."'
    text = allowing(condition)
    assert "no-unread" not in codes(text.replace("allow tool", "deny tool"))
    assert "no-unread" not in codes(text.replace("allow tool", "require approval for tool"))
    assert codes(allowing(condition.replace("every", "no"), above="").replace("when", "unless")).count("no-unread") == 0


def test_by_a_named_condition() -> None:
    """What it asks counts for the rule."""
    above = """\
condition read = unread of args.command missing
condition inside = every written_path of args.command under "."
"""
    assert codes(allowing("read and inside", above=above)) == []
    assert codes(allowing("inside", above=above)) == ["no-unread"]


def test_it_can_be_accepted() -> None:
    """By a comment above the rule; without the warning the comment is one too many."""
    accept = "# accept no-unread: another layer asks what is unread\n"
    condition = 'every written_path of args.command under "."'
    assert codes(allowing(condition, above=accept)) == ["accepted no-unread"]
    assert codes(allowing(f"{condition} and unread of args.command missing", above=accept)) == ["bad-accept"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (allowing("no read_path of args.command like keys and unread of args.command missing"), "deny-list"),
        (allowing('every executed of args.command != "rm" and unread of args.command missing'), "deny-list"),
        (allowing('every contacted_host of args.command ends with "a.example"'), "read-by-facet"),
        (allowing('any written_path of args.command under "out" and unread of args.command missing'), "any-in-allow"),
        (allowing('every read_path of args.command under "/" and unread of args.command missing'), "always-holds"),
        (allowing('args.command contains "git"'), "read-by-facet"),
        (
            'bundle b\ndefault deny\nrule r { deny tool "s" when any read_path of args.command under "x" because "n" }',
            "no-workdir",
        ),
        (
            'bundle b\ndefault allow\nrule r { deny tool "s" when any executed of args.command == "rm" because "n" }',
            "deny-list",
        ),
    ],
)
def test_the_other_warnings_know_effects(text: str, code: str) -> None:
    """As they know the other facets of commands."""
    assert code in codes(text)


def test_a_text_beside_an_effect_only_narrows() -> None:
    """As beside every facet."""
    condition = (
        'unread of args.command missing and every read_path of args.command under "." and args.command contains "x"'
    )
    assert codes(allowing(condition)) == []


@pytest.mark.parametrize("facet", ["read_path", "written_path", "removed_path", "contacted_host", "executed", "unread"])
def test_the_schema_of_a_tool(facet: str) -> None:
    """The facets read texts: of a number nothing can be read."""
    test = f"{facet} of args.command missing" if facet == "unread" else f'every {facet} of args.command == "x"'
    bundle, _ = parse_bundle(Source(allowing(f"{test} and {facet} of args.command given")))
    for kind, fits in (("integer", False), ("string", True)):
        schema = {"type": "object", "properties": {"command": {"type": kind}}, "required": ["command"]}
        found = check_tools(bundle, [ToolSchema("shell", schema)])
        assert ("never-fits" in [one.code for one in found]) is not fits
