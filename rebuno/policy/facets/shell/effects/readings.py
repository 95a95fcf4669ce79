"""Effects as values of a rule: a folder with all that lies below it, and a program by its name."""

import re
from dataclasses import replace
from typing import Any, ClassVar, Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path import facets as paths
from rebuno.policy.facets.path.begins import resolved_places
from rebuno.policy.facets.path.facets import PathReading
from rebuno.policy.facets.path.globs import PathGlob, loose
from rebuno.policy.facets.path.placed import START, Placed, either
from rebuno.policy.facets.predicates import predicate
from rebuno.policy.facets.reading import NO_CONTEXT, PathContext, Reading, UncertainReading
from rebuno.policy.facets.shell.effects.effects import CommandEffects
from rebuno.policy.facets.shell.effects.expansion import HOME
from rebuno.policy.facets.shell.effects.found import Effect, EffectKind
from rebuno.policy.facets.url.hosts import host_literal
from rebuno.policy.facets.url.parse import read_url
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import UNREADABLE, Tri

_ALL: Final = "/**"
# How the texts of folders end: whole, and with all names that lie in them.
_ENDINGS: Final = (_ALL, "/*")
# The signs of a glob, and those that would make another reading of it.
_SIGNS: Final = re.compile(r"\*+|\?|\[[^\]]*\]")
_UNTOLD: Final = re.compile(r"[\\{}]|\[[^\]]*\Z|\[[!^]?\]")
# Names of files; nobody keeps secrets, hooks or workflows in a folder that is named so.
_FILE: Final = re.compile(
    r"\w[\w.@+-]*\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|vue|svelte|go|rs|c|h|cc|cpp|cxx|hpp|hh|cs|java|kt|kts|scala|swift|rb"
    r"|php|pl|lua|ex|exs|erl|hs|ml|clj|dart|zig|sql|sh|bash|md|mdx|rst|adoc|txt|log|csv|tsv|json|jsonl|ndjson|yaml|yml"
    r"|toml|ini|cfg|xml|html|htm|css|scss|sass|less|svg|png|jpg|jpeg|gif|ico|pdf|proto|graphql|ipynb|diff|patch|lock)"
)


