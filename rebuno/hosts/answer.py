"""What a hook prints and how it ends."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The answer to one event: the texts for both streams, and the exit code."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0


# To an event that no answer is due to.
NOTHING: Final = HookAnswer()
# A hook ends with it where a call must not run: every host takes it for a refusal.
REFUSED: Final = 2


def refused(sentence: str) -> HookAnswer:
    """The answer that stops a call in every host: exit code 2, and why on standard error."""
    return HookAnswer(stderr=f"{sentence.rstrip()}\n", code=REFUSED)
