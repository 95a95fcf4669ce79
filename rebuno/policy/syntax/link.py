"""Takes in the files that a bundle names: `use` brings their definitions, `let … = file` their values.

A linked bundle is closed: what it means stands in its tree, and `files` says where that came from.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from posixpath import dirname, join, normpath
from typing import Final

from rebuno.errors import BundleError
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.data_files import SUFFIXES, read_data
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, Report
from rebuno.policy.syntax.parse import parse
from rebuno.policy.syntax.source import FileError, Source, read_used

BUNDLE: Final = ".rbp"
MOST_FILES: Final = 200

_CLOSED: Final = "write the definitions into it, or name the bundle by its path; `rebuno policy inline` makes one text"


def link(source: Source, kept: Mapping[str, str] | None = None) -> tuple[s.Bundle, list[Diagnostic]]:
    """The closed tree of a bundle, and what is wrong with its syntax and with the files that it uses.

    Definitions of used files stand below the bundle's own, each file's once. `kept` are the texts of those files by
    their paths, where they must not be read anew. With errors the tree holds what could be read; it never raises for
    what a text says or for what a file system holds.
    """
    bundle, found = parse(source)
    closed, more = close(bundle, source.folder, kept)
    return closed, [*found, *more]


def close(
    bundle: s.Bundle, folder: Path | None, kept: Mapping[str, str] | None = None
) -> tuple[s.Bundle, list[Diagnostic]]:
    """The closed tree of a bundle that was read from a file in `folder`, None where it was given as a text."""
    if not any(isinstance(statement, s.Use) or _names_file(statement) for statement in bundle.statements):
        return bundle, []
    linking = _Linking(bundle, folder, kept)
    return linking.all(), linking.findings


def _names_file(statement: s.Statement) -> bool:
    return isinstance(statement, s.Let) and isinstance(statement.value, s.FileValue)


class _Library:
    """A file whose statements are being taken in. `name` is its path from the bundle's folder."""

    __slots__ = ("bundle", "name", "place", "uses")

    def __init__(self, name: str, place: Path | None, bundle: s.Bundle) -> None:
        self.name = name
        self.place = place
        self.bundle = bundle
        self.uses = [statement for statement in reversed(bundle.statements) if isinstance(statement, s.Use)]


