"""`rebuno audit verify` and `keygen`: holds lines against a public key, and makes keys."""

import sys

import click

from rebuno_cli import options


@click.command("verify")
@click.argument("file", metavar="FILE", help="The lines; `-` reads standard input.")
@click.option("--key", metavar="FILE", help="The public key of the stream; without it signatures are not checked.")
@options.as_json
def verify(file: str, key: str | None, as_json: bool) -> int:
    """Check the lines of `rebuno audit tail`: every hash, that none is missing, and the signatures of heads.

    Exit code 1 where something is wrong, or events stand after the last head of their execution.
    """
    from dataclasses import asdict
    from pathlib import Path

    from rebuno.audit import keys
    from rebuno.audit.check import check
    from rebuno_cli.render.escape import escape
    from rebuno_cli.render.show import show

    public = keys.public(Path(key)) if key is not None else None
    if file == "-":
        found = check(sys.stdin, public)
    else:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            found = check(lines, public)

    def told() -> str:
        counts = f"{found.events:,} events of {found.executions:,} executions, {found.heads:,} heads"
        if found.fault:
            return f"{escape(found.fault, 500)} ({counts} read)"
        signed = "signed" if public is not None else "signatures not checked"
        left = f"; {found.unsigned:,} events stand after the last head" if found.unsigned else ""
        return f"{counts}: sound, {signed}{left}"

    show(as_json, lambda: asdict(found), told)
    return 1 if found.fault or found.unsigned else 0


@click.command("keygen")
@click.argument("file", metavar="FILE", help="The new private key; the public one is written to FILE.pub.")
@options.as_json
def keygen(file: str, as_json: bool) -> None:
    """Make an Ed25519 key that signs the heads of an audit stream."""
    from pathlib import Path

    from rebuno.audit import keys
    from rebuno_cli.render.show import show

    public = keys.make(Path(file))
    name = keys.name(keys.public(public))
    show(
        as_json,
        lambda: {"private": file, "public": str(public), "key": name},
        lambda: f"key {name}: {file} signs, {public} checks",
    )
