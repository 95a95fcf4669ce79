"""Words whose effect depends on other words: the target of a copy, and what a new link points to."""

from collections.abc import Iterable, Sequence
from typing import Final

from rebuno.policy.facets.shell.effects.arguments import Argument
from rebuno.policy.facets.shell.effects.expansion import HOME, WordValue
from rebuno.policy.facets.shell.effects.found import EffectKind, Found

INTO: Final = frozenset({"into", "into-deep"})
_TARGETED: Final = INTO | {"linked"}
_NO_NAMES: Final = frozenset({"", ".", "..", HOME})


def read_targets(operands: Sequence[Argument], values: Sequence[Argument], found: Found) -> None:
    """Adds what `into` and `linked` words make a command do. `values` are those of its options."""
    if not any(_TARGETED.intersection(each.slot.kinds) for each in (*operands, *values)):
        return
    targets = [each for each in (*operands, *values) if not INTO.isdisjoint(each.slot.kinds)]
    linked = [each for each in operands if "linked" in each.slot.kinds]
    sources = [each for each in operands if INTO.isdisjoint(each.slot.kinds)]
    for target in targets:
        _into(target, sources, found)
    for one in linked:
        _linked(one, targets, found)
        if not targets:
            # With one word alone the link has the same name here.
            for value in one.values or ():
                found.add(EffectKind.WRITTEN, _name(value.text) or ".", one.places, found.why("", one.raw))


def _values(arguments: Iterable[Argument]) -> list[WordValue]:
    return [value for each in arguments for value in each.values or ()]


def _name(text: str) -> str:
    return text.rstrip("/").rpartition("/")[2]


def _folder(text: str) -> str:
    before, slash, _ = text.rstrip("/").rpartition("/")
    return before or slash or (HOME if text == HOME else "")


def _into(target: Argument, sources: Sequence[Argument], found: Found) -> None:
    # What is there is a file, or a folder in which what is copied keeps its name.
    deep = "into-deep" in target.slot.kinds
    why = found.why(target.option, target.raw)
    given = _values(sources)
    for value in target.values or ():
        folder = bool(target.option) or value.text[-1:] == "/"
        names = [_name(each.text) for each in given if not each.below]
        globs = [each for each in given if each.below]

        def add(text: str, below: bool, names: str = "") -> None:
            found.add(EffectKind.WRITTEN, text, target.places, why, below=below, names=names)

        if value.below or not _NO_NAMES.isdisjoint(names) or any(not each.names for each in globs):
            add(value.text, True)
            continue
        if deep or not (folder or globs):
            add(value.text, deep)
        for name in names:
            add(f"{value.text.rstrip('/') or '/'}/{name}".replace("//", "/"), deep)
        for each in globs:
            add(value.text, True, "" if deep else each.names)


def _linked(one: Argument, targets: Sequence[Argument], found: Found) -> None:
    # A symbolic link is read from the folder that it lies in; a hard link from where the command stands.
    why = found.why(one.option, one.raw)
    for value in one.values or ():
        folders = {""}
        if value.text[:1] not in ("/", HOME):
            for target in _values(targets):
                folders |= {target.text, _folder(target.text)}
        for folder in sorted(folders):
            text = f"{folder.rstrip('/')}/{value.text}" if folder else value.text
            found.add(EffectKind.READ, text, one.places, why, below=True)
            found.add(EffectKind.WRITTEN, text, one.places, why, below=True)