@dataclass(frozen=True, slots=True)
class FolderReading(Reading):
    r"""A folder that stands for all that lies below it: for names that fit one of the globs `only` if there are any,
    and if it is `visible` for no name that begins with a dot, if it is `direct` for those in the folder itself.

    Its text ends with `/**`, or with the glob of the names: `src/*.py` in the folder, `src/**/*.py` below it. With
    several globs it has a text for each, and a test of texts must hold of all. A sure answer holds for every file that
    it stands for; but what names a `*` (`contains "*"`, `matches r".*\*\.py"`) asks how the text is written.
    """

    folder: PathReading
    only: tuple[str, ...] = ()
    visible: bool = False
    direct: bool = False

    def equals(self, right: Any, fold: bool) -> Tri:
        """Maybe for the folder and for what lies below it, since it stands for more than one path."""
        same = self.folder.equals(right, fold)
        if same is False and type(right) is PathReading and right.under(self.folder) is not False:
            return None
        return None if same else same

    def under(self, right: Any) -> Tri:
        """As of a file. A folder above the one asked for holds it: maybe."""
        found = self.folder.under(right)
        if found is False and type(right) is PathReading and right.under(self.folder) is not False:
            # A name in the folder itself lies below no folder further down.
            deeper = len(right.segments) > len(self.folder.segments) + 1
            return False if self.direct and deeper else None
        return found

    def contains(self, right: Any, fold: bool) -> Tri:
        """What all that lies below has in common holds `right`; else some of it may."""
        if isinstance(right, str) and "*" in right:
            return True if all(text.contains(right, fold) for text in self._texts()) else None
        test = predicate(Op.CONTAINS, fold)
        held = isinstance(right, str) and all(any(test(run, right) for run in runs) for runs in self._runs())
        return True if held else None

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """`like` is yes where all below fits, no where nothing below can, else maybe; the others look at what the texts
        of all that lies below have in common.

        To `like`, nothing lies below what is named as a file (`src/app.py`).
        """
        if op is Op.LIKE and type(right) is PathGlob:
            return self._like(right, fold)
        if isinstance(right, str) and ((op is Op.MATCHES and r"\*" in right) or (op is Op.ENDS and "*" in right)):
            written = all(text.text_test(op, right, fold) for text in self._texts())
            return written if right in _ENDINGS else True if written else None
        if not isinstance(right, str) or op not in (Op.STARTS, Op.ENDS):
            # What an expression makes of the names below is not known.
            return None
        if op is Op.ENDS:
            return True if all(predicate(op, fold)(runs[-1], right) for runs in self._runs()) else None
        before = f"{self.folder}/".replace("//", "/")
        if self.folder.absolute and predicate(op, fold)(before, right):
            return True
        # The text may go on below the folder.
        return None if loose(right).startswith(loose(before)) else self.folder.text_test(op, right, fold)

    def _like(self, pattern: PathGlob, fold: bool) -> Tri:
        if pattern.takes_all and self.folder.text_test(Op.LIKE, pattern, fold):
            return True
        if not self.folder.absolute:
            return None
        leaf = bool(self.folder.segments) and _FILE.fullmatch(self.folder.segments[-1]) is not None
        below = not leaf and pattern.may_match_below(
            self.folder.segments, self.only, visible=self.visible, direct=self.direct
        )
        here = self.folder.text_test(Op.LIKE, pattern, fold)
        return False if not below and here is False else None

    def _runs(self) -> list[list[str]]:
        # What stands in each text between the signs of its globs; nothing where that cannot be told.
        return [[""] if _UNTOLD.search(str(text)) else _SIGNS.split(str(text)) for text in self._texts()]

    def _texts(self) -> list[PathReading]:
        # What a glob or a search tells of the names stands at the end, once for each of its globs.
        names = self.only or ("*" if self.direct else "**",)
        between = ("**",) if self.only and not self.direct else ()
        start = self.folder.segments
        return [PathReading(self.folder.absolute, self.folder.ups, (*start, *between, one)) for one in names]

    def json(self) -> Any:
        """The text; of several globs, all in braces: `src/**/{*.ts,*.tsx}`."""
        return str(self)

    def __str__(self) -> str:
        texts = self._texts()
        if len(texts) == 1:
            return str(texts[0])
        before = str(texts[0]).removesuffix(texts[0].segments[-1])
        return f"{before}{{{','.join(self.only)}}}"


@dataclass(frozen=True, slots=True)
class ProgramName(Reading):
    """A program that is found by its name. It lies in no folder that a rule can name."""

    name: str
    symmetric: ClassVar[bool] = True

    def equals(self, right: Any, fold: bool) -> Tri:
        """The same name; maybe where only case differs, or for a path that ends with the name."""
        name = _name(right)
        if right == self or (fold and name is not None and name.casefold() == self.name.casefold()):
            return True
        return None if name is not None and name.casefold() == self.name.casefold() else False

    def under(self, right: Any) -> Tri:
        """No: it is found by its name, wherever it lies."""
        return False

    def contains(self, right: Any, fold: bool) -> Tri:
        """The name holds the text."""
        return predicate(Op.CONTAINS, fold)(self.name, right) if isinstance(right, str) else None

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """The usual tests of a text; a pattern for paths of one segment is one for names."""
        if type(right) is PathGlob:
            return right.names(self.name)
        return predicate(op, fold)(self.name, right) if isinstance(right, str) else None

    def json(self) -> Any:
        """The name."""
        return self.name

    def __str__(self) -> str:
        return self.name


def _name(right: Any) -> str | None:
    if isinstance(right, ProgramName):
        return right.name
    return right.segments[-1] if isinstance(right, PathReading) and right.segments else None


