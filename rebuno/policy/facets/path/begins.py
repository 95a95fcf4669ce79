"""Where the commands of a text begin: in the `cwd` beside the text if there is one, else in `workdir`."""

from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from rebuno.policy.facets.path.facets import PathReading, follow, read, resolved
from rebuno.policy.facets.path.placed import START, Places
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.values.json_values import MISSING

# The argument beside a text of commands that says where they begin.
CWD: Final = "cwd"
# A directory with more letters or names is not known: each word read from there would cost as much as all of it.
MAX_LETTERS: Final = 1_024
MAX_NAMES: Final = 128

_ROOTED: Final = ("/", "~")


def beginning(cwd: Any, context: PathContext) -> PathContext:
    """The context of a text of commands with this value of `cwd` beside it; `MISSING` and null stand for none.

    A relative text leads on from `workdir`. What is no text, or none that all programs read as one directory, is a
    directory that is not known; so is one that begins with `~`, which only a shell expands.
    """
    if cwd is None or cwd is MISSING:
        return context
    return _begins_at(cwd if type(cwd) is str and cwd[:1] != "~" else None, context)


@lru_cache(maxsize=1024)
def _begins_at(cwd: str | None, context: PathContext) -> PathContext:
    path = None if cwd is None or len(cwd) > MAX_LETTERS else read(cwd, context)
    if type(path) is not PathReading or not short(path):
        return replace(context, begins=None)
    return context if path == resolved(".", context) else replace(context, begins=_text(path))


def short(path: PathReading) -> bool:
    """Whether the words of commands can be read from this directory at a small cost."""
    return path.ups + len(path.segments) <= MAX_NAMES and sum(map(len, path.segments)) <= MAX_LETTERS


def _text(path: PathReading) -> str:
    text = "" if path == PathReading(False, 0, ()) else str(path)
    # A name is no home.
    return f"./{text}" if text[:1] == "~" else text


def resolved_places(places: Places, context: PathContext) -> Places:
    """The places of a command, which `read_shell` gives as they are from where the text begins, in this context.

    INVARIANT: every facet that reads shell text resolves the places of a command with this function, and only once: the
    places of a `Command` are resolved.
    """
    begins = context.begins
    if begins == "" or places is None:
        return places
    if all(place[:1] in _ROOTED for place in places):
        return places
    return None if begins is None else _resolved_places(places, begins)


@lru_cache(maxsize=1024)
def _resolved_places(places: tuple[str, ...], begins: str) -> Places:
    start = follow(PathReading(begins[:1] == "/", 0, ()), begins)
    found = {place if place[:1] in _ROOTED else _text(follow(start, place)) for place in places}
    return START if found == {""} else tuple(sorted(found))
