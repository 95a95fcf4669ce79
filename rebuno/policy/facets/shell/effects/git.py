"""The kinds of words that git, and `gh`, have: commits, pathspecs, remotes, refspecs and formats.

What git holds below a folder is not read as all that lies there: a file that git does not track is not shown. A path
that is named is read as itself, so that a rule sees the file.
"""

import re
from collections.abc import Mapping
from typing import Final

from rebuno.policy.facets.shell.effects.arguments import Argument
from rebuno.policy.facets.shell.effects.expansion import HOME, WordValue
from rebuno.policy.facets.shell.effects.found import EffectKind, Found, Reader
from rebuno.policy.facets.url.parse import read_url

_REVISION: Final = re.compile(r"(?:[\w./@{}~^+=#,-]|@\{[^{}/]*\})+")
# What is no file: `HEAD~2`, a hash, a range of them.
_SINGLE: Final = (
    r"(?:(?:(?:FETCH_|ORIG_|MERGE_|CHERRY_PICK_|REVERT_|REBASE_)?HEAD|[0-9a-f]{7,64}|@|stash(?=@\{))"
    r"(?:[~^]\d*|\^\{\w*\}|@\{[^{}/]*\})*|@\{[^{}/]*\})"
)
_COMMIT: Final = re.compile(rf"-|\^?{_SINGLE}|{_SINGLE}?\.\.\.?{_SINGLE}|{_SINGLE}\.\.\.?")
_GLOB: Final = re.compile(r"[*?\[\\]")
_REMOTE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)*")
# What curl, git and browsers take apart in the same way.
_URL: Final = re.compile(
    r"[\w+.-]+://(?:[^@/\\?#\s\[\]]*@)?(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(?::\d+)?(?:/\S*)?"
)
_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_SCHEMES: Final = frozenset({"http", "https", "ssh", "git", "git+ssh", "ssh+git", "ftp", "ftps"})
_SSH: Final = re.compile(
    r"(?:[^@/:\s-][^@/:\s]*@)?(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):(?!:).*", re.DOTALL
)
_LINES: Final = re.compile(r"(?:[0-9]+(?:,[+-]?[0-9]*)?|,[+-]?[0-9]+|:[^:\\]+):(?P<path>[^:].*)", re.DOTALL)
_SLUG: Final = re.compile(r"#?[\w.-]+(?:/[\w.-]+)?")


def _reads(text: str, argument: Argument, found: Found) -> None:
    # A path in a commit: from the root of the repository, unless it begins with `./` or `../`.
    relative = re.match(r"\.\.?(?:/|$)", text)
    why = found.why(argument.option, argument.raw)
    found.add(EffectKind.READ, text or ".", argument.places, why, root=not relative)


def _revision(kind: str, argument: Argument, found: Found) -> None:
    for value in argument.values or ():
        _revision_value(value, argument, found)


def _revision_value(value: WordValue, argument: Argument, found: Found) -> None:
    # A commit, a range of them, or a file in one (`HEAD:src/x`, `:src/x` and `:1:src/x` in the index).
    before, colon, path = value.text.partition(":")
    if colon and not before:
        path = re.sub(r"^[0-3]:", "", path)
    # `A:p..B:q` names two files.
    two = ":" in path or any(".." in name and name != ".." for name in path.split("/"))
    if value.below or not _REVISION.fullmatch(before or "HEAD") or two or (colon and not before and path[:1] in "/!^("):
        found.unread.append(argument.raw)
    elif colon:
        _reads(path, argument, found)


def _revision_or_path(kind: str, argument: Argument, found: Found) -> None:
    # Without `--` in front git takes a word for a commit, or else for a path.
    for value in argument.values or ():
        magic = value.text[:1] == ":" and value.text[1:2] in ("!", "^", "(")
        if ":" in value.text and not magic and not value.below:
            _revision_value(value, argument, found)
        elif value.below or magic or not _COMMIT.fullmatch(value.text):
            effects = (EffectKind.READ,) if kind == "revision-path" else (EffectKind.REMOVED, EffectKind.WRITTEN)
            for effect in effects:
                _pathspec_value(effect, value, argument, found)


_PATHSPECS: Final = {
    "pathspec": EffectKind.READ,
    "pathspec-deep": EffectKind.READ,
    "pathspec-gone": EffectKind.REMOVED,
    "pathspec-new": EffectKind.WRITTEN,
}


def _pathspec(kind: str, argument: Argument, found: Found) -> None:
    for value in argument.values or ():
        _pathspec_value(_PATHSPECS[kind], value, argument, found, deep=kind == "pathspec-deep")


