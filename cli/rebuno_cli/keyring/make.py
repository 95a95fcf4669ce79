"""`rebuno keyring create`, `rotate` and `ls`: the file of a key ring."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebuno_cli import options

if TYPE_CHECKING:
    from rebuno.sealing import KeyRing

_file = click.argument("file", metavar="FILE", type=click.Path(path_type=Path), help="The file of the key ring.")


@click.command("create")
@_file
@options.as_json
def create(file: Path, as_json: bool) -> None:
    """Make a key ring with one key, in a new file that only its owner may read.

    Keep a copy of it elsewhere, and never beside the store: without it nothing that is encrypted can be read or run.
    """
    from rebuno.sealing import files

    _show(file, files.create(file, now=time.time()), as_json)


@click.command("rotate")
@_file
@options.as_json
def rotate(file: Path, as_json: bool) -> None:
    """Give a key ring a new key, under which new executions are encrypted.

    The older keys stay: executions that were begun under them need them. Servers read the ring when they start.
    """
    from rebuno.sealing import files

    _show(file, files.rotate(file, now=time.time()), as_json)


@click.command("ls")
@_file
@options.db
@options.as_json
def ls(file: Path, db: str | None, as_json: bool) -> int:
    """Show the keys of a key ring, and with a store how many executions are encrypted under each.

    Exit code 1 where the store needs a key that the ring does not have.
    """
    from rebuno.sealing import KeyRing

    ring = KeyRing.read(file)
    used = _used(db)
    _show(file, ring, as_json, used)
    return 1 if any(key not in ring and count > erased for key, count, erased in used or ()) else 0


def _used(db: str | None) -> list[tuple[str, int, int]] | None:
    if not db:
        return None
    from rebuno_cli import connection

    return connection.ask(db, lambda operator: operator.seal_keys())


def _show(file: Path, ring: "KeyRing", as_json: bool, used: list[tuple[str, int, int]] | None = None) -> None:
    from rebuno_cli.render.escape import escape
    from rebuno_cli.render.show import show

    counts = {key: (count, erased) for key, count, erased in used or ()}
    keys = [
        {"id": key.id, "created_at": key.created_at, "current": key.id == ring.current, "in_ring": True}
        for key in ring.keys
    ] + [{"id": key, "created_at": None, "current": False, "in_ring": False} for key in counts if key not in ring]
    if used is not None:
        for key in keys:
            key["executions"], key["erased"] = counts.get(str(key["id"]), (0, 0))
    said = [f"key ring {file}"]
    for key in keys:
        words = [escape(str(key["id"]), 80), str(key["created_at"] or "not in the ring")]
        words += ["current"] if key["current"] else []
        words += [f"{key['executions']} executions, {key['erased']} erased"] if used is not None else []
        said.append("  ".join(words))
    show(as_json, lambda: {"file": str(file), "keys": keys}, lambda: said)
