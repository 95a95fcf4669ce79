"""Everything that a shell text runs: its simple commands, what its wrappers run, and the files it writes."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path.placed import START, Placed, Places
from rebuno.policy.facets.shell.builtins import assigned_names, effect, exports_all, may_assign, steers
from rebuno.policy.facets.shell.directories import HERE, Spots, moved, spots, text_of
from rebuno.policy.facets.shell.directory_changes import move_of
from rebuno.policy.facets.shell.variables import EXPORTED
from rebuno.policy.facets.shell.walk import MAX_COMMANDS, MAX_DEPTH, Loops, Redirect, ShellText, SimpleCommand, walk
from rebuno.policy.facets.shell.words import UncertainShellError, Word
from rebuno.policy.facets.shell.wrappers import WrappedCommands, inside

# Their pipes and their `cd` are not bash's: the last part of a pipe moves the shell itself.
_STRANGE: Final = frozenset({"zsh", "ksh"})


@dataclass(frozen=True, slots=True)
class ShellCommands:
    """What a text runs.

    `commands` have a known program each, none is empty. `targets` are the files that output goes to: as written where
    that is from `workdir`, None for one that is not known. `assigned` tells that a variable is given a value on the
    way, which counts for every command, and `hidden` that code may run which is not written there.

    `opened` are the files of the redirects of compound commands, and of those without a command, as commands without
    words. `unread` are the parts that hide what runs, as written. `variables` are the names that are given a value
    for more than one command, each as often as it is; one that is not known is empty. `texts` are the texts that were
    read: this one, and those that shells in it are given.
    """

    commands: tuple[SimpleCommand, ...]
    targets: tuple[str | Placed | None, ...]
    assigned: bool
    hidden: bool
    opened: tuple[SimpleCommand, ...] = ()
    unread: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def read_shell(text: str) -> ShellCommands | None:
    """What a text runs; None where it cannot be read honestly, or holds no command."""
    try:
        return _ShellReader(text).read()
    except UncertainShellError:
        return None


@dataclass(frozen=True, slots=True)
class _CommandContext:
    """How a text or a command inside another one stands: how deep, whether its output goes to a file, which names are
    set before it, in which directories, and whether its home is the user's."""

    depth: int = 0
    redirected: bool = False
    assigned: tuple[str, ...] = ()
    spots: Spots = HERE
    home: bool = True
    strange: bool = False
    redirects: tuple[Redirect, ...] = ()

    def inner(self, simple: SimpleCommand, run: WrappedCommands, spots: Spots) -> "_CommandContext":
        """How what the command, which stands at `spots`, runs stands."""
        where = None if run.moved else spots if run.directory is None else moved(spots, run.directory)
        assigned = (*simple.assigned, *run.assigned)
        return _CommandContext(
            self.depth + 1,
            simple.redirected,
            assigned,
            where,
            self.home and not run.homeless,
            self.strange,
            simple.redirects,
        )


def given_names(simple: SimpleCommand) -> tuple[str, ...]:
    """The names that are assigned before a command, but for those that change nothing besides what it does to its own
    input: `IFS= read -r line`."""
    reads = bool(simple.words) and simple.words[0] == Word("read")
    return tuple(name for name in simple.assigned if not (reads and name == "IFS"))


def written(words: tuple[Word, ...]) -> str:
    """The words as they are written, but for the quotes of those that are known."""
    return " ".join(word.start if word.known else word.raw or f"{word.start}…{word.end}" for word in words)


def _opened(redirect: Redirect, loops: Loops, home: bool) -> SimpleCommand:
    return SimpleCommand((), redirects=(redirect,), loops=loops, home=home)


def _fed(script: ShellText) -> dict[int, tuple[Word, ...]]:
    # The words of the commands whose output others read, by the places of these.
    plain = {one.at: one.words for one in script.commands if not one.assigned}
    return {at: plain[before] for at, before in script.pipes.items() if at in plain and before in plain}


