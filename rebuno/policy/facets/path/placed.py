"""Texts that are read from other directories than `workdir`, and readings of which one of several is the right one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rebuno.policy.facets.reading import Perhaps, Reading, UncertainReading
from rebuno.policy.values.json_values import MISSING, UNREADABLE

Places = tuple[str, ...] | None
"""Directories, each absolute, below the home (`~/…`), or relative to `workdir` (the empty text: `workdir` itself). At
least one; None where they are not known."""

START: Final[Places] = ("",)


@dataclass(frozen=True, slots=True)
class Placed(Reading):
    """A word of a command that does not stand, or not for sure, in `workdir`, or that no two programs read alike.

    Only the facets of paths are given one; every other test sees its `text`.
    """

    text: str
    places: Places

    def json(self) -> Any:
        """The text."""
        return self.text


def unplaced(value: Any) -> Any:
    """The value as any test but those of paths sees it."""
    return value.text if type(value) is Placed else value


def unplaced_all(values: Iterable[Any]) -> list[Any]:
    """The values as any test but those of paths sees them, also those that are perhaps there."""
    return [Perhaps(unplaced(one.value)) if type(one) is Perhaps else unplaced(one) for one in values]


def either(values: Iterable[Any]) -> Any:
    """The one value where all are the same, else an `UncertainReading`.

    `UNREADABLE` where only some are there and readable.
    """
    found = tuple(dict.fromkeys(values))
    if len(found) == 1:
        return found[0]
    return UNREADABLE if UNREADABLE in found or MISSING in found else UncertainReading(found)
