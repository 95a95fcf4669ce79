"""Takes the words of a command apart by the table of its program: which are options, which values, which operands."""

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path.placed import Places
from rebuno.policy.facets.shell.effects.expansion import Values, split_braces, values_of
from rebuno.policy.facets.shell.effects.table import EffectRule, Option, Slot, Table
from rebuno.policy.facets.shell.walk import SimpleCommand
from rebuno.policy.facets.shell.words import Word

_NUMBER: Final = re.compile(r"([-+])[0-9]+[kKmMgGbB]?")
# With these begin options of a few programs: commands of pagers and editors, files of more arguments.
_SPECIAL: Final = ("+", "@")
_OPENS: Final = ("-", "(", "!", ")", ",")


@dataclass(frozen=True, slots=True)
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
    the words that the table does not name. `tail` is where the words begin that are no options any more."""

    table: Table
    values: list[Argument] = field(default_factory=list)
    operands: list[Argument] = field(default_factory=list)
    rest: list[Argument] | None = None
    given: set[str] = field(default_factory=set)
    effects: list[tuple[EffectRule, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    places: Places = None
    tail: int = 0


_OPERAND: Final = Slot(("text",))


def raw_of(word: Word) -> str:
    """The word as it is written, but for the quotes of a known one."""
    return word.start if word.known else word.raw or f"{word.start}…{word.end}"


class _ArgumentReader:
    def __init__(self, simple: SimpleCommand, table: Table) -> None:
        self.words = tuple(each for word in simple.words for each in split_braces(word))
        self.loops = simple.loops
        self.home = simple.home
        self.start = simple.places
        self.at = 1
        self.table = table
        self.found = Arguments(table, places=simple.places)

    def read(self) -> Arguments:
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

    def _unread(self, word: Word) -> None:
        self.found.unread.append(raw_of(word))

    def _argument(self, slot: Slot, word: Word, values: Values | None, option: str = "") -> Argument:
        return Argument(slot, values, raw_of(word), option, self.found.places, word)

    def _operand(self, word: Word, values: Values | None) -> None:
        text = values[0].text if values and len(values) == 1 and not values[0].below else ""
        name, equals, value = text.partition("=")
        if equals and self.table.assignments:
            slot = self.table.assignments.get(name) or self.table.assignments.get("*")
            if slot is None:
                self._unread(word)
            else:
                self.found.given.add(name)
                self._value(slot, word, value, f"{name}=")
        else:
            self.found.operands.append(self._argument(_OPERAND, word, values))
        self.at += 1

    def _value(self, slot: Slot, word: Word, text: str, option: str) -> None:
        self._given(slot, Word(text), values_of(Word(text)), option)

    def _all_operands(self) -> None:
        self.found.tail = self.at
        while self.at < len(self.words):
            self._operand(self.words[self.at], self._values(self.words[self.at]))

    def _after(self) -> None:
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
        found.given.add(option.name)
        found.given.update(name for name, one in self.table.options.items() if one is option)
        found.effects.extend((rule, option.name) for rule in option.effects)
        if not option.values:
            return
        if value is not None:
            self._value(option.values[0], word, value, option.name)
            return
        if option.attached:
            return
        for slot in option.values:
            if slot.kinds == ("command",):
                self._until(word)
                return
            if self.at >= len(self.words):
                found.unread.append(raw_of(word))
                return
            given = self.words[self.at]
            self.at += 1
            values = self._values(given)
            if not given.single and (values is None or any(value.below for value in values)):
                # Only the first of several words is the value.
                self._unread(given)
            self._given(slot, given, values, option.name)

    def _given(self, slot: Slot, word: Word, values: Values | None, option: str) -> None:
        known = values[0].text if values and len(values) == 1 and not values[0].below else None
        if slot.kinds == ("dir",):
            self._moved(known, word)
        else:
            places = self.start if self.table.directory else self.found.places
            self.found.values.append(Argument(slot, values, raw_of(word), option, places, word))

    def _moved(self, to: str | None, word: Word) -> None:
        found = self.found
        if to is None or to[:1] == "~":
            self._unread(word)
            found.places = None
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
    if to[:1] == "/":
        return to
    return f"{place}/{to}" if place else to


def read_arguments(simple: SimpleCommand, table: Table) -> Arguments:
    """The words of a command, taken apart by the table of its program."""
    return _ArgumentReader(simple, table).read()


def given_slots(operands: Sequence[Argument], slots: Sequence[Slot]) -> tuple[list[Argument], list[str]]:
    """The operands, each with the slot that it falls to, and those for which there is none, as written.

    Slots before the one for any number take the first words, those behind it the last.
    """
    if any(_several(each) for each in operands):
        return _perhaps_slots(operands, slots), []
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
    return [_in_slot(each, slot) for slot, each in taken], [each.raw for each in left]


def _several(argument: Argument) -> bool:
    # A glob takes the place of one word or more.
    return any(value.below for value in argument.values or ()) or (argument.values is None and not argument.word.single)


def _perhaps_slots(operands: Sequence[Argument], slots: Sequence[Slot]) -> list[Argument]:
    # Each operand with all slots that it may fall to, where some stand for several words.
    many = next((at for at, slot in enumerate(slots) if slot.many), len(slots))
    tail = len(slots) - many - 1
    several = [at for at, each in enumerate(operands) if _several(each)]
    found: list[Argument] = []
    for at, each in enumerate(operands):
        left = len(operands) - 1 - at
        before, behind = several[0] < at or at in several, several[-1] > at or at in several
        for position, slot in enumerate(slots):
            from_end = len(slots) - 1 - position
            if position < many:
                falls = position == at or (before and position > at)
            elif position > many:
                falls = from_end == left or (behind and from_end > left)
            else:
                falls = (before or at >= many) and (behind or left >= tail)
            if falls:
                found.append(_in_slot(each, slot))
    return found


def _in_slot(argument: Argument, slot: Slot) -> Argument:
    return Argument(slot, argument.values, argument.raw, argument.option, argument.places, argument.word)
