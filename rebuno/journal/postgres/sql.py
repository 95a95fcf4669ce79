"""The statements of the `.sql` files of this package by their names."""

import re
from dataclasses import dataclass
from typing import Final

from rebuno.journal.migrate import queries

_FILES: Final = (
    *("queries.sql", "steps.sql", "create.sql", "served.sql", "facts.sql", "pots.sql", "pieces.sql", "resources.sql"),
    "notices.sql",
    "sealing.sql",
    "overview.sql",
)
SQL: Final = {name: text for file in _FILES for name, text in queries(__package__, file).items()}
_PARAMETER: Final = re.compile(r"%\((\w+)\)s")

# What a prepared statement is given: the texts of its parameters, in their order.
Given = list[bytes | None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that the server prepares once a connection, under `name`; `parameters` are in the order of their
    numbers in `text`."""

    name: bytes
    text: bytes
    parameters: tuple[str, ...]


def prepared(name: str) -> Prepared:
    """The statement of this name."""
    sql = SQL[name]
    parameters = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
    numbers = {parameter: f"${number}" for number, parameter in enumerate(parameters, 1)}
    text = _PARAMETER.sub(lambda found: numbers[found[1]], sql)
    return Prepared(f"rebuno_{name}".encode(), text.encode(), parameters)