def _pathspec_value(
    effect: EffectKind, value: WordValue, argument: Argument, found: Found, *, deep: bool = False
) -> None:
    # A file, a folder and all that git holds below it, or a glob that looks below its folder too.
    text = value.text
    why = found.why(argument.option, argument.raw)
    reads = effect is EffectKind.READ
    glob = _GLOB.search(text)
    if text == "/dev/null":
        return
    if value.below:
        # Names that the shell finds, which may be folders.
        found.add(effect, text, argument.places, why, below=True, names=value.names if reads and not deep else "")
    elif text[:2] in (":!", ":^") and reads:
        # What is left out, of all the rest where nothing else is named.
        found.add(effect, ".", argument.places, why, below=deep)
    elif text[:1] == ":" or (glob and ".." in text.split("/")):
        found.unread.append(argument.raw)
    elif glob and text[:1] != HOME:
        folder = text[: glob.start()].rpartition("/")[0] or ("/" if text[:1] == "/" else ".")
        # `*` takes a `/` too: only what follows the last one is sure.
        last = text.rpartition("*")[2]
        names = f"*{last}" if re.fullmatch(r"[\w.+@=-]+", last) and "*" in text else ""
        found.add(effect, folder, argument.places, why, below=True, below_names=names)
    else:
        found.add(effect, text or ".", argument.places, why, below=deep or not reads)


def _local(text: str, argument: Argument, found: Found, *, writes: bool) -> None:
    # Another repository: its configuration and hooks are run.
    why = found.why(argument.option, argument.raw)
    kinds = (EffectKind.READ, EffectKind.EXECUTED, *((EffectKind.WRITTEN,) if writes else ()))
    for kind in kinds:
        found.add(kind, text, argument.places, why, below=True)


def _talks(host: str, argument: Argument, found: Found, *, writes: bool) -> None:
    why = found.why(argument.option, argument.raw)
    if not host:
        found.unread.append(argument.raw)
        return
    found.add(EffectKind.CONTACTED, host, (), why)
    if writes:
        found.add(EffectKind.CONTACTED, f"push:{host}", (), why, name=True)


def _remote(kind: str, argument: Argument, found: Found) -> None:
    # A remote: by its name in the configuration, a URL, `user@host:path`, or a folder.
    writes = kind == "remote-new"
    why = found.why(argument.option, argument.raw)
    for value in argument.values or ():
        text = value.text
        scheme = _SCHEME.match(text)
        ssh = _SSH.fullmatch(text)
        if value.below or "::" in text.partition("/")[0] or not text:
            found.unread.append(argument.raw)
        elif scheme and scheme["scheme"].casefold() == "file":
            _local(re.sub(r"^file://[^/]*", "", text, flags=re.IGNORECASE) or "/", argument, found, writes=writes)
        elif scheme and scheme["scheme"] in _SCHEMES:
            url = read_url(text) if _URL.fullmatch(text) else None
            _talks("" if url is None or url.host is None else url.host.text, argument, found, writes=writes)
        elif scheme:
            # `x://…` is the program `git-remote-x`.
            found.unread.append(argument.raw)
        elif ssh is not None:
            _talks(ssh["host"], argument, found, writes=writes)
        elif ":" in text.partition("/")[0]:
            found.unread.append(argument.raw)
        elif kind == "repository" or not _REMOTE_NAME.fullmatch(text):
            _local(text, argument, found, writes=writes)
        else:
            found.add(EffectKind.CONTACTED, f"remote:{text}", (), why, name=True)
            if writes:
                found.add(EffectKind.CONTACTED, f"push:{text}", (), why, name=True)
            if "/" in text:
                # A name of a remote may hold one.
                _local(text, argument, found, writes=writes)


def _refspec(kind: str, argument: Argument, found: Found) -> None:
    # `+a:b` overwrites a reference, `:b` removes one.
    for value in argument.values or ():
        if value.below:
            found.unread.append(argument.raw)
        elif value.text[:1] == "+" or (value.text[:1] == ":" and value.text != ":"):
            why = found.why(argument.option, argument.raw)
            found.add(EffectKind.REMOVED, ".git", argument.places, why, root=True)


def _format(kind: str, argument: Argument, found: Found) -> None:
    # Signatures are checked by another program.
    for value in argument.values or ():
        if value.below or "%G" in value.text or "signature" in value.text:
            found.unread.append(argument.raw)


def _lines(kind: str, argument: Argument, found: Found) -> None:
    # `10,20:src/x`, `:main:src/x`: lines of a file.
    for value in argument.values or ():
        lines = _LINES.fullmatch(value.text)
        if lines is None or value.below:
            found.unread.append(argument.raw)
        else:
            found.add(EffectKind.READ, lines["path"], argument.places, found.why(argument.option, argument.raw))


def _slug(kind: str, argument: Argument, found: Found) -> None:
    # `OWNER/REPO`, a number or a name; `HOST/OWNER/REPO` is another host. An endpoint has any number of segments.
    for value in argument.values or ():
        scheme = _SCHEME.match(value.text)
        if scheme and scheme["scheme"] in ("http", "https") and not value.below:
            found.add(EffectKind.CONTACTED, value.text, (), found.why(argument.option, argument.raw), url=True)
        elif value.below or "://" in value.text or (kind == "slug" and not _SLUG.fullmatch(value.text)):
            found.unread.append(argument.raw)


READERS: Final[Mapping[str, Reader]] = {
    "revision": _revision,
    **dict.fromkeys(("revision-path", "revision-gone"), _revision_or_path),
    **dict.fromkeys(_PATHSPECS, _pathspec),
    **dict.fromkeys(("remote", "remote-new", "repository"), _remote),
    "refspec": _refspec,
    "format": _format,
    "lines": _lines,
    **dict.fromkeys(("slug", "endpoint"), _slug),
}
