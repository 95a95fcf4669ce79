"""A command and a program's name as values of a rule: how they compare with what a rule says."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from shlex import quote
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path.placed import START, Placed, Places
from rebuno.policy.facets.predicates import Predicate, predicate
from rebuno.policy.facets.reading import Reading
from rebuno.policy.facets.shell.walk import SimpleCommand
from rebuno.policy.facets.shell.words import Word, WordKind
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.globs import GlobError, glob
from rebuno.policy.values.json_values import UNREADABLE, Tri

_Match = Callable[[str], bool]


@cache
def _test(op: Op, fold: bool) -> Predicate:
    # One for each of the few pairs: a line is compared with every name of every list.
    return predicate(op, fold)


def base(program: str) -> str:
    """A program's name without its directory."""
    return program.rpartition("/")[2]


class Hidden(Reading):
    """What runs, or is written to, without being written in the text: every answer about it is maybe."""

    __slots__ = ()

    def json(self) -> Any:
        """A sentence instead of a value."""
        return "something that the text does not show"


@dataclass(frozen=True, slots=True)
class Program(Reading):
    """A program's name as it is given, with its directory if it has one. `doubtful`: variables are set before it, which
    may say what runs."""

    name: str
    doubtful: bool = False

    def equals(self, right: Any, fold: bool) -> Tri:
        """The same name. Where one has a directory, or only case differs, maybe."""
        if isinstance(right, Program):
            return self._answer(Op.EQ, right.name, fold or right.doubtful)
        return None

    def contains(self, right: Any, fold: bool) -> Tri:
        """A part of the name."""
        return self._answer(Op.CONTAINS, right, fold) if isinstance(right, str) else None

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """The usual tests of a text."""
        return self._answer(op, right, fold) if isinstance(right, str) else None

    def _answer(self, op: Op, right: str, fold: bool) -> Tri:
        found = _test(op, fold)(self.name, right)
        if found:
            return None if self.doubtful else True
        if found is None or ("/" in right and "/" not in self.name and op is not Op.EQ):
            return None
        # A file system may not tell case; a name may stand in any directory, and a directory hold any program.
        names = (self.name, base(self.name))
        rights = (right, base(right)) if op is Op.EQ else (right,)
        folded = _test(op, True)
        return None if any(folded(name, other) for name in names for other in rights) else False

    def index_keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The name, and for its likenesses the base name in lower case."""
        if not self.doubtful:
            yield (self.name.casefold() if fold else self.name, True)
        yield (("program", base(self.name).casefold()), False)

    def json(self) -> Any:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """The right side of `like`: a glob a word; `rest` (a final `*`) takes zero or more words."""

    words: tuple[str, ...]
    rest: bool


@dataclass(frozen=True, slots=True)
class Command(Reading):
    """A simple command; its first word is known. `redirected`: its output goes to a file; `assigned`: variables are
    set before it; `places`: the directories that it may stand in. `simple` is the command in its text, None for one
    that a rule names."""

    words: tuple[Word, ...]
    redirected: bool = False
    assigned: bool = False
    places: Places = START
    simple: SimpleCommand | None = None

    def equals(self, right: Any, fold: bool) -> Tri:
        """The same words and no more."""
        if not isinstance(right, Command) or not all(word.known for word in right.words):
            return None
        texts = [word.start for word in right.words]
        tests = [_same(text, fold) for text in texts]
        found = self._fits(Program(self.words[0].start).equals(Program(texts[0]), fold), tests[1:], rest=False)
        return None if found and (right.redirected or right.assigned) else found

    def contains(self, right: Any, fold: bool) -> Tri:
        """One of the words."""
        if not isinstance(right, str):
            return None
        same = _same(right, fold)
        first = Program(self.words[0].start).equals(Program(right), fold)
        if first or any(word.known and same(word.start) for word in self.words[1:]):
            return True
        open_ = any(not word.known and (fold or word.may_be(right)) for word in self.words[1:])
        return None if first is None or open_ else False

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """`like` word by word; the other tests of a text are maybe: a command is no text."""
        if op is not Op.LIKE or not isinstance(right, CommandPattern):
            return None
        if not right.words:
            return self._fits(True, [], rest=True)
        try:
            tests = [_like(pattern, fold) for pattern in right.words[1:]]
        except GlobError:
            return None
        return self._fits(Program(self.words[0].start).text_test(Op.LIKE, right.words[0], fold), tests, right.rest)

    def _fits(self, program: Tri, tests: Sequence[_Match], rest: bool) -> Tri:
        # Which numbers of tests the words so far can have passed; an unknown word can take any number of them.
        if program is False:
            return False
        passed = {0}
        end = len(tests)
        sure = program is True and not self.redirected and not self.assigned
        for position, word in enumerate(self.words[1:]):
            if word.known:
                step = {at + 1 for at in passed if at < end and tests[at](word.start)}
                if rest and end in passed:
                    step.add(end)
            else:
                step = set(range(min(passed), end + 1))
                # File names take the place of zero or more words at the end, whatever they are.
                sure = sure and word.kind is WordKind.NAMES and rest and position >= end
            if not step:
                return False
            passed = step
        if end not in passed:
            return False
        return True if sure else None

    def index_keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The words; for its likenesses, those with the program's base name in lower case."""
        if not all(word.known for word in self.words):
            return
        texts = tuple(word.start.casefold() if fold else word.start for word in self.words)
        if not (self.redirected or self.assigned):
            yield (texts, True)
        yield (("command", base(self.words[0].start).casefold(), *texts[1:]), False)

    def elements(self) -> Sequence[Any]:
        """The words. One that is not known, or a program with a directory, is unreadable; one whose path depends on
        where the command stands is `Placed`."""
        return [
            self.placed(word.start) if word.known and (at or "/" not in word.start) else UNREADABLE
            for at, word in enumerate(self.words)
        ]

    def placed(self, text: str) -> Any:
        """A word, or a part of one, as the facets of paths read it: with the directories that the command stands in."""
        if self.places is START:
            return Placed(text, START) if text[:1] == "~" else text
        return text if text[:1] == "/" else Placed(text, self.places)

    def json(self) -> Any:
        """The words as a shell takes them, `…` where they are not known, and what is in doubt."""
        words = [quote(word.start) if word.known else f"{word.start}…{word.end}" for word in self.words]
        doubts = [] if self.places is START else [_told(self.places)]
        doubts += ["its output goes to a file"] * self.redirected + ["variables are set before it"] * self.assigned
        return " ".join(words) + (f" ({', '.join(doubts)})" if doubts else "")


def _told(places: Places) -> str:
    return "in a directory that is not known" if places is None else f"in {' or '.join(one or '.' for one in places)}"


def _same(text: str, fold: bool) -> _Match:
    if fold:
        folded = text.casefold()
        return lambda word: word.casefold() == folded
    return text.__eq__


def _like(pattern: str, fold: bool) -> _Match:
    matches = glob(pattern, fold).matches
    return (lambda word: matches(word.casefold())) if fold else matches


HIDDEN: Final = Hidden()
