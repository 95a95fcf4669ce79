"""Everything that a shell text runs: its simple commands, what its wrappers run, and the files it writes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from rebuno.policy.facets.path.placed import START, Placed, Places
from rebuno.policy.facets.shell.builtins import effect, may_assign, steers
from rebuno.policy.facets.shell.directories import HERE, Spots, moved, spots, text_of
from rebuno.policy.facets.shell.directory_changes import move_of
from rebuno.policy.facets.shell.walk import MAX_COMMANDS, MAX_DEPTH, Script, Simple, walk
from rebuno.policy.facets.shell.words import DoubtfulError
from rebuno.policy.facets.shell.wrappers import Inside, inside

# Their pipes and their `cd` are not bash's: the last part of a pipe moves the shell itself.
_STRANGE: Final = frozenset({"zsh", "ksh"})


@dataclass(frozen=True, slots=True)
class Shell:
    """What a text runs.

    `commands` have a known program each, none is empty. `targets` are the files that output goes to: as written where
    that is from `workdir`, None for one that is not known. `assigned` tells that a variable is given a value on the
    way, which counts for every command, and `hidden` that code may run which is not written there.
    """

    commands: tuple[Simple, ...]
    targets: tuple[str | Placed | None, ...]
    assigned: bool
    hidden: bool


@lru_cache(maxsize=256)
def read_script(text: str) -> Shell | None:
    """What a text runs; None where it cannot be read honestly, or holds no command."""
    try:
        return _Reader(text).read()
    except DoubtfulError:
        return None


@dataclass(frozen=True, slots=True)
class _Around:
    """How a text or a command inside another one stands: how deep, whether its output goes to a file, which names are
    set before it, in which directories, and whether its home is the user's."""

    depth: int = 0
    redirected: bool = False
    assigned: tuple[str, ...] = ()
    spots: Spots = HERE
    home: bool = True
    strange: bool = False

    def inner(self, simple: Simple, run: Inside, spots: Spots) -> "_Around":
        """How what the command, which stands at `spots`, runs stands."""
        where = None if run.moved else spots if run.directory is None else moved(spots, run.directory)
        assigned = (*simple.assigned, *run.assigned)
        return _Around(self.depth + 1, simple.redirected, assigned, where, self.home and not run.homeless, self.strange)


class _Reader:
    def __init__(self, text: str) -> None:
        # Texts still to be read.
        self.texts: list[tuple[str, _Around]] = [(text, _Around())]
        self.commands: list[tuple[Simple, Spots]] = []
        self.targets: list[tuple[str | None, Spots]] = []
        self.assigned = self.hidden = self.redirected = False
        # Whether a variable that `cd` looks at is given a value somewhere.
        self.rehomed = self.pathed = False

    def read(self) -> Shell:
        while self.texts:
            self._text(*self.texts.pop())
        if not (self.commands or self.hidden):
            raise DoubtfulError
        places = self._places()
        commands = [
            Simple(one.words, one.redirected or self.redirected, one.assigned, one.at, places(where))
            if self.redirected or where is not HERE
            else one
            for one, where in self.commands
        ]
        targets = [self._target(target, places(where)) for target, where in self.targets]
        return Shell(tuple(commands), tuple(dict.fromkeys(targets)), self.assigned, self.hidden)

    def _places(self) -> Callable[[Spots], Places]:
        known: dict[Spots, Places] = {HERE: START}

        def places(where: Spots) -> Places:
            if where is HERE:
                return START
            if where not in known:
                known[where] = self._told(where)
            return known[where]

        return places

    def _told(self, where: Spots) -> Places:
        if where is None or self.pathed or (self.rehomed and any(place[0] == "~" for place in where)):
            return None
        return tuple(sorted(map(text_of, where)))

    def _target(self, target: str | None, places: Places) -> str | Placed | None:
        if target is not None and target[:1] == "~":
            return None if self.rehomed else target
        if target is None or places is START or target[:1] == "/":
            return target
        return None if places is None else Placed(target, places)

    def _text(self, text: str, around: _Around) -> None:
        script = walk(text, around.depth)
        where = self._spots(script, around)
        for target, at in script.targets:
            known = target if around.home or target is None or target[:1] != "~" else None
            self.targets.append((known, where(at)))
        self.hidden = self.hidden or script.hidden
        self.redirected = self.redirected or script.opened
        self._assigns(script.assigned)
        for simple in script.commands:
            one = simple
            if around.redirected or around.assigned:
                redirected = around.redirected or simple.redirected
                one = Simple(simple.words, redirected, (*around.assigned, *simple.assigned), simple.at)
            self._command(one, around, where(simple.at))

    def _spots(self, script: Script, around: _Around) -> Callable[[int], Spots]:
        moves = {one.at: move for one in script.commands if (move := move_of(one.words)) is not None}
        if not moves:
            return lambda at: around.spots
        if around.strange or (not around.home and any(move.to and move.to[0] == "~" for move in moves.values())):
            return lambda at: None
        return spots(script.root, moves, around.spots)

    def _assigns(self, names: list[str] | tuple[str, ...], *, alone: bool = True) -> None:
        self.assigned = self.assigned or (alone and bool(names))
        for name in names:
            self.hidden = self.hidden or steers(name)
            self.rehomed = self.rehomed or name == "HOME"
            self.pathed = self.pathed or name == "CDPATH"

    def _command(self, first: Simple, around: _Around, spots: Spots) -> None:
        stack = [(first, around, spots)]
        while stack:
            simple, around, spots = stack.pop()
            if around.depth > MAX_DEPTH or len(self.commands) >= MAX_COMMANDS:
                raise DoubtfulError
            self._assigns(simple.assigned, alone=False)
            if not simple.words[0].known:
                self.hidden = True
                continue
            self.commands.append((simple, spots))
            name = simple.words[0].start.rpartition("/")[2].casefold()
            done = effect(name, simple.words)
            run = inside(name, simple.words)
            self.hidden = self.hidden or done.hidden or run.hidden
            if done.assigns:
                self.assigned = True
                self.rehomed = self.rehomed or may_assign("HOME", simple.words)
                self.pathed = self.pathed or may_assign("CDPATH", simple.words)
            if name == "exec" and len(simple.words) == 1 and simple.redirected:
                # From here on all output goes there.
                self.redirected = True
            if not (run.commands or run.texts):
                continue
            inner = around.inner(simple, run, spots)
            for words in run.commands:
                stack.append((Simple(words, simple.redirected, inner.assigned), inner, inner.spots))
            for text in run.texts:
                self.texts.append((text, replace(inner, strange=inner.strange or name in _STRANGE)))
