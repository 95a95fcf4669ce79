"""Notices bundle files that changed since they were read: what they say now does not hold yet."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rebuno.errors import BundleError
from rebuno.policy import Policy, read_source

logger: Final = logging.getLogger("rebuno")

# What stands behind the path of a YAML bundle once it is written as rules.
_CONVERTED: Final = " (as rules)"


def changed(sources: Iterable[tuple[str, str]]) -> list[str]:
    """Which of the files of these (path, text) pairs are there and hold another text. Reads each of them."""
    return sorted({_file(path) for path, text in sources if Path(_file(path)).is_file() and _now(path) != text})


class ChangedFiles:
    """The files that a policy was compiled from, and which of their changes were told of already."""

    def __init__(self, policy: Policy) -> None:
        self._read = dict(_from_files(policy))
        self._told: dict[str, str | None] = {}

    def differ(self) -> bool:
        """Whether one of them is gone or says something else now."""
        return any(_now(path) != text for path, text in self._read.items())

    def look(self) -> None:
        """Names in the log every file that changed since it was read, once for each change."""
        for path, text in self._read.items():
            now = _now(path)
            if now != self._told.get(path, text):
                what = "is gone" if now is None else "has changed"
                logger.warning(
                    "the bundle file `%s` %s; what was read of it holds until the next open", _file(path), what
                )
            self._told[path] = now


def _from_files(policy: Policy) -> Iterator[tuple[str, str]]:
    for layer in policy.layers:
        if layer.sources and (layer.sources[0].folder is not None or layer.sources[0].path.endswith(_CONVERTED)):
            yield from ((source.path, source.text) for source in layer.sources)


def _file(path: str) -> str:
    return path.removesuffix(_CONVERTED)


def _now(path: str) -> str | None:
    """What the file says now, as rules; None where it cannot be read."""
    try:
        source = read_source(_file(path))
        if not path.endswith(_CONVERTED):
            return source.text
        from rebuno.policy import rules_source

        return rules_source(source).text
    except BundleError:
        return None
