"""`workdir session`: a bundle read with the folder that a host named when the session began."""

import re
from dataclasses import replace
from typing import Final

from rebuno.policy.facets.path.begins import MAX_LETTERS, short
from rebuno.policy.facets.path.facets import PathReading, read
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.matcher.operands import path_context
from rebuno.policy.syntax import tree

# What may be the home of a user, or lie above one, where the bundle does not say what the home is.
_HOMES: Final = re.compile(
    r"/(?:(?:home|users|export/home|var/home)(?:/[^/]+)?|root|var/root|var|export)", re.IGNORECASE
)


def of_session(bundle: tree.Bundle) -> bool:
    """Whether relative paths of the bundle start in the folder of the session."""
    return any(isinstance(line, tree.Workdir) and line.path is None for line in bundle.statements)


def in_session(bundle: tree.Bundle, folder: str) -> tree.Bundle:
    """The bundle with this folder in the place of `session`; the bundle itself if that does not stand there, or if
    there is no folder. An empty path stands for a folder that counts as absent; see `PathContext`."""
    if not folder or not of_session(bundle):
        return bundle
    start = session_folder(folder, path_context(bundle))
    lines = [
        tree.Workdir(tree.Literal(start, line.span), line.span)
        if isinstance(line, tree.Workdir) and line.path is None
        else line
        for line in bundle.statements
    ]
    return replace(bundle, statements=tuple(lines))


def session_folder(folder: str, context: PathContext) -> str:
    """The folder of a session as an absolute path; empty for one that counts as absent: `/`, the home, what is above
    it, and a text that is no absolute path to all programs.

    A folder that may be one of these, as its name differs in case only, counts as absent too. If the bundle does not
    name its `home`, so does what looks like the home of a user.
    """
    path = read(folder, PathContext()) if folder[:1] == "/" and len(folder) <= MAX_LETTERS else None
    if type(path) is not PathReading or not path.segments or not short(path):
        return ""
    if context.home is None:
        return "" if _HOMES.fullmatch(str(path)) else str(path)
    home = read(context.home, PathContext())
    above = home.under(path) if type(home) is PathReading else None
    return str(path) if above is False else ""
