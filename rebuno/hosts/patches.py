"""Patches of `apply_patch` (Codex, OpenCode): the files that one names, and what it makes of each."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
PatchKind = Literal["add", "delete", "update"]

_MARKERS: Final[dict[str, PatchKind]] = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}
_MOVE: Final = "*** Move to: "
_SILENT: Final = frozenset({_BEGIN, _END, "*** End of File"})

# Around a line programs of three languages strip more than one set of characters.
_AROUND: Final = re.compile(r"\A[\s\x00-\x20\ufeff]+|[\s\x00-\x20\ufeff]+\Z")
_ANY_MARKER: Final = re.compile(r"\*\*\*\s*(?:Add|Delete|Update|Move|Environment)")

# A command line that is nothing but a patch: the host takes it apart itself, and no shell runs.
_HEREDOC: Final = re.compile(r"\s*(?:apply_patch|applypatch)\s*<<\s*(['\"])(\w+)\1[ \t]*\n(.*\n)\2\s*", re.DOTALL)


@dataclass(slots=True)
class PatchedFile:
    """What a patch does to a file: `kind` is what, `moved_to` the new path of one that moves, empty otherwise. `old`
    and `new` are the lines that go and come."""

    kind: PatchKind
    path: str
    moved_to: str = ""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


def read_patch(text: str) -> list[PatchedFile] | None:
    """The files of a patch in their order; None for what is not one for sure.

    A line counts as the name of a file wherever it stands: a host that reads fewer of them touches fewer files than
    were judged, and never one that was not.
    """
    # Not `splitlines`, which breaks lines, and so paths, where the host does not.
    lines = _AROUND.sub("", text).split("\n")
    if _bare(lines[0]) != _BEGIN or _bare(lines[-1]) != _END:
        return None
    files: list[PatchedFile] = []
    for line in lines:
        bare = _bare(line)
        marker = next((one for one in _MARKERS if bare.startswith(one)), None)
        path = bare.removeprefix(marker or _MOVE)
        if marker is not None:
            files.append(PatchedFile(_MARKERS[marker], path))
        elif bare.startswith(_MOVE):
            if not files or files[-1].kind != "update" or files[-1].moved_to:
                return None
            files[-1].moved_to = path
        elif bare.startswith("***"):
            if bare not in _SILENT:
                return None
            continue
        else:
            if line[:1] not in ("+", "-", " ") and _ANY_MARKER.search(line):
                return None
            _add_line(files, line)
            continue
        if not path or path != _bare(path):
            return None
    return files or None


def _bare(line: str) -> str:
    return _AROUND.sub("", line)


def _add_line(files: list[PatchedFile], line: str) -> None:
    if files and line[:1] == "+":
        files[-1].new.append(line[1:].removesuffix("\r"))
    elif files and line[:1] == "-":
        files[-1].old.append(line[1:].removesuffix("\r"))


def patch_of_command(command: str) -> str | None:
    """The patch of a command line that is nothing else: `apply_patch <<'EOF'` and its text. None for any other."""
    found = _HEREDOC.fullmatch(command)
    # The text ends at the first line that is its end word: what comes behind it is run.
    return found[3] if found and found[2] not in found[3].split("\n") else None
