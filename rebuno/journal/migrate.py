"""Reads the `.sql` files of a store: numbered migrations and named queries."""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"^-- name: ([a-z-]+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """One change of a schema: the statements that lead from version `number` - 1 to `number`."""

    number: int
    sql: str


def migrations(package: str) -> tuple[Migration, ...]:
    """The files `migrations/NNNN_*.sql` of a package, in order; their numbers run from 1 without a gap."""
    folder = _folder(package) / "migrations"
    found = sorted((item.name, item) for item in folder.iterdir() if item.suffix == ".sql")
    return tuple(Migration(int(name.split("_", 1)[0]), item.read_text(encoding="utf-8")) for name, item in found)


def queries(package: str, file: str = "queries.sql") -> dict[str, str]:
    """The named queries of a package: each follows a line `-- name: …` and a comment that says what it does."""
    _, *parts = _NAME.split((_folder(package) / file).read_text(encoding="utf-8"))
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _folder(package: str) -> Path:
    # `importlib.resources` would import what reads zip files: a wheel is unpacked where it is installed.
    return Path(str(import_module(package).__file__)).parent
