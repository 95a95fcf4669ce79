"""`rebuno policy new`: a copy of a starter bundle."""

import click

from rebuno_cli import options, starting


@click.command("new")
@click.argument("name", default="", metavar="[NAME]", help="The starter; else all are listed.")
@click.option("--into", default=".", show_default=True, metavar="DIR", help="The folder that it is copied to.")
@options.as_json
def new(name: str, into: str, as_json: bool) -> None:
    """Copy a starter bundle, its cases and the files that it uses, to change them for your own agent.

    Nothing that is there already is written over.
    """
    import os
    from difflib import get_close_matches

    from rebuno import packaged
    from rebuno.errors import ValidationError
    from rebuno_cli.render.layout import Rows
    from rebuno_cli.render.show import show

    root = packaged.policies()
    starters = {
        path.relative_to(root).with_suffix("").as_posix(): path
        for path in sorted(root.rglob("*.rbp"))
        if path.relative_to(root).parts[0] not in ("agentdojo", "agentdyn", "lib")
    }
    if not name:
        about = {one: _about(path.read_text(encoding="utf-8")) for one, path in starters.items()}
        rows = list(about.items())
        show(as_json, lambda: {"starters": about}, lambda: [Rows(("name", "what it is for"), rows)])
        return
    path = starters.get(name.removesuffix(".rbp"))
    if path is None:
        near = get_close_matches(name, starters, n=1)
        help = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(starters)}"
        raise ValidationError(f"there is no starter `{name[:60]}`; {help}")
    written = starting.write(starting.bundle(path, root), into)
    next = [f"rebuno policy test {os.path.join(into, path.relative_to(root).as_posix())}"]
    show(as_json, lambda: starting.data(written, next), lambda: starting.told(written, next))


def _about(text: str) -> str:
    """The first sentence of the comment that a bundle begins with."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines).split(". ")[0].rstrip(".")
