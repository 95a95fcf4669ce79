"""What a command line does to files, hosts and programs, read by the tables of its programs."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.shell.builtins import steers
from rebuno.policy.facets.shell.effects import git, kinds
from rebuno.policy.facets.shell.effects.arguments import Argument, Arguments, given_slots, read_arguments
from rebuno.policy.facets.shell.effects.expansion import HOME, Values, values_of
from rebuno.policy.facets.shell.effects.found import Effect, EffectKind, Found
from rebuno.policy.facets.shell.effects.narrowing import only_of, suffix_of
from rebuno.policy.facets.shell.effects.table import EffectRule, Form, ProgramTable, Slot
from rebuno.policy.facets.shell.effects.table_set import builtin_table
from rebuno.policy.facets.shell.effects.targets import read_targets
from rebuno.policy.facets.shell.script import ShellCommands, given_names, written
from rebuno.policy.facets.shell.variables import (
    ENVIRONMENT,
    EXPORTED,
    HARMLESS_VARIABLES,
    ODD,
    is_own,
    may_be_inherited,
    variables_in,
)
from rebuno.policy.facets.shell.walk import Redirect, SimpleCommand
from rebuno.policy.facets.shell.words import Word
from rebuno.policy.facets.shell.wrappers import WRAPPERS, inside

# Names that projects like to give their own scripts.
_OWN_SCRIPTS: Final = frozenset({"test", "install", "time", "watch", "check", "link", "split", "join", "rename"})
_SYSTEM: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/")
_QUIET: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"})
_MODULE: Final = re.compile(r"\w+(?:\.\w+)*")
_PYTHON: Final = "python"
_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")
_NUMBER_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t"})
_COMPLAINT: Final = re.compile(r"\$\{[^}]*\?")
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh"})
_TRACES: Final = re.compile(r"-[A-Za-z]*x[A-Za-z]*|xtrace")

Tables = Callable[[str], ProgramTable | None]


@dataclass(frozen=True, slots=True)
class CommandEffects:
    """What a command, or a whole text, does: its effects, and the parts of it that are not read, as written."""

    found: tuple[Effect, ...] = ()
    unread: tuple[str, ...] = ()


class _EffectReader:
    def __init__(self, simple: SimpleCommand, tables: Tables) -> None:
        self.simple = simple
        self.tables = tables
        self.found = Found(simple.home, git.READERS)

    def read(self) -> CommandEffects:
        for redirect in self.simple.redirects:
            self._redirect(redirect)
        if self.simple.words:
            self._program()
        return CommandEffects(tuple(self.found.effects), tuple(self.found.unread))

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
            named = None if name in _OWN_SCRIPTS else self.tables(name)
            if named is None:
                self._variables(())
            else:
                # `.venv/bin/python /tmp/x.py` runs what `python /tmp/x.py` does.
                self._table(named)
            return
        table = self.tables(name)
        if table is None:
            self.found.unread.append(written(self.simple.words))
            return
        self._table(table)

    def _table(self, table: ProgramTable) -> None:
        arguments = read_arguments(self.simple, table)
        self.found.unread.extend(arguments.unread)
        self._variables(arguments.table.environment)
        self._form(arguments, self._form_of(arguments))
        if table.style != "text" and not self._runs_code():
            self._shows()

    def _variables(self, harmless: Iterable[str]) -> None:
        # Those before it, and those that are set elsewhere in the text and may be in its environment.
        inherited = (one.removeprefix(EXPORTED) for one in self.simple.variables if not is_own(one))
        for name in (*given_names(self.simple), *inherited):
            known = name in HARMLESS_VARIABLES or any(fnmatchcase(name, one) for one in harmless)
            if steers(name) or not known:
                self.found.unread.append(f"{name.removeprefix(ODD)}=")

    def _globs(self) -> None:
        for word in self.simple.words[1:]:
            for value in values_of(word, self.simple.loops, home=self.simple.home) or ():
                if value.below:
                    # The names in the place of a glob are those in a folder.
                    self.found.add(EffectKind.READ, value.text, self.simple.places, f"{self.found.table}: a glob")

    def _prints(self) -> None:
        for word in self.simple.words[1:]:
            for name in self._inherited(word):
                self.found.add(EffectKind.READ, ENVIRONMENT, (), f"{self.found.table}: ${name}")

    def _inherited(self, word: Word) -> list[str]:
        # The variables in a word that may be of the environment, themselves or by way of one of the text.
        found: list[str] = []
        for name in variables_in("" if word.known else word.raw):
            loop = next((words for variable, words in reversed(self.simple.loops) if variable == name), None)
            names = [name] if loop is None else [each for one in loop for each in variables_in(one.raw)]
            if loop is None and name in self.simple.variables:
                names += self.simple.drawn
            found += (one for one in names if may_be_inherited(one))
        return found

    def _shows(self, *, tests: bool = False) -> None:
        # A word that a program was given may stand in what it prints, and in its complaints. A test complains of what
        # is no number; `${x:?text}` is a complaint of the shell itself.
        words = self.simple.words[1:]
        numbers = any(word.known and word.start in _NUMBER_TESTS for word in words)
        for word in words:
            if (not tests or numbers or _COMPLAINT.search(word.raw)) and self._inherited(word):
                self.found.unread.append(written((word,)))

    def _runs_code(self) -> bool:
        # Code of the project, which has the environment by itself.
        return any(one.kind is EffectKind.EXECUTED and not (one.name or one.outside) for one in self.found.effects)

    # ------------------------------------------------------------ by the table

    def _form_of(self, arguments: Arguments) -> Form:
        forms = arguments.table.forms
        return next((form for form in forms if _holds(form, arguments)), _UNREAD)

    def _form(self, arguments: Arguments, form: Form) -> None:
        table = arguments.table
        if table.style == "text":
            self.found.begin(table.name, (), (), "")
            self._globs()
            if any("printed" in slot.kinds for slot in form.operands):
                self._prints()
            else:
                self._shows(tests=any("tested" in slot.kinds for slot in form.operands))
            return
        found = self.found
        # What an option names is not narrowed by the names that the program looks at below its operands.
        found.begin(table.name, (), (), "")
        if arguments.values:
            for each in arguments.values:
                self._argument(each, arguments.given)
            self._inner(arguments)
        found.begin(table.name, only_of(arguments.values), form.only, suffix_of(arguments.values))
        command = next((slot for slot in form.operands if slot.kinds == ("command",)), None)
        if command is not None:
            self._command(arguments, form)
            return
        if arguments.module:
            self._module(arguments)
        given = self._given(arguments.operands, form.operands, arguments)
        if arguments.rest is not None:
            if table.behind is not None:
                self._behind(arguments.rest, table.behind, arguments)
            else:
                slots = form.operands if form.after is None else form.after
                given += self._given(arguments.rest, slots, arguments)
        read_targets(given, arguments.values, found)
        for rule, option in arguments.effects:
            self._rule(rule, arguments, option)
        for rule in (*form.effects, *table.always):
            self._rule(rule, arguments, "")

    def _behind(self, operands: list[Argument], table: ProgramTable, arguments: Arguments) -> None:
        form = next((one for one in table.forms if _holds(one, arguments)), _UNREAD)
        self._operands(operands, form.operands, arguments)
        for rule in form.effects:
            self._rule(rule, arguments, "")

    def _operands(self, operands: list[Argument], slots: tuple[Slot, ...], arguments: Arguments) -> list[Argument]:
        open_ = tuple(slot for slot in slots if _applies(slot, arguments.given))
        given, left = given_slots(operands, open_)
        self.found.unread.extend(left)
        for each in given:
            self._argument(each, arguments.given)
        for slot in open_:
            if slot.default is not None and not any(each.slot is slot for each in given):
                word = Word(slot.default)
                argument = Argument(slot, values_of(word), slot.default, "", arguments.places, word)
                self._argument(argument, arguments.given)
        return given

    def _argument(self, argument: Argument, given: set[str]) -> None:
        slot = argument.slot
        if not slot.choices:
            for kind in slot.kinds:
                kinds.read_kind(kind, argument, self.found)
            return
        chosen = [one for one in slot.choices if _applies(one, given)]
        if not chosen:
            self.found.unread.append(argument.raw)
        for one in chosen or (slot,):
            for kind in one.kinds:
                kinds.read_kind(kind, argument, self.found)

    def _inner(self, arguments: Arguments) -> None:
        # What stands behind an option such as `-exec` runs too.
        if any(each.slot.kinds == ("command",) for each in arguments.values):
            run = inside(self.simple.words[0].start.rpartition("/")[2], self.simple.words, self.simple.fed)
            if run.hidden or not run.commands:
                self.found.unread.append(written(self.simple.words))
            self._ran(run.commands)

    def _command(self, arguments: Arguments, form: Form) -> None:
        # Its options are the table's, what it runs is what the reader of wrappers found.
        name = self.simple.words[0].start.rpartition("/")[2]
        run = inside(name, self.simple.words, self.simple.fed) if name in WRAPPERS else None
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
        for rule in (*form.effects, *arguments.table.always):
            self._rule(rule, arguments, "")

    def _given(self, operands: list[Argument], slots: tuple[Slot, ...], arguments: Arguments) -> list[Argument]:
        kind = _tool_of(slots[0], operands[0].values if operands else None) if slots else ""
        if not kind:
            return self._operands(operands, slots, arguments)
        self._tool(tuple(each.word for each in operands), arguments, script=kind == "script-tool")
        return []

    def _tool(self, words: tuple[Word, ...], arguments: Arguments, *, script: bool) -> None:
        # All operands are a command that it runs, and what that does counts as done here.
        name = words[0].start if words and words[0].known else ""
        if "://" in name:
            self.found.unread.append(written(words))
        elif name.endswith(".py"):
            self.found.add(EffectKind.EXECUTED, name, arguments.places, self.found.why("", name))
        elif name:
            kinds.executed(name, arguments.places, self.found)
            # A name that no table knows may be that of a script of the project.
            if not script or len(words) > 1 or name in WRAPPERS or self.tables(name) is not None:
                self._hand(words, arguments)
        elif words:
            self.found.unread.append(written(words))

    def _module(self, arguments: Arguments) -> None:
        # A module of Python, and the words that it is given.
        words = arguments.module
        table = self.tables(arguments.table.modules_of) if arguments.table.modules_of else arguments.table
        name = words[0].start
        if table is None or not words[0].known or not _MODULE.fullmatch(name):
            self.found.unread.append(written(words))
            return
        known = table.modules.get(name)
        if isinstance(known, str):
            self._hand((Word(known), *words[1:]), arguments)
        elif known is not None:
            self._hand(words, arguments, known)
        else:
            # It acts for itself, wherever it is found.
            why = self.found.why("-m", name)
            self.found.add(EffectKind.EXECUTED, f"{_PYTHON} -m {name}", (), why, name=True)

    def _hand(self, words: tuple[Word, ...], arguments: Arguments, table: ProgramTable | None = None) -> None:
        name = words[0].start.rpartition("/")[2]
        if name in WRAPPERS and table is None:
            # What it runs is told only where a command of its own begins.
            self.found.unread.append(written(words))
            return
        inner = replace(self.simple, words=words, assigned=(), redirects=(), places=arguments.places)
        reader = _EffectReader(inner, self.tables)
        if table is None:
            reader._program()
        else:
            reader._table(table)
        self.found.effects += reader.found.effects
        self.found.unread += reader.found.unread

    def _ran(self, commands: Iterable[tuple[Word, ...]]) -> None:
        for words in commands:
            if words[0].known:
                kinds.executed(words[0].start, self.simple.places, self.found)

    def _rule(self, rule: EffectRule, arguments: Arguments, option: str) -> None:
        if _met(rule.needs, rule.without, arguments):
            if arguments.wandered and rule.target[:1] not in ("/", "~"):
                # It is done in each of the directories.
                self.found.unread.append(option or arguments.table.name)
            kinds.apply(rule, arguments.places, option, self.found)


_UNREAD: Final = Form(effects=(EffectRule("unread", "."),))
_SOMETHING: Final = Argument(Slot(("text",)), None, "", "", None, Word(""))


def _tool_of(slot: Slot, values: Values | None) -> str:
    # The kind of a command that begins with a word in this place; empty if none does.
    if slot.globs and values is not None and len(values) == 1 and not values[0].below:
        slot = next((each.slot for each in slot.globs if each.part(values[0].text) is not None), slot)
    return slot.kinds[0] if slot.kinds in (("tool",), ("script-tool",)) else ""


def _conditions(arguments: Arguments) -> set[str]:
    there = {*arguments.given, "operands" if arguments.operands or arguments.rest else "none"}
    if arguments.rest:
        there.add("after")
    if _outside(arguments):
        there.add("outside")
    return there


def _outside(arguments: Arguments) -> bool:
    # Of two operands one leads out of the folder in which the command stands, or is surely a folder.
    words = arguments.operands if not arguments.rest else () if arguments.operands else arguments.rest
    return len(words) == 2 and any(_leads_out(value.text) for each in words for value in each.values or ())


def _leads_out(text: str) -> bool:
    return text[:1] in ("/", HOME) or text in ("", ".") or text[-1] == "/" or ".." in text.split("/")


def _met(needs: frozenset[str], without: frozenset[str], arguments: Arguments) -> bool:
    if not (needs or without):
        return True
    there = _conditions(arguments)
    return (not needs or not needs.isdisjoint(there)) and without.isdisjoint(there)


def _holds(form: Form, arguments: Arguments) -> bool:
    return _met(form.needs, form.without, arguments)


def _applies(slot: Slot, given: set[str]) -> bool:
    return (not slot.needs or not slot.needs.isdisjoint(given)) and slot.without.isdisjoint(given)


def command_effects(simple: SimpleCommand, tables: Tables = builtin_table) -> CommandEffects:
    """What one command does, without what the programs that it runs do."""
    return _EffectReader(simple, tables).read()


def text_effects(shell: ShellCommands, tables: Tables = builtin_table) -> CommandEffects:
    """What a whole text does: all its commands, those that its wrappers run included."""
    found: list[Effect] = []
    unread: list[str] = list(shell.unread)
    for simple in (*shell.commands, *shell.opened):
        each = command_effects(simple, tables)
        found += each.found
        unread += each.unread
    if any(map(_traces, shell.commands)):
        # All words are printed as the commands run, and so are the values of variables.
        names = [one for text in shell.texts for one in variables_in(text) if may_be_inherited(one)]
        found += (Effect(EffectKind.READ, ENVIRONMENT, (), f"a trace: ${one}") for one in names)
    return CommandEffects(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(unread)))


def _traces(simple: SimpleCommand) -> bool:
    name = simple.words[0].start.rpartition("/")[2]
    return (name == "set" or name in _SHELLS) and any(_TRACES.fullmatch(word.start) for word in simple.words[1:])
