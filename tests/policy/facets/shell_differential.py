"""Holds what the shell facets say of generated texts to what the bash of this machine does with them.

By hand, for longer and with other seeds: `python -m tests.policy.facets.shell_differential SEED SECONDS`. It prints how
many texts it has made, read and run, and every difference; it ends with 1 where there is one.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as Folder
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from rebuno.policy.facets.path import facets
from rebuno.policy.facets.path.facets import PathReading
from rebuno.policy.facets.path.placed import Placed
from rebuno.policy.facets.reading import PathContext, UncertainReading
from rebuno.policy.facets.shell.command import Command
from rebuno.policy.facets.shell.words import Word
from rebuno.policy.values.json_values import UNREADABLE
from tests.policy.facets.shell_asking import COMMAND, REDIRECT, every, like
from tests.policy.facets.shell_sandbox import Run, Sandbox
from tests.policy.facets.shell_wandering import Pieces, harmless, spoilt, text_of, wandering


@dataclass
class Counts:
    """How many texts were made, could be read, were run; how many programs and files they came to, and how many of the
    programs stood elsewhere than in the folder where the text began, in one place that the facets name."""

    made: int = 0
    read: int = 0
    run: int = 0
    programs: int = 0
    files: int = 0
    elsewhere: int = 0
    differences: list[tuple[str, str]] = field(default_factory=list)


class Differential:
    """Runs texts and counts. `sandbox` is where they run."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.context = PathContext(workdir=sandbox.start, home=sandbox.home)
        self.counts = Counts()

    def all(self, pieces: Iterator[Pieces]) -> Counts:
        """The counts after these texts; one that cannot be read, or may run more than it says, is not run."""
        for one in pieces:
            self.counts.made += 1
            text = text_of(one, self.sandbox.other)
            commands, targets = COMMAND.read(text, self.context), REDIRECT.read(text, self.context)
            if commands is UNREADABLE:
                continue
            self.counts.read += 1
            if all(type(command) is Command for command in commands) and harmless(one):
                self.counts.run += 1
                wrong = self._wrong(text, commands, targets)
                if wrong:
                    self.counts.differences.append((text, wrong))
        return self.counts

    def _wrong(self, text: str, commands: list[Command], targets: list[Any]) -> str:
        ran = self.sandbox.run(text)
        self.counts.programs += len(ran.programs)
        self.counts.files += len(ran.files)
        for run in ran.programs:
            # What bash looks for is a name; an empty one is never found.
            if run.words[0] and not any(self._is(command, run) for command in commands):
                return f"bash ran {run}"
        known = [place for target in targets for place in _places(target)]
        for file in ran.files:
            if None not in known and file not in known:
                return f"bash wrote {file}"
        if ran.files and every(commands, like("*")) is True:
            return f"bash wrote {ran.files}, and no command is in doubt"
        return ""

    def _is(self, command: Command, run: Run) -> bool:
        # Whether the command is the one that ran, in one of the places where it may stand.
        if command.equals(Command(tuple(Word(word) for word in run.words)), False) is False:
            return False
        here = _places(facets.read(Placed(".", command.places), self.context))
        if here == [run.place] != [self.sandbox.start]:
            self.counts.elsewhere += 1
        return None in here or run.place in here


def _places(reading: Any) -> list[str | None]:
    # The places that a reading may be; None for one that is not known.
    if type(reading) is UncertainReading:
        return [str(one) for one in reading.readings]
    return [str(reading)] if type(reading) is PathReading else [None]


def texts(random: Random) -> Iterator[Pieces]:
    """Texts without end: two of three well formed, the others spoilt."""
    while True:
        pieces = wandering(random)
        yield pieces if random.random() < 0.67 else spoilt(random, pieces)


def _timed(random: Random, seconds: float) -> Iterator[Pieces]:
    end = monotonic() + seconds
    for pieces in texts(random):
        if monotonic() > end:
            return
        yield pieces


def main(seed: int, seconds: float) -> int:
    """Runs texts for some seconds; 1 where there was a difference."""
    with TemporaryDirectory() as folder:
        sandbox = Sandbox(Folder(folder))
        counts = Differential(sandbox).all(_timed(Random(seed), seconds))
    shown = {name: value for name, value in vars(counts).items() if name != "differences"}
    told = [json.dumps({"seed": seed, **shown, "differences": len(counts.differences)})]
    told += [f"{text!r}: {wrong}".replace(sandbox.top, "@") for text, wrong in counts.differences[:20]]
    sys.stdout.write("\n".join([*told, ""]))
    return 1 if counts.differences else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
