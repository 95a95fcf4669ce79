"""The processes of one room, found by the home that they were given, and what can happen to them."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_PAUSE: Final = 0.005


def of_home(home: Path) -> Iterator[tuple[int, list[str]]]:
    """The processes whose HOME is this one: their ids and command lines. Linux tells them to their own user only."""
    wanted = f"HOME={home}".encode()
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
                    yield int(folder.name), words
            except OSError:
                # It has ended, or is another user's.
                continue


def is_hook(words: list[str]) -> bool:
    """Whether it is our hook, and not the shell around it."""
    return any(Path(word).name == "rebuno-hook" for word in words[:2])


def is_judge(words: list[str]) -> bool:
    """Whether it is the resident judge."""
    return "rebuno.hosts.judge" in words


def send(home: Path, which: Callable[[list[str]], bool], sign: signal.Signals) -> int:
    """Sends a signal to those processes of a room; how many there were."""
    found = [id for id, words in of_home(home) if which(words)]
    for id in found:
        os.kill(id, sign)
    return len(found)


@contextmanager
def sent_to_each(home: Path, which: Callable[[list[str]], bool], sign: signal.Signals) -> Iterator[set[int]]:
    """Sends a signal to each such process as soon as it is there, while the context is open; the ids of those that got
    it."""
    hit: set[int] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            for id, words in of_home(home):
                if id not in hit and which(words):
                    try:
                        os.kill(id, sign)
                    except ProcessLookupError:
                        continue
                    hit.add(id)
            time.sleep(_PAUSE)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield hit
    finally:
        over.set()
        thread.join()


def end_all(home: Path) -> None:
    """Ends what is left of a room: a judge that waits for more, a program that a host left behind."""
    for sign in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
        if send(home, lambda words: True, sign):
            time.sleep(0.05)
