"""`rebuno rule`: what a code of `policy check` means."""

import re

import click

from rebuno_cli import options


@click.command("rule")
@click.argument(
    "code", default="", metavar="[CODE]", help="As `policy check` prints it in brackets; else all are listed."
)
@options.as_json
def rule(code: str, as_json: bool) -> None:
    """Explain a code of `rebuno policy check`, or list all codes."""
    from difflib import get_close_matches

    from rebuno import packaged
    from rebuno.errors import ValidationError
    from rebuno_cli.render import rules
    from rebuno_cli.render.show import show

    told = _sections(packaged.diagnostics())
    if not code:
        show(as_json, lambda: {"rules": [{"code": one, "text": told[one]} for one in told]}, lambda: rules.listed(told))
        return
    wanted = code.strip("[]").lower()
    if wanted not in told:
        near = get_close_matches(wanted, told, n=1)
        help = f"did you mean `{near[0]}`?" if near else "`rebuno rule` lists all"
        raise ValidationError(f"there is no code `{code[:60]}`; {help}")
    show(as_json, lambda: {"code": wanted, "text": told[wanted]}, lambda: rules.one(wanted, told[wanted]))


def _sections(page: str) -> dict[str, str]:
    """Of each code what the page says of it."""
    parts = re.split(r"^### ([a-z0-9-]+)$", page, flags=re.MULTILINE)
    return {
        code: re.split(r"^## ", text, flags=re.MULTILINE)[0].strip()
        for code, text in zip(parts[1::2], parts[2::2], strict=True)
    }
