"""What the agent that is killed does, as data and arithmetic: the agent follows it, and so does the checker."""

import re
from enum import StrEnum
from typing import Final
from zlib import crc32

PRIME: Final = 1_000_003
MODEL: Final = "stub"
# What a chat's body says of the request that it answers.
_NUMBER: Final = re.compile(r'"id": "chat-(\d+)"')


class Way(StrEnum):
    """How an effect reaches the kernel. `ONCE` ones are `at_most_once`."""

    TOOL = "safe-tool"
    ONCE_TOOL = "once-tool"
    LOCAL = "safe-local"
    ONCE_LOCAL = "once-local"
    CALL = "safe-call"
    ONCE_CALL = "once-call"
    STREAM = "stream"
    OUTER = "outer"
    SLOW = "once-slow"
    ASK = "once-ask"
    CHOOSE = "choose"

    @property
    def once(self) -> bool:
        return self.startswith("once-")

    @property
    def model(self) -> bool:
        """Whether it is a call of a model: its body runs at the provider."""
        return self in (Way.CALL, Way.ONCE_CALL, Way.STREAM)


# Every effect of a run by its number. First a row of them,
ROW: Final = range(7)
# then some side by side,
ABREAST: Final = range(7, 12)
# then a tool with more inside it,
OUTER: Final = 12
INSIDE: Final = range(13, 16)
# a slow body beside a step that a person is asked about,
SLOW: Final = 16
ASK: Final = 17
# and a row again; the last one is random.
LAST: Final = range(18, 21)
CHOOSE: Final = 21
WAYS: Final = (
    *(Way.TOOL, Way.ONCE_TOOL, Way.LOCAL, Way.ONCE_LOCAL, Way.CALL, Way.STREAM, Way.ONCE_CALL),
    *(Way.STREAM, Way.TOOL, Way.ONCE_LOCAL, Way.CALL, Way.ONCE_TOOL),
    *(Way.OUTER, Way.LOCAL, Way.CALL, Way.ONCE_TOOL),
    *(Way.SLOW, Way.ASK),
    *(Way.ONCE_LOCAL, Way.STREAM, Way.TOOL),
    Way.CHOOSE,
)


def grown(acc: int, i: int) -> int:
    """What a step's body computes; the next step's arguments stand on it."""
    return (acc * 31 + i + 1) % PRIME


def heard(acc: int, i: int, body: str) -> int:
    """What becomes of a model's answer: every byte of it counts."""
    return (grown(acc, i) + crc32(body.encode())) % PRIME


def lost(acc: int, i: int) -> int:
    """The agent's own branch where nobody knows how a step ended."""
    return (acc * 17 + i + 7) % PRIME


def said(run: str, i: int, acc: int) -> str:
    """What a model is told, so that the provider knows which call it was."""
    return f"{run} {i} {acc}"


def number_of(body: str) -> int:
    """Which request the provider answered with this body, plain or streamed, from 1; 0 where it does not say."""
    found = _NUMBER.search(body)
    return int(found[1]) if found else 0
