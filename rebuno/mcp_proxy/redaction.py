"""Keeps the secrets of a configuration out of logs and errors."""

import logging
import re
from collections.abc import Iterable
from typing import Any, Final

# A shorter value is a switch, a number or a word: it would be found in every text.
_SHORTEST: Final = 6
_MARK: Final = "[secret]"
_LONGEST_TEXT: Final = 2_000


class Redaction:
    """Replaces secrets in texts. Values of fewer than 6 characters are none."""

    __slots__ = ("_pattern",)

    def __init__(self, secrets: Iterable[str]) -> None:
        found: set[str] = set()
        for secret in secrets:
            # `Bearer TOKEN`: the token alone is as secret as the header.
            found |= {part for part in (secret, *secret.split()) if len(part) >= _SHORTEST}
        longest_first = sorted(found, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if found else None

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        return self._pattern.sub(_MARK, text) if self._pattern is not None else text

    def data(self, value: Any) -> Any:
        """A JSON value whose texts are without the secrets."""
        if isinstance(value, dict):
            return {self(key) if isinstance(key, str) else key: self.data(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.data(item) for item in value]
        return self(value) if isinstance(value, str) else value

    def short(self, error: BaseException | str) -> str:
        """What an error says, in one line of at most 2,000 characters, without the secrets."""
        said = error if isinstance(error, str) else str(error) or type(error).__name__
        return " ".join(self(said).split())[:_LONGEST_TEXT]


class RedactingFormatter(logging.Formatter):
    """Formats records of the log; what a record and its traceback say is redacted."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__("rebuno mcp proxy: %(levelname)s: %(message)s")
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        """The text of a record."""
        return self._redaction(super().format(record))
