"""What a shell text hides from the commands in it: variables, scripts, targets of copies, and names in doubt."""

import pytest

from rebuno.policy.facets.path import facets as paths
from rebuno.policy.facets.reading import PathContext, UncertainReading
from rebuno.policy.facets.shell.command import Command
from rebuno.policy.facets.shell.effects.facets import effects_of
from rebuno.policy.facets.shell.effects.found import EffectKind
from rebuno.policy.facets.shell.effects.readings import FolderReading
from rebuno.policy.facets.shell.facets import commands_in
from rebuno.policy.facets.shell.script import read_shell
from rebuno.policy.syntax.tree import Op

CONTEXT = PathContext("/proj", "/home/dev")


def unread_of_each(text: str) -> list[tuple[str, ...]]:
    """What is unread of each command of a text, as a block over `command of` sees it."""
    commands = [one for one in commands_in(text) or () if type(one) is Command]
    found = [effects_of(one, CONTEXT) for one in commands]
    return [one.unread for one in found if one is not None]


@pytest.mark.parametrize(
    "text",
    [
        "export PYTHONPATH=/tmp/evil; cat a",
        "PYTHONPATH=/tmp/evil; cat a",
        "cat a; PYTHONPATH=/tmp/evil",
        "export foo; cat a",
        "set -a; foo=1; cat a",
        "set -euao pipefail; foo=1; cat a",
        "typeset -x foo=1; cat a",
        "read PYTHONPATH < a; cat a",
        "printf -v PYTHONPATH /tmp; cat a",
        "mapfile PYTHONPATH < a; cat a",
        "unset PYTHONPATH; cat a",
        "for PYTHONPATH in a b; do cat a; done",
        "while getopts a PYTHONPATH; do cat a; done",
        "cat ${PYTHONPATH:=/tmp} a",
        "(export PYTHONPATH=/tmp; cat a)",
        "bash -c 'export PYTHONPATH=/tmp; cat a'",
        "npm_config_registry=x; cat a",
        "HTTPS_PROXY=x; cat a",
        "fpath=x; cat a",
    ],
)
def test_a_variable_that_is_set_elsewhere_is_unread_in_each_command_that_it_may_change(text: str) -> None:
    """The command itself is not sure, and not the text alone."""
    cat = [one for one in commands_in(text) or () if type(one) is Command and one.words[0].start == "cat"]
    assert cat
    for one in cat:
        found = effects_of(one, CONTEXT)
        assert found is not None
        assert any(part.endswith("=") for part in found.unread)


@pytest.mark.parametrize(
    "text",
    [
        "x=1; cat a",
        "for f in a b; do cat a; done",
        "export LANG=C; cat a",
        "read -r line < a; cat a",
        "N=3; cat a",
        "set -euo pipefail; cat a",
        "set -e; cat a",
        "declare foo=1; cat a",
        "CI=1 cat a; cat b",
    ],
)
def test_a_variable_of_the_text_alone_changes_no_command(text: str) -> None:
    """All of it is sure."""
    assert not any(unread_of_each(text))


@pytest.mark.parametrize("text", ["bash scripts/x.sh", "sh -e ./x a b", "bash ~/x.sh", "zsh x.zsh"])
def test_a_script_hides_commands_and_tells_which_file_runs(text: str) -> None:
    """It stays hidden for `command of`."""
    shell = read_shell(text)
    assert shell is not None
    assert shell.hidden
    found = effects_of(text, CONTEXT)
    assert found is not None
    assert not found.unread
    assert [effect.kind for _, effect in found.values] == [EffectKind.EXECUTED]


@pytest.mark.parametrize(
    "text", ["bash", "bash -s x", "bash -", "bash < x", "bash <(x)", "bash /dev/fd/3", "sh $x", "bash --rcfile x -i y"]
)
def test_what_is_no_script_of_a_shell_is_unread(text: str) -> None:
    """It reads what is not written there."""
    found = effects_of(text, CONTEXT)
    assert found is None or found.unread


@pytest.mark.parametrize(
    ("name", "answer"), [("app.py", False), ("README.md", False), ("src", None), (".py", None), ("a.d", None)]
)
def test_nothing_lies_below_what_is_named_as_a_source_file(name: str, answer: bool | None) -> None:
    """To a pattern; a folder of another name may hold anything."""
    folder = paths.read(f"/proj/{name}", CONTEXT)
    assert not isinstance(folder, UncertainReading)
    assert FolderReading(folder).text_test(Op.LIKE, paths.pattern("**/.env", CONTEXT), False) is answer


def test_a_process_substitution_is_no_file() -> None:
    """It is what another command writes, and its effects are that command's."""
    found = effects_of("diff <(cat a) <(cat b)", CONTEXT)
    assert found is not None
    assert not found.unread
    assert {str(value) for value, _ in found.values} == {"/proj/a", "/proj/b"}
