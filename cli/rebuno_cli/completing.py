"""Completion of commands and options in a shell."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rebuno.errors import ValidationError

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

VARIABLE: Final = "_REBUNO_COMPLETE"
_PROGRAM: Final = "rebuno"
_SHELLS: Final = ("bash", "zsh", "fish")


def install(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Writes the script of a shell to where it is read, once."""
    if value is None or ctx.resilient_parsing:
        return
    from rebuno_cli import files
    from rebuno_cli.render import output

    shell = _shell(value)
    home = Path.home()
    if shell == "fish":
        place = home / ".config" / "fish" / "completions" / f"{_PROGRAM}.fish"
        place.parent.mkdir(parents=True, exist_ok=True)
        files.replace(place, _script(shell))
    else:
        place = home / f".{_PROGRAM}-complete.{shell}"
        files.replace(place, _script(shell))
        start = home / (".zshrc" if shell == "zsh" else ".bashrc")
        line = f". ~/{place.name}"
        before = start.read_text(encoding="utf-8") if start.exists() else ""
        if line not in before.splitlines():
            files.replace(start, f"{before}{'' if before.endswith(chr(10)) or not before else chr(10)}{line}\n")
    output.write_text(f"{shell} completes `{_PROGRAM}` in each new shell: {place}")
    ctx.exit()


def show(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Prints the script of a shell."""
    if value is None or ctx.resilient_parsing:
        return
    from rebuno_cli.render import output

    output.write_text(_script(_shell(value)))
    ctx.exit()


def answer(app: click.Command, instruction: str) -> int:
    """What a shell asks for while words are completed. Returns the exit code."""
    from click.shell_completion import shell_complete

    return shell_complete(app, {}, _PROGRAM, VARIABLE, instruction)


def _shell(value: str) -> str:
    name = Path(os.environ.get("SHELL", "")).name if value == "auto" else value
    if name not in _SHELLS:
        raise ValidationError(f"no completion for the shell `{name[:40]}`; name one of {', '.join(_SHELLS)}")
    return name


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    kind: type[ShellComplete] | None = get_completion_class(shell)
    assert kind is not None
    made: Any = kind(click.Group(_PROGRAM), {}, _PROGRAM, VARIABLE)
    if shell != "bash":
        return str(made.source())
    # Its `source` starts bash to look at its version; the script itself needs no look.
    return re.sub(r"^\s*\n", "", str(made.source_template % made.source_vars()))
