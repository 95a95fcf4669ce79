"""`python -m rebuno.hosts.judge FOLDER IDENTITY`: what `rebuno-hook` starts. It says on its standard output that it is
ready, or why it is not."""

import asyncio
import gc
import logging
import os
import sys
from typing import Final

from rebuno.hosts.judge.desk import Desk
from rebuno.hosts.judge.place import JudgeError
from rebuno.hosts.judge.run import IDLE, run

# After how many seconds without a call it ends.
VARIABLE: Final = "REBUNO_JUDGE_IDLE"
# Nobody reads its log while all is well, and it must not fill the disk.
_RECORDS: Final = 2_000


def main(argv: list[str]) -> int:
    """Judges until it is idle; 1 where it cannot begin."""
    os.umask(0o077)
    # A host waits for the end of a pipe as long as anybody holds it: what a shell left open is not for here.
    os.closerange(3, 1024)
    # Modules and a policy stay: to look through them for garbage while they grow is a tenth of the first answer.
    gc.set_threshold(200_000)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger().handlers[0].addFilter(_Few())
    try:
        folder, identity = argv
        asyncio.run(run(folder, identity, Desk(), idle=_idle(), ready=_say))
    except JudgeError as error:
        _say(str(error))
        return 1
    return 0


class _Few(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._left = _RECORDS

    def filter(self, record: logging.LogRecord) -> bool:
        self._left -= 1
        return self._left >= 0


def _idle() -> float:
    try:
        seconds = float(os.environ[VARIABLE])
    except (KeyError, ValueError):
        return IDLE
    return seconds if 0 < seconds <= 86_400 else IDLE


def _say(words: str) -> None:
    os.write(1, words.encode())
    # The client that started it waits for the end of what it says, and nothing is written there again.
    os.dup2(2, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
