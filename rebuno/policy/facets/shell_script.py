"""Everything that a shell text runs: its simple commands, what its wrappers run, and the files it writes."""

from dataclasses import dataclass, replace
from functools import lru_cache

from rebuno.policy.facets.shell_builtins import effect, steers
from rebuno.policy.facets.shell_walk import MAX_COMMANDS, MAX_DEPTH, Simple, walk
from rebuno.policy.facets.shell_words import DoubtfulError
from rebuno.policy.facets.shell_wrappers import inside


@dataclass(frozen=True, slots=True)
class Shell:
    """What a text runs.

    `commands` have a known program each, none is empty. `targets` are the files that output goes to, None for one that
    is not known. `assigned` tells that a variable is given a value on the way, which counts for every command, and
    `hidden` that code may run which is not written there.
    """

    commands: tuple[Simple, ...]
    targets: tuple[str | None, ...]
    assigned: bool
    hidden: bool


@lru_cache(maxsize=256)
def read_script(text: str) -> Shell | None:
    """What a text runs; None where it cannot be read honestly, or holds no command."""
    try:
        return _Reader(text).read()
    except DoubtfulError:
        return None


class _Reader:
    def __init__(self, text: str) -> None:
        # Texts and commands still to be read, each with how deep it stands, and for a text whether its output goes to
        # a file and which names are set before it.
        self.texts: list[tuple[str, int, bool, tuple[str, ...]]] = [(text, 0, False, ())]
        self.commands: list[Simple] = []
        self.targets: list[str | None] = []
        self.assigned = self.hidden = self.moved = self.redirected = False

    def read(self) -> Shell:
        while self.texts:
            text, depth, redirected, assigned = self.texts.pop()
            script = walk(text, depth)
            self.targets.extend(script.targets)
            self.hidden = self.hidden or script.hidden
            self.redirected = self.redirected or script.opened
            self._assigned(script.assigned)
            for simple in script.commands:
                self._command(
                    Simple(simple.words, redirected or simple.redirected, (*assigned, *simple.assigned)), depth
                )
        if not (self.commands or self.hidden):
            raise DoubtfulError
        if self.redirected:
            self.commands = [replace(command, redirected=True) for command in self.commands]
        if self.moved:
            self.targets = [target if target and target[0] in "/~" else None for target in self.targets]
        return Shell(tuple(self.commands), tuple(dict.fromkeys(self.targets)), self.assigned, self.hidden)

    def _assigned(self, names: list[str]) -> None:
        self.assigned = self.assigned or bool(names)
        self.hidden = self.hidden or any(steers(name) for name in names)

    def _command(self, first: Simple, depth: int) -> None:
        stack = [(first, depth)]
        while stack:
            simple, depth = stack.pop()
            if depth > MAX_DEPTH or len(self.commands) >= MAX_COMMANDS:
                raise DoubtfulError
            self.hidden = self.hidden or any(steers(name) for name in simple.assigned)
            if not simple.words[0].known:
                self.hidden = True
                continue
            self.commands.append(simple)
            name = simple.words[0].start.rpartition("/")[2].casefold()
            done = effect(name, simple.words)
            run = inside(name, simple.words)
            self.hidden = self.hidden or done.hidden or run.hidden
            self.assigned = self.assigned or done.assigns
            self.moved = self.moved or done.moves or run.moved
            if name == "exec" and len(simple.words) == 1 and simple.redirected:
                # From here on all output goes there.
                self.redirected = True
            assigned = (*simple.assigned, *run.assigned)
            for words in run.commands:
                stack.append((Simple(words, simple.redirected, assigned), depth + 1))
            for text in run.texts:
                self.texts.append((text, depth + 1, simple.redirected, assigned))
