"""How much is imported before a command has something to say: of that, not of seconds, a test can be sure."""

import os
import subprocess
import sys

import pytest

from rebuno_cli.tree import names

# What takes longer to import than `python -c pass` takes as a whole, and all that is ours and no command.
SLOW = ("asyncio", "lark", "apsw", "re2", "yaml", "tree_sitter", "ada_url", "sqlglot", "pydantic", "httpx2", "rich")
OURS = ("rebuno.policy", "rebuno.kernel", "rebuno.journal", "rebuno.embedded", "rebuno.sdk", "rebuno.types")


def loaded(*lines: tuple[str, ...]) -> set[str]:
    """The modules that a process has imported when it has run these command lines."""
    program = (
        "import sys; from rebuno_cli.main import main\n"
        f"for line in {lines!r}: main(line)\n"
        "print('modules', *sys.modules)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
    return set(ran.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("line", [("version",), ("--version",), ("version", "--json")], ids=" ".join)
def test_the_version_is_told_before_the_tree_of_commands_is_there(line: tuple[str, ...]) -> None:
    """Not even the library is imported that reads a command line."""
    assert loaded(line).isdisjoint({*SLOW, *OURS, "click", "typing", "pathlib", "rebuno.errors", "rebuno_cli.tree"})


def test_no_help_imports_the_work_of_its_command() -> None:
    """Anyone who asks how a command is written waits for none of the libraries that the command works with."""
    lines = [
        ("--help",),
        *{(name.split()[0], "--help") for name in names()},
        *((*n.split(), "--help") for n in names()),
    ]
    assert loaded(*lines).isdisjoint({*SLOW, *OURS})


def test_a_command_imports_its_own_module_and_no_other() -> None:
    """A new command makes the others no slower."""
    of_commands = ("policy", "executions", "approvals", "agents", "keys", "serve")
    found = {name for name in loaded(("exec", "sweep", "--help")) if name.startswith("rebuno_cli.")}
    assert {name for name in found if name.split(".")[1] in of_commands} == {
        "rebuno_cli.executions",
        "rebuno_cli.executions.sweep",
    }