class _ShellReader:
    def __init__(self, text: str) -> None:
        # Texts still to be read.
        self.texts: list[tuple[str, _CommandContext]] = [(text, _CommandContext())]
        self.known_texts: list[str] = []
        self.commands: list[tuple[SimpleCommand, Spots]] = []
        self.targets: list[tuple[str | None, Spots]] = []
        self.opened: list[tuple[SimpleCommand, Spots]] = []
        self.unread: list[str] = []
        self.variables: list[str] = []
        self.drawn: list[str] = []
        self.assigned = self.hidden = self.redirected = self.exports = False
        # Whether a variable that `cd` looks at is given a value somewhere.
        self.rehomed = self.pathed = False

    def read(self) -> ShellCommands:
        while self.texts:
            self._text(*self.texts.pop())
        if not (self.commands or self.hidden):
            raise UncertainShellError
        places = self._places()
        if self.exports:
            self.variables = [f"{EXPORTED}{one.removeprefix(EXPORTED)}" for one in self.variables]
        variables, drawn = tuple(dict.fromkeys(self.variables)), tuple(dict.fromkeys(self.drawn))
        commands = [self._placed(one, places(where), variables, drawn) for one, where in self.commands]
        opened = [self._placed(one, places(where)) for one, where in self.opened]
        targets = [self._target(target, places(where)) for target, where in self.targets]
        return ShellCommands(
            tuple(commands),
            tuple(dict.fromkeys(targets)),
            self.assigned,
            self.hidden,
            tuple(opened),
            tuple(self.unread),
            tuple(self.variables),
            tuple(self.known_texts),
        )

    def _placed(
        self, one: SimpleCommand, places: Places, variables: tuple[str, ...] = (), drawn: tuple[str, ...] = ()
    ) -> SimpleCommand:
        if places is START and not (self.redirected or self.rehomed or variables):
            return one
        redirected, home = one.redirected or self.redirected, one.home and not self.rehomed
        return replace(one, redirected=redirected, places=places, home=home, variables=variables, drawn=drawn)

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

    def _text(self, text: str, context: _CommandContext) -> None:
        script = walk(text, context.depth)
        self.known_texts.append(text)
        where = self._spots(script, context)
        for target, at in script.targets:
            known = target if context.home or target is None or target[:1] != "~" else None
            self.targets.append((known, where(at)))
        self._hides(script.hidden, text)
        self.redirected = self.redirected or script.opened
        self._assigns(script.assigned)
        self.drawn += script.drawn
        for redirect, at, loops in script.redirects:
            self.opened.append((_opened(redirect, loops, context.home), where(at)))
        fed = _fed(script) if script.pipes else {}
        for simple in script.commands:
            one = replace(simple, fed=fed[simple.at]) if simple.at in fed else simple
            if context.redirected or context.assigned or not context.home:
                redirected = context.redirected or simple.redirected
                one = replace(
                    one,
                    redirected=redirected,
                    assigned=(*context.assigned, *simple.assigned),
                    redirects=(*context.redirects, *simple.redirects),
                    home=context.home,
                )
            self._command(one, context, where(simple.at))

    def _spots(self, script: ShellText, context: _CommandContext) -> Callable[[int], Spots]:
        moves = {one.at: move for one in script.commands if (move := move_of(one.words)) is not None}
        if not moves:
            return lambda at: context.spots
        if context.strange or (not context.home and any(move.to and move.to[0] == "~" for move in moves.values())):
            return lambda at: None
        return spots(script.root, moves, context.spots)

    def _hides(self, hides: bool, part: str) -> None:
        if hides:
            self.hidden = True
            self.unread.append(part)

    def _assigns(self, names: list[str] | tuple[str, ...], *, alone: bool = True) -> None:
        self.assigned = self.assigned or (alone and bool(names))
        if alone:
            self.variables.extend(names)
        for name in names:
            self._hides(steers(name), f"{name}=")
            self.rehomed = self.rehomed or name == "HOME"
            self.pathed = self.pathed or name == "CDPATH"

    def _command(self, first: SimpleCommand, context: _CommandContext, spots: Spots) -> None:
        stack = [(first, context, spots)]
        while stack:
            simple, context, spots = stack.pop()
            if context.depth > MAX_DEPTH or len(self.commands) >= MAX_COMMANDS:
                raise UncertainShellError
            self._assigns(given_names(simple), alone=False)
            if not simple.words[0].known:
                self._hides(True, written(simple.words))
                continue
            self.commands.append((simple, spots))
            name = simple.words[0].start.rpartition("/")[2].casefold()
            done = effect(name, simple.words)
            self.exports = self.exports or exports_all(simple.words)
            run = inside(name, simple.words, simple.fed)
            if run.script and not done.hidden:
                # The effects name the file that it runs.
                self.hidden = True
            else:
                self._hides(done.hidden or run.hidden, written(simple.words))
            if done.assigns:
                self.assigned = True
                self.variables.extend(assigned_names(simple.words))
                self.rehomed = self.rehomed or may_assign("HOME", simple.words)
                self.pathed = self.pathed or may_assign("CDPATH", simple.words)
            if name == "exec" and len(simple.words) == 1 and simple.redirected:
                # From here on all output goes there.
                self.redirected = True
            if not (run.commands or run.texts):
                continue
            inner = context.inner(simple, run, spots)
            for number, words in enumerate(run.commands):
                loops = run.loops[number] if run.loops else ()
                ran = SimpleCommand(
                    words,
                    simple.redirected,
                    inner.assigned,
                    redirects=simple.redirects,
                    loops=(*simple.loops, *loops),
                    home=inner.home,
                )
                stack.append((ran, inner, inner.spots))
            for text in run.texts:
                self.texts.append((text, replace(inner, strange=inner.strange or name in _STRANGE)))