class _Linking:
    def __init__(self, bundle: s.Bundle, folder: Path | None, kept: Mapping[str, str] | None) -> None:
        self.bundle = bundle
        self.folder = folder
        self.kept = kept
        self.report = Report(bundle.path)
        self.findings: list[Diagnostic] = []
        self.files: dict[Path, s.File] = {}
        self.broken = set(bundle.broken)
        self.whole = bundle.whole
        self.unread: list[s.Use] = []

    def all(self) -> s.Bundle:
        """The closed bundle."""
        place = None if self.folder is None else (self.folder / Path(self.bundle.path).name).resolve()
        own = _Library(PurePosixPath(self.bundle.path).name, place, self.bundle)
        statements = self.taken(own)
        trail = [own]
        while trail:
            if trail[-1].uses:
                library = self.opened(trail[-1].uses.pop(), trail)
                if library is not None:
                    statements += self.taken(library)
                    trail.append(library)
            else:
                trail.pop()
        self.findings += self.report.findings
        return replace(
            self.bundle,
            statements=(*statements, *self.unread),
            whole=self.whole,
            broken=frozenset(self.broken),
            files=tuple(self.files.values()),
        )

    def taken(self, library: _Library) -> list[s.Statement]:
        """What a file brings: everything where it is the bundle itself, else definitions."""
        own = library.bundle is self.bundle
        taken: list[s.Statement] = []
        for statement in library.bundle.statements:
            match statement:
                case s.Let(name, s.FileValue() as value):
                    data = self.data(value, library)
                    if data is None:
                        self.broken.add(name.text)
                    else:
                        taken.append(replace(statement, value=data))
                case s.Let() | s.Known() | s.Condition():
                    taken.append(statement)
                case _:
                    if own and not isinstance(statement, s.Use):
                        taken.append(statement)
        return taken

    def opened(self, use: s.Use, trail: list[_Library]) -> _Library | None:
        """The library that a `use` names, None where it was taken in already or cannot be."""
        found = self.read(use.path, trail[-1], (BUNDLE,), inside=False)
        if found is None:
            # It stays in the tree: names that nobody defines may be its.
            self.unread.append(use)
            self.whole = False
            return None
        source, place, name = found
        for position, library in enumerate(trail):
            if library.place == place:
                way = " → ".join(f"`{one.name}`" for one in [*trail[position:], library])
                self.report.error(Code.CYCLE, f"the files use each other in a circle: {way}", use.span, "break it")
                return None
        if place in self.files:
            return None
        bundle, errors = parse(source)
        self.findings += errors
        self.whole = self.whole and bundle.whole
        self.broken |= bundle.broken
        self.files[place] = s.File(name, source.path, bundle.text, bundle.comments)
        for statement in bundle.statements:
            if isinstance(statement, s.Rule | s.Default | s.Workdir | s.Home):
                what = "rules" if isinstance(statement, s.Rule) else f"a `{type(statement).__name__.lower()}` line"
                where = f"`{source.path}` (line {statement.span.line})"
                message = f"{where} holds {what}, and `use` brings definitions only"
                help = "keep definitions in a file of their own, or make this one a layer"
                self.report.error(Code.BAD_LIBRARY, message, use.span, help)
                break
        return _Library(name, place, bundle)

    def data(self, value: s.FileValue, library: _Library) -> s.Literal | s.ListLiteral | None:
        """What a data file holds, None where that cannot be told."""
        found = self.read(value.path, library, SUFFIXES, inside=True)
        if found is None:
            return None
        source, place, name = found
        self.files.setdefault(place, s.File(name, source.path, source.text))
        try:
            return read_data(source)
        except BundleError as error:
            self.findings += error.diagnostics
            return None

    def read(
        self, path: s.Literal, library: _Library, suffixes: tuple[str, ...], *, inside: bool
    ) -> tuple[Source, Path, str] | None:
        """A file that a library names: its text, where it really stands, and its path from the bundle's folder."""
        text = str(path.value)
        try:
            if self.folder is None:
                raise FileError(Code.OPEN_BUNDLE, "a bundle that is given as a text must be closed", _CLOSED)
            name = _name(text, library.name, suffixes)
            source, place = self.found(self.folder, name, inside=inside)
            if len(self.files) >= MOST_FILES and place not in self.files:
                raise FileError(Code.FILE_TOO_BIG, f"the bundle uses more than {MOST_FILES} files", "join some")
        except FileError as error:
            self.report.error(error.code, error.message, path.span, error.help)
        except BundleError as error:
            self.findings += error.diagnostics
        else:
            return source, place, name
        return None

    def found(self, folder: Path, name: str, *, inside: bool) -> tuple[Source, Path]:
        """The file of that name, and where it stands; raises as `read_used` does."""
        if self.kept is None:
            return read_used(folder, name, inside=inside)
        place = folder / name
        text = self.kept.get(str(place))
        if text is None:
            raise FileError(Code.UNREADABLE_FILE, f"the text of `{place}` was not kept")
        return Source(text, str(place), place.stem), place


def _name(text: str, beside: str, suffixes: tuple[str, ...]) -> str:
    if not text or "\0" in text or "\\" in text or text.startswith("/"):
        help = "write the way from this file's folder, with `/` between folders"
        raise FileError(Code.UNREADABLE_FILE, f"`{text}` is no relative path", help)
    if not text.endswith(suffixes):
        *most, last = suffixes
        known = f"{', '.join(f'`{one}`' for one in most)} or `{last}`" if most else f"`{last}`"
        raise FileError(Code.UNREADABLE_FILE, f"`{text}` does not end in {known}", "rename the file")
    return normpath(join(dirname(beside), text))