class UnknownEffect(Reading):
    """An effect that is not known: every answer about it is maybe."""

    __slots__ = ()

    def json(self) -> Any:
        """A sentence instead of a value."""
        return "something that the text does not show"


UNKNOWN: Final = UnknownEffect()


@dataclass(frozen=True, slots=True)
class PlacedEffects:
    """The effects of one kind of a command that stands in known directories: values of a rule, each with the effect
    that it comes from, and the effects of all kinds whose place is not known, as written."""

    values: tuple[tuple[Any, Effect], ...]
    unread: tuple[str, ...]


def placed(effects: CommandEffects, context: PathContext) -> PlacedEffects:
    """The effects as values, read from the directories of the context."""
    values: list[tuple[Any, Effect]] = []
    unread: list[str] = list(effects.unread)
    for found in effects.found:
        one = found
        if context.begins != "" and found.places is not None:
            one = replace(found, places=resolved_places(found.places, context))
        for value in _values(one, context):
            if value is UNREADABLE:
                unread.append(one.text.replace(HOME, "~"))
            else:
                values.append((value, one))
    return PlacedEffects(tuple(values), tuple(dict.fromkeys(unread)))


def both(value: Any, effect: Effect) -> tuple[Any, ...]:
    """The values of an effect for a rule: what all is done to below a path is done to the path itself too, which may be
    a file."""
    if not effect.below or effect.glob or effect.project or effect.root or effect.outside:
        return (value,)
    readings = value.readings if type(value) is UncertainReading else (value,)
    return (either(one.folder for one in readings), value)


def _values(effect: Effect, context: PathContext) -> list[Any]:
    if effect.kind is EffectKind.CONTACTED:
        return [_host(effect)]
    if effect.name:
        return [ProgramName(effect.text)]
    path = _placed_path(effect, context)
    if type(path) is PathReading and not (effect.project or effect.outside):
        return [_made(path, effect, below=effect.below)]
    wide = effect.project and effect.text != "." and path != _path(effect, context)
    if effect.outside and _inside(path, context):
        return []
    if path is UNREADABLE:
        return [UNREADABLE]
    readings = path.readings if type(path) is UncertainReading else (path,)
    made = [_made(one, effect, below=effect.below or wide) for one in readings]
    return [either(made)]


def _made(path: PathReading, effect: Effect, *, below: bool) -> Any:
    if below:
        return FolderReading(path, effect.only, effect.visible, effect.direct)
    return path


def _path(effect: Effect, context: PathContext) -> Any:
    text = effect.text or "."
    if text[0] == HOME:
        return paths.read(f"~{text[1:]}", context)
    if text[0] == "/":
        return paths.read(text, context)
    return paths.read(Placed(text, effect.places), context)


def _placed_path(effect: Effect, context: PathContext) -> Any:
    if effect.root and _inside(paths.read(Placed(".", effect.places), context), context):
        return paths.read(Placed(effect.text, START), context)
    return _project(effect, context) if effect.project else _path(effect, context)


def _project(effect: Effect, context: PathContext) -> Any:
    # The file of a project is looked for upwards, so that what stands anywhere in `workdir` runs what is in it.
    here = paths.read(Placed(".", effect.places), context)
    if not context.workdir or not _inside(here, context):
        return _path(effect, context)
    root = paths.read(context.workdir, context)
    if effect.below and here != root:
        # Which folder of the project it is that is written into is not known.
        return root
    return paths.read(Placed(effect.text, START), context)


def _inside(path: Any, context: PathContext) -> bool:
    if not context.workdir:
        return bool(path == paths.read(Placed(".", ("",)), NO_CONTEXT))
    root = paths.read(context.workdir, context)
    return isinstance(path, Reading) and path.under(root) is True


def _host(effect: Effect) -> Any:
    if effect.name:
        return effect.text
    if effect.url:
        url = read_url(effect.text)
        return UNREADABLE if url is None or url.host is None else url.host.text
    try:
        return host_literal(effect.text.strip("[]"))
    except ValueError:
        return UNREADABLE
