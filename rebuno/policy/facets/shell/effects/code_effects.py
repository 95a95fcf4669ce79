"""What a program text in the word of a command does."""

import re
from typing import Final

from rebuno.model.dataclass import dataclass

ENVIRONMENT: Final = "/proc/self/environ"
"""What stands for the environment among the paths that are read."""


class UnreadCodeError(Exception):
    """A program text is not of a known form. It never leaves the reader of its language."""


@dataclass(frozen=True, slots=True)
class CodeEffects:
    """What a program text does besides reading its input and writing its output: the paths that it names."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


QUIET: Final = frozenset({"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null"})
_PATH: Final = re.compile(r"(?!-)(?!/+(?:dev|inet|proc)\b)[\w./+@,=-]+(?: [\w./+@,=-]+)*")


def is_plain_path(text: str) -> bool:
    """Whether a program takes this for a path and nothing else."""
    return _PATH.fullmatch(text) is not None
