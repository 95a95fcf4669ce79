"""Makes command lines from the tables: options, values and operands of the kinds that a table tells, in many spellings.

What the cases of a table show to be sensible words is used too.
"""

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from rebuno.policy.facets.shell.effects.table import BESIDE, Form, Option, ProgramTable, Slot
from rebuno.policy.facets.shell.effects.table_set import builtin_table, load_yaml, table_files
from tests.policy.effects.tracing.pools import FILTERS, POOLS

_WORD: Final = re.compile(r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+""")
_SHELL: Final = re.compile(r"[|;&<>`\n()]|\$\(|#")
_NEVER: Final = frozenset({"unread", "code"})


def cases_of(program: str) -> list[str]:
    """The lines of the cases of a program's table."""
    value = load_yaml(table_files()[program].read_text("utf-8"))
    # A table of several programs has the cases of all.
    named = re.compile(rf"(?:^|[\s('\"/=;&|]){re.escape(program)}(?![\w.-])")
    return [str(line) for line in value.get("cases") or {} if named.search(str(line))]


def _open(slots: Sequence[Slot], given: set[str]) -> list[Slot]:
    return [
        slot
        for slot in slots
        if (not slot.needs or not slot.needs.isdisjoint(given)) and slot.without.isdisjoint(given)
    ]


class LineMaker:
    """Lines of one program. The same seed makes the same lines."""

    def __init__(self, program: str, seed: int, table: ProgramTable | None = None) -> None:
        self.program = program
        self.random = Random(f"{seed} {program}")
        made = table or builtin_table(program)
        assert made is not None
        self.table = made
        self.cases = cases_of(program)
        self.values: dict[tuple[str, str], list[str]] = {}
        self.operands: dict[str, list[str]] = {}
        self.simple: list[tuple[list[str], int]] = []
        for line in self.cases:
            self._learn(line)

    def lines(self) -> Iterator[str]:
        """The cases in any order, each with a made line behind it; then made lines without an end."""
        for case in self.random.sample(self.cases, len(self.cases)):
            yield case
            yield self.line()
        while True:
            yield self.line()

    def line(self) -> str:
        """A made line."""
        known = self.simple and self.random.random() < 0.4
        return self._wrapped(self._changed() if known else " ".join(self._command()))

    # ------------------------------------------------------------ from cases

    def _learn(self, line: str) -> None:
        if _SHELL.search(line):
            return
        words = _WORD.findall(line)
        if not words or words[0] != self.program:
            return
        table, at = self.table, 1
        start = at
        while at < len(words):
            word, at = words[at], at + 1
            if word == "--":
                break
            if word[:1] == "-" and len(word) > 1:
                name, equals, value = word.partition("=")
                option = table.options.get(name) or table.options.get(word[:2])
                if option is not None and option.values:
                    key = (table.name, option.name)
                    if equals or (name not in table.options and len(word) > 2):
                        self.values.setdefault(key, []).append(value if equals else word[2:])
                    elif not option.attached and at < len(words):
                        self.values.setdefault(key, []).append(words[at])
                        at += 1
            elif word in table.subcommands:
                table = table.subcommands[word]
                start = at
            elif table.otherwise is not None:
                table = table.otherwise
                self.operands.setdefault(table.name, []).append(word)
            else:
                self.operands.setdefault(table.name, []).append(word)
        self.simple.append((words, start))

    def _changed(self) -> str:
        # A case with other options before its own words, or with another operand.
        words, start = self.random.choice(self.simple)
        words = list(words)
        table = self.table
        for word in words[1:start]:
            table = table.subcommands.get(word, table)
        for at in range(start, len(words)):
            if words[at] in self.operands.get(table.name, ()) and self.random.random() < 0.25:
                words[at] = self.random.choice((*POOLS["path"], *self.operands[table.name]))
        made = self._options(table, set(), self.random.choice((0, 1, 1, 2, 3)))
        words[start:start] = made
        return " ".join(words)

    # ------------------------------------------------------------ from the table

    def _command(self) -> list[str]:
        table, words = self.table, [self.program]
        if table.style == "text":
            return [*words, *(self._value(Slot(("text",)), table, "") for _ in range(self.random.randrange(4)))]
        while table.subcommands:
            if self.random.random() < 0.15:
                words += self._options(table, set(), 1)
            if table.otherwise is not None and self.random.random() < 0.2:
                table = table.otherwise
                break
            name = self.random.choice(sorted(table.subcommands))
            words.append(name)
            table = table.subcommands[name]
        given: set[str] = set()
        options = self._options(table, given, self.random.choices(range(6), (15, 28, 25, 17, 10, 5))[0])
        form = next((form for form in table.forms if self._holds(form, given)), table.forms[0])
        operands = self._operands(form, table, given)
        if table.style == "assignments" or table.assignments:
            operands += self._assignments(table)
        if table.style == "primaries":
            return [*words, *operands, *options]
        if table.permute and options and self.random.random() < 0.25:
            operands, options = [*operands, *options], []
        after: list[str] = []
        if form.after is not None and self.random.random() < 0.4:
            after = ["--", *self._slots(_open(form.after, given), table)]
        elif self.random.random() < 0.07 and table.style == "getopt":
            options.append("--")
        return [*words, *options, *operands, *after]

    def _holds(self, form: Form, given: set[str]) -> bool:
        there = {*given, "operands" if self.random.random() < 0.8 else "none"}
        return (not form.needs or not form.needs.isdisjoint(there)) and form.without.isdisjoint(there)

    def _operands(self, form: Form, table: ProgramTable, given: set[str]) -> list[str]:
        return self._slots(_open(form.operands, given), table)

    def _slots(self, slots: Sequence[Slot], table: ProgramTable) -> list[str]:
        words: list[str] = []
        for slot in slots:
            if not _NEVER.isdisjoint(slot.kinds):
                continue
            if slot.many:
                count = self.random.choices(range(4), (12, 50, 25, 13))[0]
            elif slot.optional or slot.default is not None:
                count = self.random.randrange(2)
            else:
                count = 1 if self.random.random() < 0.96 else 0
            words += [self._value(slot, table, "") for _ in range(count)]
        if self.random.random() < 0.02:
            words.append(self.random.choice(POOLS["path"]))
        return words

    def _assignments(self, table: ProgramTable) -> list[str]:
        found: list[str] = []
        for name, slot in table.assignments.items():
            if name != "*" and _NEVER.isdisjoint(slot.kinds) and self.random.random() < 0.5:
                found.append(f"{name}={self._value(slot, table, f'{name}=')}")
        return found

    def _options(self, table: ProgramTable, given: set[str], count: int) -> list[str]:
        known: dict[int, tuple[Option, list[str]]] = {}
        for name, option in table.options.items():
            known.setdefault(id(option), (option, []))[1].append(name)
        usable = [pair for pair in known.values() if self._usable(pair[0])]
        chosen = self.random.sample(usable, min(count, len(usable)))
        # What decides how the operands are read counts twice.
        deciding = {name for form in table.forms for name in (*form.needs, *form.without)}
        opposed = [pair for pair in usable if pair not in chosen and not deciding.isdisjoint(pair[1])]
        if count and opposed and self.random.random() < 0.3:
            chosen.insert(self.random.randrange(len(chosen) + 1), self.random.choice(opposed))
        words: list[str] = []
        for option, names in chosen:
            given.update(names)
            words += self._spelled(self.random.choice(names), option, table)
        return self._clustered(words, table)

    def _usable(self, option: Option) -> bool:
        return all(_NEVER.isdisjoint(slot.kinds) for slot in option.values) and not any(
            rule.verb == "unread" and not rule.needs for rule in option.effects
        )

    def _spelled(self, name: str, option: Option, table: ProgramTable) -> list[str]:
        chance = self.random.random()
        if name == "+TEXT":
            return [f"+{self.random.choice(('%Y', 'x', '1', '%s'))}"]
        if name.endswith("NUMBER"):
            return [f"{name[0]}{self.random.choice((1, 2, 5, 20))}"]
        if table.abbreviations and name[:2] == "--" and chance < 0.12 and len(name) > 5:
            name = name[: self.random.randrange(4, len(name))]
        if not option.values:
            return [name]
        values = [self._value(slot, table, option.name) for slot in option.values]
        if any(slot.kinds == ("command",) for slot in option.values):
            return [name, self.random.choice(POOLS["command"]), self.random.choice(("';'", "'{}' ';'", "{} +", r"\;"))]
        if option.attached:
            if self.random.random() < 0.4:
                return [name]
            return [f"{name}={values[0]}" if name[:2] == "--" else f"{name}{values[0]}"]
        if len(values) == 1 and name[:2] == "--" and self.random.random() < 0.5:
            return [f"{name}={values[0]}"]
        if len(values) == 1 and table.style == "getopt" and len(name) == 2 and self.random.random() < 0.3:
            return [f"{name}{values[0]}"]
        return [name, *values]

    def _clustered(self, words: list[str], table: ProgramTable) -> list[str]:
        # `-a -b` is `-ab`.
        if table.style != "getopt" or self.random.random() < 0.6:
            return words
        short = [
            at for at, word in enumerate(words) if re.fullmatch("-[A-Za-z]", word) and not table.options[word].values
        ]
        if len(short) < 2:
            return words
        first, second = short[:2]
        return [*words[:first], words[first] + words[second][1:], *words[first + 1 : second], *words[second + 1 :]]

    def _value(self, slot: Slot, table: ProgramTable, option: str) -> str:
        shown = self.values.get((table.name, option)) if option else self.operands.get(table.name)
        if shown and self.random.random() < (0.7 if option else 0.35):
            return self.random.choice(shown)
        if slot.choices:
            return self._value(self.random.choice(slot.choices), table, option or "\0")
        if slot.globs:
            return self._choice(slot, table)
        kinds = [kind for kind in slot.kinds if kind in POOLS and kind != "text"] or ["text"]
        if any(BESIDE.fullmatch(kind) for kind in slot.kinds):
            kinds = ["path"]
        return self.random.choice(POOLS[self.random.choice(kinds)])

    def _choice(self, slot: Slot, table: ProgramTable) -> str:
        # A word of a kind that the table makes itself.
        usable = [one for one in slot.globs if _NEVER.isdisjoint(one.slot.kinds)]
        if not usable:
            return self.random.choice(POOLS["text"])
        one = self.random.choice(usable)
        if one.glob == "*":
            return self._value(one.slot, table, "\0")
        inner = self._value(one.slot, table, "\0") if "PATH" in one.glob else ""
        word = one.glob.replace("PATH", inner).replace("*", self.random.choice(("a", "1", "x")))
        return word if re.fullmatch(r"[\w./~$,:=+@%{}-]+", word) else f"'{word}'"

    # ------------------------------------------------------------ around it

    def _wrapped(self, line: str) -> str:
        chance = self.random.random()
        for share, make in self._shapes():
            if chance < share:
                return make.replace("LINE", line).replace("QUOTED", line.replace("'", "'\\''"))
            chance -= share
        if chance < 0.04:
            word = next((word for word in line.split() if word in ("a.txt", "b.txt", "a.py", "src", "README.md")), None)
            if word is not None:
                changed = line.replace(f" {word}", ' "$f"' if self.random.random() < 0.5 else " $f", 1)
                return (
                    f"for f in {self.random.choice((f'{word} c.txt', '*.txt', 'src/*.py', word))}; do {changed}; done"
                )
        return line

    def _shapes(self) -> Sequence[tuple[float, str]]:
        random = self.random
        other = random.choice((*self.cases, "ls", "cat b.txt"))
        return (
            (0.05, f"cd {random.choice(('src', '../outside', 'docs', '~', 'src/sub', '/mnt/outside'))} && LINE"),
            (0.05, f"LINE | {random.choice(FILTERS)}"),
            (0.03, "cat a.txt | LINE"),
            (0.03, f"LINE > {random.choice(POOLS['new'])}"),
            (0.02, "LINE 2>&1 | tail -2"),
            (0.02, "LINE 2>/dev/null"),
            (0.02, "LINE < b.txt"),
            (0.02, f"LINE && {other}"),
            (0.02, f"LINE; {other}"),
            (0.01, "LINE || true"),
            (0.02, "(cd src; LINE); ls"),
            (0.02, "sh -c 'QUOTED'"),
            (0.01, "CI=1 LINE"),
            (0.01, "time LINE"),
            (0.01, "if LINE; then ls src; fi"),
            (0.01, "LINE >> app.log 2>&1"),
            (0.01, "env LINE"),
        )


def programs_with_tables() -> dict[str, Any]:
    """The programs of all tables that come along."""
    return {name: name for name in sorted(table_files()) if "." not in name}
