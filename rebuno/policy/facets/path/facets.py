"""`path`, `name` and `extension`: where in a tree of files a text points, without looking at any file."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final

import re2

from rebuno.policy.facets.path.globs import PathGlob, loose
from rebuno.policy.facets.path.placed import Placed, either
from rebuno.policy.facets.reading import NO_CONTEXT, Facet, PathContext, Reading, UncertainReading, UncertainValue
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, shown, valid
from rebuno.policy.values.regexes import regex
from rebuno.policy.values.word_edges import stands_alone

# In characters; no system opens a longer one.
MAX_PATH_LENGTH: Final = 65_536

# What programs read in different ways: control characters (NUL ends a path for some), backslashes, drives and URLs.
_DOUBTFUL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")
_DRIVE_OR_URL: Final = re.compile(r"(?:[a-z]|file):|[a-z][a-z0-9+.-]*:/", re.IGNORECASE | re.ASCII)
_TOKEN: Final = re.compile("[^\\s\"'`´“”‘’„‚«»‹›()\\[\\]{}<>,;]+")


@dataclass(frozen=True, slots=True)
class PathReading(Reading):
    """A place in a tree of files. `segments` hold no `.`, no `..` and nothing empty.

    A path that is not `absolute` starts at a place that is not known, and climbs `ups` directories from there first.
    """

    absolute: bool
    ups: int
    segments: tuple[str, ...]
    note: ClassVar[str] = "symbolic links are not followed"

    def equals(self, right: Any, fold: bool) -> Tri:
        """The same place. Maybe where only a forgiving file system says so, where one of the two starts elsewhere, and
        for paths that climb: against all but themselves."""
        if type(right) is not PathReading:
            return right.equals(self, fold) if isinstance(right, Reading) and right.symmetric else None
        if self._start() != right._start():
            return None
        same = _same(self.segments, right.segments, fold)
        return None if self.ups and not same else same

    def under(self, right: Any) -> Tri:
        """That directory or below it; maybe as with `equals`."""
        if type(right) is not PathReading:
            return None
        if self._start() == right._start():
            return _same(self.segments[: len(right.segments)], right.segments, False)
        # All is below the root, and below a directory that lies further up than this path climbs.
        higher = right.absolute or (not self.absolute and right.ups > self.ups)
        return True if higher and not right.segments else None

    def contains(self, right: Any, fold: bool) -> Tri:
        """The text of the path, as it is after resolving, holds `right`."""
        return self._holds(Op.CONTAINS, right, fold)

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """`like` goes by segments, the others look at the text of the path as it is after resolving."""
        if type(right) is PathGlob:
            return self._like(right, fold) if op is Op.LIKE else None
        if op is Op.MATCHES:
            return self._matches(right, fold)
        return self._holds(op, right, fold) if op in _HOLDS else None

    def _like(self, pattern: PathGlob, fold: bool) -> Tri:
        found: Tri = None
        # What takes anything before the names takes what is not known too.
        if pattern.anywhere or (self.absolute is pattern.absolute and not self.ups):
            found = pattern.matches(self.segments, fold)
        if found or (found is False and (self.absolute or not pattern.anywhere)):
            return found
        before = pattern.absolute or pattern.anywhere
        return None if pattern.may_match(self.segments, before=before) else False

    def _holds(self, op: Op, right: Any, fold: bool) -> Tri:
        if type(right) is not str or not valid(right) or (op is Op.STARTS and not self.absolute):
            return None
        text, test = self._text(), _HOLDS[op]
        if test(text, right) or (fold and test(text.casefold(), right.casefold())):
            return True
        one, other = loose(text), loose(right)
        if test(one, other):
            return None
        # What stands before a relative path is not known.
        unknown = not self.absolute and (op is Op.CONTAINS or other.endswith(one))
        return None if unknown else False

    def _matches(self, right: Any, fold: bool) -> Tri:
        if type(right) is not str or not valid(right) or not self.absolute:
            return None
        try:
            if regex(right, fold)(self._text()):
                return True
            return None if regex(right, True)(loose(self._text())) else False
        except re2.error:
            return None

    def index_keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The place, how a forgiving file system sees it, and the kind of start."""
        return [*self._places(fold), (("from", self._kind()), False)]

    def lookup_keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The place, and every start that it cannot be compared with."""
        others = {"root", "start", "above"} - (set() if self.ups else {self._kind()})
        return [*self._places(fold), *((("from", kind), False) for kind in others)]

    def _places(self, fold: bool) -> list[tuple[Any, bool]]:
        segments = tuple(segment.casefold() for segment in self.segments) if fold else self.segments
        forgiving = tuple(loose(segment) for segment in self.segments)
        return [((self._start(), segments), True), (("loose", self._start(), forgiving), False)]

    def _start(self) -> tuple[bool, int]:
        return self.absolute, self.ups

    def _kind(self) -> str:
        return "root" if self.absolute else "above" if self.ups else "start"

    def _text(self) -> str:
        return "/" * self.absolute + "/".join(self.segments)

    def __str__(self) -> str:
        return "../" * self.ups + self._text() or "."


_READ: Final = frozenset({PathReading, UncertainReading})
# Against it every answer is maybe.
UNKNOWN_PLACE: Final = UncertainReading(())

_HOLDS: Final[dict[Op, Callable[[str, str], bool]]] = {
    Op.CONTAINS: lambda text, part: part in text,
    Op.STARTS: str.startswith,
    Op.ENDS: str.endswith,
}


def _same(left: tuple[str, ...], right: tuple[str, ...], fold: bool) -> Tri:
    if left == right:
        return True
    if len(left) != len(right):
        return False
    pairs = list(zip(left, right, strict=True))
    if fold and all(one.casefold() == other.casefold() for one, other in pairs):
        return True
    return None if all(loose(one) == loose(other) for one, other in pairs) else False


def read(value: Any, context: PathContext) -> Any:
    """The `PathReading` that a string names, resolved by its words alone: empty segments and `.` vanish, `..` goes up.

    `UNREADABLE` for a text that programs do not agree on: an empty text, blanks at either end, control characters, a
    backslash, a drive or a URL, `~user`, `~` where the home is not known, and beyond 65,536 characters. The facet
    `redirect` gives a `PathReading`, which is read already. A word of a command that may stand in several directories
    gives an `UncertainReading` of several paths.
    """
    if isinstance(value, Reading):
        return _placed(value, context) if type(value) is Placed else value if type(value) in _READ else UNREADABLE
    return UNREADABLE if type(value) is not str or _doubt(value, context) else resolved(value, context)


def plain(text: str) -> bool:
    """Whether all programs read the text as one path, if it begins with no `~`."""
    return not _doubt(text, NO_CONTEXT)


def _doubt(text: str, context: PathContext) -> str:
    # What keeps a text from being one path, in words; empty where nothing does.
    if len(text) > MAX_PATH_LENGTH:
        return f"is longer than {MAX_PATH_LENGTH:,} characters; no system opens it"
    if not text or text != text.strip():
        return "is empty, or begins or ends with a blank; programs read that differently"
    if not valid(text) or _DOUBTFUL.search(text):
        return "holds a backslash or a character that programs read differently"
    if _DRIVE_OR_URL.match(text):
        return "begins with a drive or a scheme; write the path alone"
    if text[0] == "~" and text[1:2] not in ("", "/"):
        return "begins with the home of somebody else; write the directory itself"
    if text[0] == "~" and context.home is None:
        return 'needs to know the home directory; add a line such as `home "/home/bot"`'
    return ""


def resolved(text: str, context: PathContext) -> PathReading:
    """The path that a text without doubt names."""
    if text[0] == "~" and context.home is not None:
        text = context.home + text[1:]
    elif text[0] != "/" and context.workdir:
        text = f"{context.workdir}/{text}"
    return follow(PathReading(text[0] == "/", 0, ()), text)


def follow(start: PathReading, text: str) -> PathReading:
    """Where a relative text leads from there, or any text from the root or from nowhere."""
    ups, segments = start.ups, list(start.segments)
    for segment in text.split("/"):
        if segment == "..":
            if segments:
                segments.pop()
            else:
                ups += not start.absolute
        elif segment not in ("", "."):
            segments.append(segment)
    return PathReading(start.absolute, ups, tuple(segments))


def _placed(word: Placed, context: PathContext) -> Any:
    text = word.text
    # A `~` that the shell has not expanded is a name to most programs and a home to some.
    if word.places is None or text[:1] == "~" or _doubt(text, context):
        return read(text, context) if text[:1] == "/" else UNREADABLE
    starts = [_directory(place, context) for place in word.places]
    return UNREADABLE if None in starts else either(follow(start, text) for start in starts if start)


@lru_cache(maxsize=256)
def _directory(place: str, context: PathContext) -> PathReading | None:
    return None if place[:1] == "~" and context.home is None else resolved(place or ".", context)


def literal(value: Any, context: PathContext) -> PathReading | UncertainReading:
    """The `PathReading` that a rule names; one of any place where a relative one says nothing.

    Raises:
        ValueError: it is no string, or one that `read` would not read, with the reason in words.
    """
    if type(value) is not str:
        raise ValueError(f"`{shown(value)}` is no path; write a string")
    doubt = _doubt(value, context)
    if doubt:
        raise ValueError(f"the path `{shown(value)}` {doubt}")
    return UNKNOWN_PLACE if context.workdir == "" and value[0] not in "/~" else resolved(value, context)


def pattern(text: str, context: PathContext) -> PathGlob | UncertainReading:
    """The glob that a rule writes for paths; one without leading `/`, `~/` or `**` is relative, to `workdir` if given.

    Raises:
        ValueError: it is empty or blank, holds `..`, begins with `~` where that is not known, or holds a bad glob.
    """
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not text or text != text.strip() or ".." in parts:
        raise ValueError(
            f"the pattern `{shown(text)}` is empty, ends in a blank or goes up with `..`; write where it leads"
        )
    base: str | None = None
    if text[0] == "~":
        doubt = _doubt(parts[0], context)
        if doubt:
            raise ValueError(f"the pattern `{shown(text)}` {doubt}")
        base, parts = context.home, parts[1:]
    elif text[0] != "/" and parts[:1] != ["**"]:
        if context.workdir == "":
            return UNKNOWN_PLACE
        base = context.workdir
    if base is None:
        return PathGlob(parts, absolute=text[0] == "/")
    names = [re.sub(r"[*?[\]\\]", r"\\\g<0>", name) for name in resolved(base, context).segments]
    return PathGlob([*names, *parts], absolute=True)


def find(text: str, context: PathContext) -> Iterable[PathReading | UncertainValue]:
    """The paths that stand in a text as whole words, in doubt where they may be a part of one: every word is one."""
    for match in _TOKEN.finditer(text):
        word = match[0]
        # A stop may end a sentence or a name.
        for path in (read(one, context) for one in dict.fromkeys([word, word.rstrip(":!?.")])):
            alone = stands_alone(text, *match.span())
            if type(path) is PathReading and alone is not False:
                yield path if alone else UncertainValue(path)


def name(value: Any, context: PathContext) -> Any:
    """The last segment of a path; `MISSING` for the root, `UNREADABLE` where that is not known."""
    path = read(value, context)
    if type(path) is UncertainReading:
        return either(name(one, context) for one in path.readings)
    if type(path) is not PathReading:
        return UNREADABLE
    if not path.segments:
        return MISSING if path.absolute else UNREADABLE
    return path.segments[-1]


def _name_literal(value: Any, _: PathContext) -> str:
    if type(value) is not str or not value or "/" in value or value in (".", ".."):
        raise ValueError(f"`{shown(value)}` is no file name; write one segment of a path, without `/`")
    return value


def _find_names(text: str, context: PathContext) -> Iterable[str | UncertainValue]:
    for found in find(text, context):
        path: PathReading = found.value if isinstance(found, UncertainValue) else found
        if path.segments:
            yield path.segments[-1] if isinstance(found, PathReading) else UncertainValue(path.segments[-1])


def extension(value: Any, context: PathContext) -> Any:
    """What a file name has from its last dot on, in lower case; `MISSING` where there is no dot but a leading one.

    `UNREADABLE` for a dot at the end, which some systems drop.
    """
    found = name(value, context)
    return either(map(_ending, found.readings)) if type(found) is UncertainReading else _ending(found)


def _ending(name: Any) -> Any:
    if type(name) is not str:
        return name
    stem, dot, last = name.lstrip(".").rpartition(".")
    if name.endswith("."):
        return UNREADABLE
    return dot + last.lower() if stem else MISSING


def _extension_literal(value: Any, _: PathContext) -> str:
    if type(value) is not str or not re.fullmatch(r"\.[^./]+", value):
        raise ValueError(f"`{shown(value)}` is no extension; write it with its dot, such as `.gz`")
    return value.lower()


PATH: Final = Facet(
    name="path",
    of="a path",
    gives="the path after resolving `.`, `..`, `workdir` and `home`",
    value="string",
    read=read,
    literal=literal,
    placed=True,
    pattern=pattern,
    network=literal,
    find=find,
)
FACETS: Final = (
    PATH,
    Facet(
        name="name",
        of="a path",
        gives="its last segment",
        value="string",
        read=name,
        literal=_name_literal,
        placed=True,
        find=_find_names,
    ),
    Facet(
        name="extension",
        of="a path",
        gives="its extension with the dot, in lower case",
        value="string",
        read=extension,
        literal=_extension_literal,
        placed=True,
        lower=True,
    ),
)
