"""Reads the small languages that stand in the words of commands: `sed`, `awk` and `jq`."""

from collections.abc import Callable
from typing import Final

from rebuno.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CodeEffects:
    """What a program text does besides reading its input and writing its output: the paths that it names."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


READERS: Final[dict[str, Callable[[str], CodeEffects | None]]] = {}
