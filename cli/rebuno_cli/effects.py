"""`rebuno effects`: shows what a command line is read as, and why. It runs nothing."""

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rebuno.errors import ValidationError
from rebuno_cli import files, options

if TYPE_CHECKING:
    from rebuno.policy import LineEffects


@click.command("effects")
@click.argument("line", required=False, metavar="[LINE]", help="The command line, one word; - reads standard input.")
@click.option("--programs", is_flag=True, help="List the programs that have a table, instead.")
@click.option("--workdir", metavar="DIR", help="The folder of the project; else the bundle's, else the current one.")
@click.option("--home", metavar="DIR", help="The home of the user; else the bundle's. Without one `~` is unread.")
@click.option("--cwd", metavar="DIR", help="Where the line begins, if not in the folder of the project.")
@click.option("--bundle", metavar="FILE", help="A bundle whose `workdir`, `home` and `effects` lines hold.")
@click.option("--flavour", type=click.Choice(["gnu", "bsd"]), help="Whose programs they are; else the bundle's.")
@options.as_json
def effects(
    line: str | None,
    programs: bool,
    workdir: str | None,
    home: str | None,
    cwd: str | None,
    bundle: str | None,
    flavour: str | None,
    as_json: bool,
) -> int:
    """Show what a command line reads, writes, removes, contacts and executes, and what gave each effect. Nothing is
    run.

    Exit code 0 when all of the line is read, 1 when something in it is unread, 2 when the line or the bundle cannot be
    read.
    """
    from rebuno_cli.render import effects as render
    from rebuno_cli.render.show import show

    if programs:
        from rebuno.policy import known_programs

        if line is not None:
            raise ValidationError("give a command line or `--programs`, not both")
        known = known_programs()
        show(as_json, lambda: {"programs": [one.to_json() for one in known]}, lambda: render.programs(known))
        return 0
    if line is None:
        raise ValidationError("there is no command line; give it as one word, in quotes, or `-` to read it")
    told = _told(files.standard_input() if line == "-" else line, workdir, home, cwd, bundle, flavour)
    show(as_json, told.to_json, partial(render.line, told))
    return 1 if told.unread else 0


def _told(
    text: str, workdir: str | None, home: str | None, cwd: str | None, bundle: str | None, flavour: str | None
) -> "LineEffects":
    from rebuno.policy import effects_of_command

    said = _said(bundle) if bundle is not None else {}
    given = {
        "workdir": workdir and os.path.abspath(workdir),
        "home": home and os.path.abspath(home),
        "flavour": flavour,
    }
    fields = {"workdir": os.getcwd(), **said, **{name: value for name, value in given.items() if value}}
    return effects_of_command(text, cwd=cwd, **fields)


def _said(path: str) -> dict[str, Any]:
    """What the lines of a bundle say of places, flavours and tables."""
    from rebuno.policy import compile_policy, read_source, tree

    fields: dict[str, Any] = {}
    texts: list[str] = []
    for statement in compile_policy([read_source(path)]).bundles[0].statements:
        match statement:
            case tree.Workdir(tree.Literal(folder)):
                fields["workdir"] = str(folder)
            case tree.Home(tree.Literal(folder)):
                fields["home"] = str(folder)
            case tree.EffectTables(tree.Name(name)):
                fields["flavour"] = name
            case tree.EffectTables(_, str(text)):
                texts.append(text)
            case _:
                pass
    return {**fields, "tables": texts}
