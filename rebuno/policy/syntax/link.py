"""Links a bundle with the files that it names: `use` adds their definitions, `let … = file` their values.

A linked bundle is closed: its tree is complete, and `files` lists the files that it came from.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from posixpath import dirname, join, normpath
from typing import Final

from rebuno.errors import BundleError
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.data_files import SUFFIXES, YAML, read_data
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, DiagnosticReport
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.soft_roots import read_soft_roots
from rebuno.policy.syntax.source import FileError, Source, read_used_file

BUNDLE: Final = ".rbp"
MOST_FILES: Final = 200

# What a library does not hold.
_OF_BUNDLES: Final = (s.Rule, s.Default, s.Workdir, s.Home, s.Zone, s.EffectTables, s.Never, s.Secret)

_CLOSED: Final = "write the definitions into it, or name the bundle by its path; `rebuno policy inline` makes one text"


def link_bundle(source: Source, kept: Mapping[str, str] | None = None) -> tuple[s.Bundle, list[Diagnostic]]:
    """The closed tree of a bundle, and the diagnostics about its syntax and about the files that it uses.

    The definitions of used files follow those of the bundle; each file is added once. `kept` maps paths to texts that
    replace the files; then no file is read. After an error the tree holds the statements that could be read. No text
    and no file raises an exception.
    """
    bundle, found = parse_bundle(source)
    closed, more = close(bundle, source.folder, kept)
    return closed, [*found, *more]


def close(
    bundle: s.Bundle, folder: Path | None, kept: Mapping[str, str] | None = None
) -> tuple[s.Bundle, list[Diagnostic]]:
    """The closed tree of a bundle from a file in `folder`; `folder` is None for a bundle that was given as a text."""
    if not any(isinstance(statement, s.Use) or _names_file(statement) for statement in bundle.statements):
        return read_soft_roots(bundle), []
    linking = _Linking(bundle, folder, kept)
    return read_soft_roots(linking.all()), linking.findings


def _keyword(statement: s.Statement) -> str:
    return "effects" if isinstance(statement, s.EffectTables) else type(statement).__name__.lower()


def _names_file(statement: s.Statement) -> bool:
    if isinstance(statement, s.EffectTables):
        return isinstance(statement.source, s.Literal)
    return isinstance(statement, s.Let) and isinstance(statement.value, s.FileValue)


class _Library:
    """A file whose statements are being added. `name` is its path from the bundle's folder."""

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
        self.report = DiagnosticReport(bundle.path)
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
        """The statements that a file adds: all of the bundle itself, the definitions of any other file."""
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
                case s.EffectTables(source=s.Literal() as path) if own:
                    found = self.read(path, library, YAML, inside=True)
                    if found is None:
                        self.whole = False
                    else:
                        source, place, short = found
                        self.files.setdefault(place, s.File(short, source.path, source.text))
                        taken.append(replace(statement, text=source.text))
                case s.Let() | s.Known() | s.Condition() | s.NamedLimit():
                    taken.append(statement)
                case _:
                    if own and not isinstance(statement, s.Use):
                        taken.append(statement)
        return taken

    def opened(self, use: s.Use, trail: list[_Library]) -> _Library | None:
        """The library that a `use` names; None if it was added before or cannot be read."""
        found = self.read(use.path, trail[-1], (BUNDLE,), inside=False)
        if found is None:
            # The `use` stays in the tree: its file may define the names that are unknown here.
            self.unread.append(use)
            self.whole = False
            return None
        source, place, name = found
        for position, library in enumerate(trail):
            if library.place == place:
                way = " → ".join(f"`{one.name}`" for one in [*trail[position:], library])
                self.report.error(Code.CYCLE, f"the files use each other in a cycle: {way}", use.span, "break it")
                return None
        if place in self.files:
            return None
        bundle, errors = parse_bundle(source)
        self.findings += errors
        self.whole = self.whole and bundle.whole
        self.broken |= bundle.broken
        self.files[place] = s.File(name, source.path, bundle.text, bundle.comments)
        for statement in bundle.statements:
            if isinstance(statement, _OF_BUNDLES):
                what = "rules" if isinstance(statement, s.Rule) else f"a `{_keyword(statement)}` line"
                where = f"`{source.path}` (line {statement.span.line})"
                message = f"{where} holds {what}, and `use` brings definitions only"
                help = "keep definitions in a file of their own, or make this one a layer"
                self.report.error(Code.BAD_LIBRARY, message, use.span, help)
                break
        return _Library(name, place, bundle)

    def data(self, value: s.FileValue, library: _Library) -> s.Literal | s.ListLiteral | None:
        """The values of a data file; None if it cannot be read."""
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
        """A file that a library names: its text, its real place, and its path from the bundle's folder."""
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
        """The file of that name, and its real place; raises as `read_used` does."""
        if self.kept is None:
            return read_used_file(folder, name, inside=inside)
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
