"""Writes docs/effects-programs.md from the tables of programs: `make programs`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from rebuno.policy import known_programs
from rebuno.policy.facets.shell.effects.table import EffectRule, Option, ProgramTable, Slot
from rebuno.policy.facets.shell.effects.table_set import BSD, GNU, builtin_table, table_files
from tests.docs.pages import ROOT

FILE: Final = ROOT / "docs" / "effects-programs.md"
_HEAD: Final = """\
# What programs are known to do

After this page you know which programs the facets of [effects](effects.md) read, and what each is known to do. `make
programs` writes it from [the tables](../rebuno/policy/facets/shell/effects/tables), whose [own
page](../rebuno/policy/facets/shell/effects/tables/README.md) explains the kinds of words that stand here in code:
`path` is read, `new` is written, `gone` is removed, `deep` goes for all below a folder, `run` and `program` are
executed, `host` and `url` are contacted.

What a table does not name is unread: every other option, subcommand and word. *Unread by choice* are those that the
table names for that reason: what they do cannot be told from the line. Options without an effect are only counted. For
one line, `rebuno effects LINE` shows how it is read.
"""
# Kinds of words that do nothing to files, hosts and programs.
_NOTHING: Final = frozenset(
    {"text", "number", "only", "file-type", "all", "dir", "name", "word", "switch", "define", "no-archive", "at"}
)
_UNREAD: Final = frozenset({"unread", "code"})
_VERBS: Final = {
    "read": "reads",
    "read-deep": "reads all below",
    "read-visible": "reads all below",
    "write": "writes",
    "write-deep": "writes below",
    "write-visible": "writes below",
    "write-in": "writes a name in",
    "remove": "removes",
    "remove-deep": "removes all below",
    "contact": "contacts",
    "run": "executes",
    "run-deep": "executes code below",
    "unread": "is unread",
}


_TARGETS: Final = {
    "elsewhere": "the folder in which it stands, if that is outside of the project",
    "project": "the project",
    "root": "the folder of the project",
    ".": "the folder in which it stands",
}


def text() -> str:
    """What the page should say."""
    heads = {(one.name, one.flavour): one for one in known_programs()}
    groups: dict[str, list[str]] = {}
    for name, file in sorted(table_files().items()):
        groups.setdefault(file.name, []).append(name)
    parts = [_HEAD, f"There are tables of {len({name for name, _ in heads})} programs.\n"]
    for names in sorted(groups.values(), key=lambda one: one[0].casefold()):
        plain = [name.removesuffix(f".{BSD}") for name in names]
        flavour = BSD if plain != names else GNU
        head = heads[plain[0], BSD if flavour == BSD else ""]
        table = builtin_table(plain[0], flavour)
        assert table is not None
        title = ", ".join(plain) + (" (BSD)" if flavour == BSD else "")
        traced = f"Traced: {head.versions}." if head.versions else "Nothing was traced."
        parts.append(
            "\n".join([f"## {title}\n", f"{head.about} {traced}".strip() + "\n", *_table(table, "", None), ""])
        )
    return "\n".join(parts)


def _table(table: ProgramTable, name: str, outer: ProgramTable | None) -> Iterator[str]:
    """The lines about one table, and those about its subcommands, without what it takes from the `outer` one."""
    said = [one for one in _said(table, outer) if one]
    if name:
        yield f"- `{name}`: {'; '.join(said) or 'no effect'}"
    else:
        yield from (f"- {one}" for one in said)
    for names, inner in _subcommands(table):
        yield from _table(inner, f"{name} {names}".strip(), table)
    if table.otherwise is not None:
        yield from _table(table.otherwise, f"{name} …".strip(), table)


def _subcommands(table: ProgramTable) -> Iterator[tuple[str, ProgramTable]]:
    groups: list[tuple[list[str], ProgramTable]] = []
    for name, inner in table.subcommands.items():
        bare = replace(inner, name="")
        for names, other in groups:
            if replace(other, name="") == bare:
                names.append(name)
                break
        else:
            groups.append(([name], inner))
    yield from (("|".join(names), inner) for names, inner in groups)


def _said(table: ProgramTable, outer: ProgramTable | None) -> Iterator[str]:
    forms = [form for form in table.forms if form.operands or form.after or form.effects or len(table.forms) > 1]
    for form in forms:
        words = [*map(_slot, form.operands), *(f"{_slot(slot)} behind `--`" for slot in form.after or ())]
        rules = [_rule(rule) for rule in form.effects]
        when = _conditions(form.needs, form.without)
        parts = [f"words: {', '.join(words)}", *rules] if words else rules
        yield f"{', '.join(parts) or 'no effect'}{when}"
    always = [_rule(rule) for rule in table.always if outer is None or rule not in outer.always]
    if always:
        yield f"always: {', '.join(always)}"
    options = _options(table)
    named = [(names, one) for names, one in options if _does(one)]
    if named:
        yield "options: " + ", ".join(f"`{' '.join(names)}` {_option(one)}" for names, one in named)
    unread = [" ".join(names) for names, one in options if _is_unread(one)]
    if unread:
        yield "unread by choice: " + ", ".join(f"`{one}`" for one in unread)
    rest = sum(1 for _, one in options if not _does(one) and not _is_unread(one))
    if rest:
        yield f"{rest} option{'s' if rest > 1 else ''} without effect"
    if table.assignments:
        yield "assignments: " + ", ".join(f"`{key}=` {_slot(slot)}" for key, slot in table.assignments.items())
    if table.modules and (outer is None or table.modules != outer.modules):
        yield "modules: " + ", ".join(f"`{one}`" for one in sorted(table.modules))
    if table.unread and (outer is None or table.unread != outer.unread):
        yield "words that are unread in every place: " + ", ".join(f"`{one}`" for one in table.unread)


def _options(table: ProgramTable) -> list[tuple[list[str], Option]]:
    found: dict[int, tuple[list[str], Option]] = {}
    for name, option in table.options.items():
        found.setdefault(id(option), ([], option))[0].append(name)
    return list(found.values())


def _kinds(option: Option) -> set[str]:
    slots = [each for slot in option.values for each in (slot.choices or (slot,))]
    return {kind for slot in slots for kind in slot.kinds}


def _is_unread(option: Option) -> bool:
    return bool(_kinds(option) & _UNREAD) and not option.effects


def _does(option: Option) -> bool:
    return not _is_unread(option) and bool(option.effects or _kinds(option) - _NOTHING)


def _option(option: Option) -> str:
    words = [_slot(slot) for slot in option.values if set(slot.kinds) - _NOTHING or slot.choices]
    return " and ".join([*words, *map(_rule, option.effects)])


def _slot(slot: Slot) -> str:
    if slot.choices:
        return " or ".join(map(_slot, slot.choices))
    if slot.globs:
        return " or ".join(f"`{one.glob}` {_slot(one.slot)}" for one in slot.globs)
    told = f"`{'+'.join(slot.kinds)}`" + ("…" if slot.many else "")
    if slot.among:
        told += f" (one of {_names(sorted(slot.among))})"
    if slot.default is not None:
        told += f" (else `{slot.default}`)"
    return told + _conditions(slot.needs, slot.without)


def _rule(rule: EffectRule) -> str:
    only = f" ({_names(rule.only)})" if rule.only else ""
    target = "" if rule.verb == "unread" else f" {_TARGETS.get(rule.target, f'`{rule.target}`')}"
    return f"{_VERBS[rule.verb]}{target}{only}{_conditions(rule.needs, rule.without)}"


def _conditions(needs: Iterable[str], without: Iterable[str]) -> str:
    parts = [f"{word} {_names(sorted(names))}" for word, names in (("with", needs), ("without", without)) if names]
    return f" ({', '.join(parts)})" if parts else ""


def _names(names: Sequence[str]) -> str:
    words = {"none": "no words", "operands": "words", "after": "words behind `--`", "outside": "words that lead out"}
    return " ".join(words.get(one, f"`{one}`") for one in names)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
