"""What a command line does to files, hosts and programs, read by the tables of its programs."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.shell.builtins import steers
from rebuno.policy.facets.shell.effects import kinds
from rebuno.policy.facets.shell.effects.arguments import Argument, Arguments, given_slots, read_arguments
from rebuno.policy.facets.shell.effects.expansion import values_of
from rebuno.policy.facets.shell.effects.kinds import Effect, EffectKind, Found
from rebuno.policy.facets.shell.effects.table import EffectRule, Form, Slot, Table, builtin_table
from rebuno.policy.facets.shell.effects.targets import read_targets
from rebuno.policy.facets.shell.script import ShellCommands, given_names, written
from rebuno.policy.facets.shell.variables import (
    ENVIRONMENT,
    EXPORTED,
    HARMLESS_VARIABLES,
    is_own,
    may_be_inherited,
    variables_in,
)
from rebuno.policy.facets.shell.walk import Redirect, SimpleCommand
from rebuno.policy.facets.shell.words import Word
from rebuno.policy.facets.shell.wrappers import WRAPPERS, inside

_SYSTEM: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/")
_QUIET: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"})
_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")

Tables = Callable[[str], Table | None]


@dataclass(frozen=True, slots=True)
class Effects:
    """What a command, or a whole text, does: its effects, each once, and the parts of it that are not read, as
    written."""

    found: tuple[Effect, ...] = ()
    unread: tuple[str, ...] = ()


class _EffectReader:
    def __init__(self, simple: SimpleCommand, tables: Tables) -> None:
        self.simple = simple
        self.tables = tables
        self.found = Found(simple.home)

    def read(self) -> Effects:
        for redirect in self.simple.redirects:
            self._redirect(redirect)
        if self.simple.words:
            self._program()
        return Effects(tuple(dict.fromkeys(self.found.effects)), tuple(dict.fromkeys(self.found.unread)))

    def _redirect(self, redirect: Redirect) -> None:
        values = values_of(redirect.file, self.simple.loops, home=self.simple.home)
        raw = redirect.file.start if redirect.file.known else redirect.file.raw
        if values is None:
            self.found.unread.append(raw)
            return
        for value in values:
            if value.text.startswith(_SOCKETS):
                host = value.text.split("/")[3]
                self.found.add(EffectKind.CONTACTED, host, (), "a redirect")
            elif value.text not in _QUIET or value.below:
                kind = EffectKind.WRITTEN if redirect.writes else EffectKind.READ
                self.found.add(kind, value.text, self.simple.places, "a redirect", below=value.below, names=value.names)

    def _program(self) -> None:
        given = self.simple.words[0].start
        name = given.rpartition("/")[2]
        if name != given and not given.startswith(_SYSTEM):
            # What it is nobody knows but from where it is; it acts for itself, as a script that a program runs.
            self.found.add(EffectKind.EXECUTED, given, self.simple.places, "the program")
            self._variables(())
            return
        table = self.tables(name)
        if table is None:
            self.found.unread.append(written(self.simple.words))
            return
        arguments = read_arguments(self.simple, table)
        self.found.unread.extend(arguments.unread)
        self._variables(arguments.table.environment)
        self._form(arguments, self._form_of(arguments))

    def _variables(self, harmless: Iterable[str]) -> None:
        # Those before it, and those that are set elsewhere in the text and may be in its environment.
        inherited = (one.removeprefix(EXPORTED) for one in self.simple.variables if not is_own(one))
        for name in (*given_names(self.simple), *inherited):
            known = name in HARMLESS_VARIABLES or any(fnmatchcase(name, one) for one in harmless)
            if steers(name) or not known:
                self.found.unread.append(f"{name}=")

    def _prints(self) -> None:
        # A variable that it prints may be one of the environment, itself or by way of one of the text.
        for word in self.simple.words[1:]:
            for value in values_of(word, self.simple.loops, home=self.simple.home) or ():
                if value.below:
                    # The names in the place of a glob are those in a folder.
                    self.found.add(EffectKind.READ, value.text, self.simple.places, f"{self.found.table}: a glob")
            for name in variables_in("" if word.known else word.raw):
                loop = next((words for variable, words in reversed(self.simple.loops) if variable == name), None)
                names = [name] if loop is None else [each for one in loop for each in variables_in(one.raw)]
                if loop is None and name in self.simple.variables:
                    names += self.simple.drawn
                for one in names:
                    if may_be_inherited(one):
                        self.found.add(EffectKind.READ, ENVIRONMENT, (), f"{self.found.table}: ${one}")

    # ------------------------------------------------------------ by the table

    def _form_of(self, arguments: Arguments) -> Form:
        forms = arguments.table.forms
        return next((form for form in forms if _holds(form, arguments)), Form(effects=(EffectRule("unread", "."),)))

    def _form(self, arguments: Arguments, form: Form) -> None:
        table = arguments.table
        if table.style == "text":
            if any("printed" in slot.kinds for slot in form.operands):
                self.found.begin(table.name, (), ())
                self._prints()
            return
        only = tuple(
            value.text for each in arguments.values if "only" in each.slot.kinds for value in each.values or ()
        )
        found = self.found
        found.begin(table.name, only, form.only)
        for each in arguments.values:
            self._argument(each)
        command = next((slot for slot in form.operands if slot.kinds == ("command",)), None)
        if command is not None:
            self._command(arguments, form)
            return
        given = self._operands(arguments.operands, form.operands, arguments)
        if arguments.rest is not None:
            slots = form.operands if form.after is None else form.after
            given += self._operands(arguments.rest, slots, arguments)
        read_targets(given, arguments.values, found)
        for rule, option in arguments.effects:
            self._rule(rule, arguments, option)
        for rule in form.effects:
            self._rule(rule, arguments, "")

    def _operands(self, operands: list[Argument], slots: tuple[Slot, ...], arguments: Arguments) -> list[Argument]:
        open_ = tuple(slot for slot in slots if _applies(slot, arguments.given))
        given, left = given_slots(operands, open_)
        self.found.unread.extend(left)
        for each in given:
            self._argument(each)
        missing = {id(slot) for slot in open_} - {id(each.slot) for each in given}
        for slot in open_:
            if slot.default is not None and id(slot) in missing:
                word = Word(slot.default)
                self._argument(Argument(slot, values_of(word), slot.default, "", arguments.places, word))
        return given

    def _argument(self, argument: Argument) -> None:
        for kind in argument.slot.kinds:
            kinds.read_kind(kind, argument, self.found)

    def _command(self, arguments: Arguments, form: Form) -> None:
        # Its options are the table's, what it runs is what the reader of wrappers found.
        name = self.simple.words[0].start.rpartition("/")[2]
        run = inside(name, self.simple.words) if name in WRAPPERS else None
        if run is None or run.hidden:
            self.found.unread.append(written(self.simple.words))
            return
        self._ran(run.commands)
        for rule, option in arguments.effects:
            self._rule(rule, arguments, option)
        nothing = not (run.commands or run.texts)
        if nothing:
            arguments.operands.clear()
        else:
            arguments.operands[:] = arguments.operands or [_SOMETHING]
        for rule in form.effects:
            self._rule(rule, arguments, "")

    def _ran(self, commands: Iterable[tuple[Word, ...]]) -> None:
        for words in commands:
            if words[0].known:
                kinds.executed(words[0].start, self.simple.places, self.found)

    def _rule(self, rule: EffectRule, arguments: Arguments, option: str) -> None:
        if _met(rule.needs, rule.without, arguments):
            kinds.apply(rule, arguments.places, option, self.found)


_SOMETHING: Final = Argument(Slot(("text",)), None, "", "", None, Word(""))


def _conditions(arguments: Arguments) -> set[str]:
    return {*arguments.given, "operands" if arguments.operands or arguments.rest else "none"}


def _met(needs: frozenset[str], without: frozenset[str], arguments: Arguments) -> bool:
    if not (needs or without):
        return True
    there = _conditions(arguments)
    return (not needs or not needs.isdisjoint(there)) and without.isdisjoint(there)


def _holds(form: Form, arguments: Arguments) -> bool:
    return _met(form.needs, form.without, arguments)


def _applies(slot: Slot, given: set[str]) -> bool:
    return (not slot.needs or not slot.needs.isdisjoint(given)) and slot.without.isdisjoint(given)


def command_effects(simple: SimpleCommand, tables: Tables = builtin_table) -> Effects:
    """What one command does, without what the programs that it runs do."""
    return _EffectReader(simple, tables).read()


def text_effects(shell: ShellCommands, tables: Tables = builtin_table) -> Effects:
    """What a whole text does: all its commands, those that its wrappers run included."""
    found: list[Effect] = []
    unread: list[str] = list(shell.unread)
    for simple in (*shell.commands, *shell.opened):
        each = command_effects(simple, tables)
        found += each.found
        unread += each.unread
    return Effects(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(unread)))
