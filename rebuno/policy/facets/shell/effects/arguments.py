"""Takes the words of a command apart by the table of its program: which are options, which values, which operands."""

import re
from collections.abc import Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path.placed import Places
from rebuno.policy.facets.shell.effects.expansion import HOME, Values, split_braces, values_of
from rebuno.policy.facets.shell.effects.table import EffectRule, Option, ProgramTable, Slot
from rebuno.policy.facets.shell.walk import SimpleCommand
from rebuno.policy.facets.shell.words import Word

Harmless = tuple[re.Pattern[str], ...]

_NUMBER: Final = re.compile(r"([-+])[0-9]+[kKmMgGbB]?")
# With these begin options of a few programs: commands of pagers and editors, files of more arguments.
_SPECIAL: Final = ("+", "@")
_GLOB_OPTION: Final = re.compile(
    r"(?P<name>--[a-z-]+)=(?P<before>[\w.*?-]*)(?P<list>\{[\w.*?-]*(?:,[\w.*?-]*)+\})?(?P<after>[\w.*?-]*)"
)
# Kinds of words of which it does not matter what they are, but for what the glob says.
_FREE: Final = frozenset({"text", "only", "all"})
_EXTENSION: Final = re.compile(r"[\w.*?]*\.[A-Za-z]+")
_VARIABLE: Final = re.compile(r"[A-Za-z0-9_.-]+")
_DASHED: Final = re.compile(r"-[^\s0-9.]")
_OPENS: Final = ("-", "(", "!", ")", ",")


@dataclass(slots=True)
class Argument:
    """One word for a slot: what it stands for (None if that is not known), how it is written, the option that it is the
    value of (empty for an operand), and the directories from which it is read."""

    slot: Slot
    values: Values | None
    raw: str
    option: str
    places: Places
    word: Word


@dataclass(slots=True)
class Arguments:
    """A command, taken apart. `table` is that of its last subcommand. `operands` are not yet given to slots; `rest` are
    those behind `--`, if the table tells them apart. `given` are the names of the options that are there. `unread` are
    the words that the table does not name. `tail` is where the words begin that are no options any more. `wandered`
    tells that an option has changed the directory twice, or behind an operand. `module` are the words of a module: its
    name, and all that follow."""

    table: ProgramTable
    values: list[Argument] = field(default_factory=list)
    operands: list[Argument] = field(default_factory=list)
    rest: list[Argument] | None = None
    given: set[str] = field(default_factory=set)
    effects: list[tuple[EffectRule, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    places: Places = None
    tail: int = 0
    wandered: bool = False
    module: tuple[Word, ...] = ()


_OPERAND: Final = Slot(("text",))


def raw_of(word: Word) -> str:
    """The word as it is written, but for the quotes of a known one."""
    return word.start if word.known else word.raw or f"{word.start}…{word.end}"


def several(word: Word, values: Values | None) -> bool:
    """Whether more than one word may stand in the place of this one."""
    if word.single:
        return False
    return values is None or "{" in word.raw or any(value.below for value in values)


class _ArgumentReader:
    def __init__(self, simple: SimpleCommand, table: ProgramTable) -> None:
        words = simple.words
        if not all(word.known for word in words):
            words = tuple(each for word in words for each in split_braces(word))
        self.words = words
        self.loops = simple.loops
        self.home = simple.home
        self.start = simple.places
        self.at = 1
        self.table = table
        self.found = Arguments(table, places=simple.places)

    def read(self) -> Arguments:
        found = self._read()
        if found.table.unread:
            for word in self.words[1:]:
                if self._never(word, found.table.unread):
                    self._unread(word)
        return found

    def _never(self, word: Word, globs: Sequence[str]) -> bool:
        # Such as `@file`, which a program replaces by what stands in the file before it looks at its words.
        values = self._values(word)
        if values is None:
            return not word.start or any(fnmatchcase(word.start, glob) for glob in globs)
        return any(not one.text if one.below else fnmatchcase(one.text, glob) for one in values for glob in globs)

    def _read(self) -> Arguments:
        found = self.found
        if self.table.style == "text":
            found.tail = len(self.words)
            return found
        if self.table.style == "first-cluster":
            self._cluster_first()
        while self.at < len(self.words):
            word = self.words[self.at]
            values = self._values(word)
            text = values[0].text if values and len(values) == 1 and not values[0].below else None
            if text is None:
                if not self._glob_option(word):
                    self._unknown(word, values)
            elif text == "--" and self.table.style != "primaries":
                self.at += 1
                self._after()
                return found
            elif self._is_option(text):
                self.at += 1
                self._option(text, word)
            elif self.table.subcommands or self.table.otherwise:
                self._subcommand(text, word)
            else:
                self._operand(word, values)
                if not self.table.permute:
                    self._all_operands()
                    return found
        found.tail = self.at
        return found

    def _values(self, word: Word) -> Values | None:
        return values_of(word, self.loops, home=self.home)

    def _is_option(self, text: str) -> bool:
        if self.table.style == "primaries":
            return text[:1] in _OPENS and text != "-"
        if text[:1] in _SPECIAL:
            return any(name[0] == text[0] for name in self.table.options)
        return text[:1] == "-" and text != "-" and self.table.style != "assignments"

    def _may_be_option(self, text: str) -> bool:
        return text[:1] == "-" or (text[:1] in _SPECIAL and self._is_option(text))

    def _unknown(self, word: Word, values: Values | None) -> None:
        if self.table.subcommands or self.table.otherwise:
            self._unread(word)
            self.at += 1
            return
        start = word.start if values is None else min((value.text for value in values), default="")
        # A name in the place of a glob may begin with `-`.
        options = start[:1] in ("-", "") if values is None else any(self._may_be_option(value.text) for value in values)
        if values is not None and not self.table.names:
            options = options or any(value.below and not value.text for value in values)
        if options or (values is None and not word.single):
            self._unread(word)
        self._operand(word, values)

    def _glob_option(self, word: Word) -> bool:
        # A glob in the value of a long option, `--include=*.py`: what takes its place begins so too, and fits it.
        found = _GLOB_OPTION.fullmatch(word.raw)
        option = self.table.options.get(found["name"]) if found and self.table.style == "getopt" else None
        if found is None or option is None or not (option.values and _FREE.issuperset(option.values[0].kinds)):
            return False
        self.at += 1
        one = found["list"] or ""
        for each in one[1:-1].split(",") if one else [""]:
            self._met(option, f"{found['before']}{each}{found['after']}", word)
        return True

    def _unread(self, word: Word) -> None:
        self.found.unread.append(raw_of(word))

    def _argument(self, slot: Slot, word: Word, values: Values | None, option: str = "") -> Argument:
        return Argument(slot, values, raw_of(word), option, self.found.places, word)

    def _operand(self, word: Word, values: Values | None) -> None:
        text = values[0].text if values and len(values) == 1 else ""
        name, equals, value = text.partition("=")
        if self.table.assignments and (
            values is None or any(one.below or (not text and "=" in one.text) for one in values)
        ):
            # Perhaps an assignment.
            self._unread(word)
        elif equals and self.table.assignments:
            slot = self.table.assignments.get(name) or self.table.assignments.get("*")
            # `X!=id` and `X:=y` of make are more than an assignment.
            if slot is None or not _VARIABLE.fullmatch(name):
                self._unread(word)
            else:
                self.found.given.add(name)
                self._value(slot, word, value, f"{name}=")
        else:
            self.found.operands.append(self._argument(_OPERAND, word, values))
        self.at += 1

    def _value(self, slot: Slot, word: Word, text: str, option: str, harmless: Harmless = ()) -> None:
        self._given(slot, Word(text), values_of(Word(text)), option, harmless)

    def _all_operands(self) -> None:
        self.found.tail = self.at
        while self.at < len(self.words):
            self._operand(self.words[self.at], self._values(self.words[self.at]))

    def _behind(self, table: ProgramTable) -> None:
        # The words behind `--` are for another program, with options of its own.
        before, self.table = self.found.operands, table
        self.found.operands = []
        self.read()
        self.found.rest, self.found.operands = self.found.operands, before

    def _after(self) -> None:
        if self.table.behind is not None:
            self._behind(self.table.behind)
            return
        if any(form.after is not None for form in self.table.forms):
            self.found.rest = []
            before, self.found.operands = self.found.operands, self.found.rest
            self._all_operands()
            self.found.operands = before
        else:
            self._all_operands()

    def _subcommand(self, text: str, word: Word) -> None:
        table = self.table.subcommands.get(text)
        self.at += 1
        if table is None and self.table.otherwise is not None:
            table = self.table.otherwise
            self.at -= 1
        if table is None:
            self._unread(word)
            self.found.tail = self.at
            self.at = len(self.words)
            return
        if self.table.apart:
            self.found.given.clear()
        self.table = self.found.table = table

    # ------------------------------------------------------------ options

    def _option(self, text: str, word: Word) -> None:
        style = self.table.style
        if text[:1] in _SPECIAL:
            kind = "+NUMBER" if _NUMBER.fullmatch(text) else f"{text[0]}TEXT"
            self._named(kind if kind in self.table.options else text, None, word)
        elif style == "primaries":
            self._named(text, None, word)
        elif style == "single-dash":
            name, equals, value = text.partition("=")
            name = name[1:] if name[:2] == "--" else name
            self._named(name, value if equals else None, word)
        elif text[:2] == "--":
            name, equals, value = text.partition("=")
            self._named(name, value if equals else None, word)
        elif text in self.table.options and len(text) > 2:
            # Such as `-name` in a program of getopt.
            self._named(text, None, word)
        else:
            self._letters(text, word)

    def _letters(self, text: str, word: Word) -> None:
        if _NUMBER.fullmatch(text) and f"{text[0]}NUMBER" in self.table.options:
            self._met(self.table.options[f"{text[0]}NUMBER"], None, word)
            return
        for position, letter in enumerate(text[1:], 2):
            option = self.table.options.get(f"-{letter}")
            if option is None:
                self._unread(word)
                return
            if option.values:
                value = text[position:]
                if value and not self.table.glued:
                    self._unread(word)
                    return
                self._met(option, value or None, word)
                return
            self._met(option, None, word)

    def _named(self, name: str, value: str | None, word: Word) -> None:
        option = self.table.options.get(name)
        if option is None and self.table.abbreviations and name[:2] == "--":
            longer = {id(one): one for key, one in self.table.options.items() if key.startswith(name)}
            option = next(iter(longer.values())) if len(longer) == 1 else None
        if option is None or (value is not None and not option.values and self.table.style != "single-dash"):
            self._unread(word)
        else:
            self._met(option, value, word)

    def _met(self, option: Option, value: str | None, word: Word) -> None:
        found = self.found
        found.given.update(option.names)
        if option.effects:
            found.effects.extend((rule, option.name) for rule in option.effects)
        if not option.values:
            return
        if option.values[0].kinds == ("module",):
            first = (Word(value),) if value is not None else ()
            found.module = (*first, *self.words[self.at :])
            found.tail = self.at
            self.at = len(self.words)
            if not found.module:
                found.unread.append(raw_of(word))
            return
        if value is not None:
            self._value(option.values[0], word, value, option.name, option.harmless)
            return
        if option.attached:
            return
        for slot in option.values:
            if slot.kinds == ("command",):
                self._until(word)
                return
            if self.at >= len(self.words):
                if not option.last:
                    found.unread.append(raw_of(word))
                return
            given = self.words[self.at]
            self.at += 1
            values = self._values(given)
            dashed = self.table.dashed and self._dashed(given, values)
            if dashed or (several(given, values) and not self._ends_in_vain(slot, given)):
                # Only the first of several is the value, the others are operands.
                self._unread(given)
            self._given(slot, given, values, option.name, option.harmless)

    def _dashed(self, word: Word, values: Values | None) -> bool:
        # Whether what stands where a value is due may be read as an option. Negative numbers and texts are none.
        texts = [word.start] if values is None else [value.text for value in values]
        return any(_DASHED.match(text) or (values is None and not text) for text in texts)

    def _ends_in_vain(self, slot: Slot, word: Word) -> bool:
        # `find -name *.py` does nothing where the glob gives a second word: none that ends so is a primary.
        return (
            self.table.style == "primaries" and slot.kinds == ("text",) and _EXTENSION.fullmatch(word.raw) is not None
        )

    def _given(self, slot: Slot, word: Word, values: Values | None, option: str, harmless: Harmless = ()) -> None:
        known = values[0].text if values and len(values) == 1 and not values[0].below else None
        if known is not None and any(glob.fullmatch(known) for glob in harmless):
            return
        if slot.kinds == ("dir",):
            self._moved(known, word)
        else:
            places = self.start if self.table.directory else self.found.places
            self.found.values.append(Argument(slot, values, raw_of(word), option, places, word))

    def _moved(self, to: str | None, word: Word) -> None:
        found = self.found
        if self.table.directory:
            found.wandered = found.wandered or found.places is not self.start or bool(found.operands)
        if to is None or to[:1] == "~":
            self._unread(word)
            found.places = None
        elif to[:1] == HOME:
            found.places = (f"~{to[1:]}",)
        elif found.places is not None:
            found.places = tuple(dict.fromkeys(_below(place, to) for place in found.places))

    def _until(self, word: Word) -> None:
        # The words of a command up to `;`, or to `+` behind `{}`; what they run is read where wrappers are.
        start = self.at
        while self.at < len(self.words):
            here = self.words[self.at]
            self.at += 1
            if here == Word(";") or (here == Word("+") and raw_of(self.words[self.at - 2]) == "{}"):
                self.found.values.append(Argument(_COMMAND, None, raw_of(word), raw_of(word), self.start, word))
                return
        self.found.unread.extend(raw_of(each) for each in self.words[start - 1 :])

    def _cluster_first(self) -> None:
        # `tar cf a.tar x`: the first word is a cluster, and the values of its letters follow in turn.
        if len(self.words) < 2 or not self.words[1].known or self.words[1].start[:1] in ("-", ""):
            return
        word = self.words[1]
        self.at = 2
        for letter in word.start:
            option = self.table.options.get(f"-{letter}")
            if option is None:
                self._unread(word)
                return
            self._met(option, None, word)


_COMMAND: Final = Slot(("command",))


def _below(place: str, to: str) -> str:
    if to[:1] == HOME:
        return f"~{to[1:]}"
    if to[:1] == "/":
        return to
    return f"{place}/{to}" if place else to


def read_arguments(simple: SimpleCommand, table: ProgramTable) -> Arguments:
    """The words of a command, taken apart by the table of its program."""
    return _ArgumentReader(simple, table).read()


def given_slots(operands: Sequence[Argument], slots: Sequence[Slot]) -> tuple[list[Argument], list[str]]:
    """The operands, each with the slot that it falls to, and those for which there is none, as written.

    Slots before the one for any number take the first words, those behind it the last. Where several words may stand
    in the place of one for a single slot, it is not known which of them fall to which, so that it is left over too.
    """
    many = next((at for at, slot in enumerate(slots) if slot.many), None)
    if many is None:
        taken = [*zip(slots, operands, strict=False)]
        left = operands[len(slots) :]
    else:
        tail = slots[many + 1 :]
        middle = max(many, len(operands) - len(tail))
        taken = [*zip(slots[:many], operands, strict=False)]
        taken += [(slots[many], each) for each in operands[many:middle]]
        taken += [*zip(tail, operands[middle:], strict=False)]
        left = ()
    if all(each.word.single for each in operands):
        for slot, each in taken:
            each.slot = slot
        return [each for _, each in taken], [each.raw for each in left]
    # Words of the same kinds may change places.
    same = () if many is None else slots[many].kinds
    shifted = [
        each
        for slot, each in taken
        if not (slot.many or (slot.kinds == same and slot in slots[:many])) and several(each.word, each.values)
    ]
    for slot, each in taken:
        each.slot = slot
    return [each for _, each in taken], [each.raw for each in (*left, *shifted)]
