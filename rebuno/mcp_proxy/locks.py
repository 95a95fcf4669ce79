"""The lock file: the definitions of tools as people have reviewed them, and what has changed since.

It is a YAML list of digests, which a bundle reads with `let … = file`. A comment behind each digest names the tool; the
comment on the next line holds the definition itself, so that a difference can be shown. A text that does not have the
digest above it counts for nothing.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.model import identity
from rebuno.model.definition import Definition, described, digest_of
from rebuno.policy import read_source, read_yaml

HEAD: Final = "# The definitions of tools that were reviewed: `let reviewed = file` reads this."
_ENTRY: Final = re.compile(r'- "([0-9a-f]{64})"')
_TEXT: Final = "#= "
# What a model sees of a difference, in lines and in characters of a line.
_MOST_LINES: Final = 40
_LONGEST_LINE: Final = 400
_NAMED: Final = 200
_SHOWN: Final = ("description", "input_schema", "output_schema")


@dataclass(frozen=True, slots=True)
class Lock:
    """The digests that a lock file holds, and the definitions that it keeps, by server and name."""

    digests: frozenset[str] = frozenset()
    definitions: tuple[Definition, ...] = ()
    _by_tool: dict[tuple[str, str], list[Definition]] = field(init=False, default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for one in self.definitions:
            self._by_tool.setdefault((one.server, one.name), []).append(one)

    def holds(self, definition: Definition | None) -> bool:
        """Whether somebody has reviewed a tool as it is now."""
        return definition is not None and definition.digest in self.digests

    def change(self, definition: Definition | None, server: str, name: str) -> str:
        """What is to be said of a tool that the lock does not hold: that it is new, or the difference, in lines."""
        before = self._by_tool.get((server, name))
        if definition is None:
            return "what its server says of it cannot be written as JSON, so nobody can review it"
        if not before:
            return "it is not in the lock file: nobody has reviewed it"
        return "its definition is not the one that was reviewed:\n" + "\n".join(difference(before[-1], definition))


def difference(before: Definition, after: Definition) -> list[str]:
    """What differs between two definitions, in at most 40 lines that begin with `-` or `+`, without line ends or
    characters that a terminal would obey."""
    lines = list(unified_diff(_lines(before), _lines(after), lineterm="", n=0))[2:]
    shown = [line[:_LONGEST_LINE] for line in lines if not line.startswith("@@")]
    left = len(shown) - _MOST_LINES
    return shown[:_MOST_LINES] + ([f"… and {left} lines more"] if left > 0 else [])


def read_lock(path: Path) -> Lock:
    """The lock at `path`.

    Raises:
        ValidationError: there is none, or it is no list of digests.
        BundleError: it cannot be read, or is no YAML.
    """
    if not path.exists():
        raise ValidationError(f"there is no lock file `{path}`; write it with `rebuno mcp pin`")
    source = read_source(path)
    data = read_yaml(source, "lock", "write it with `rebuno mcp pin`").plain()
    if not isinstance(data, list) or not all(
        isinstance(one, str) and re.fullmatch("[0-9a-f]{64}", one) for one in data
    ):
        raise ValidationError(f"`{path}` is no lock file: it holds something else than a list of digests")
    found: list[Definition] = []
    digest = ""
    for line in source.text.splitlines():
        if (entry := _ENTRY.match(line)) is not None:
            digest = entry[1]
        elif line.startswith(_TEXT) and digest in data:
            if (kept := _kept(line.removeprefix(_TEXT), digest)) is not None:
                found.append(kept)
            digest = ""
    return Lock(frozenset(data), tuple(found))


def written_lock(definitions: Iterable[Definition], others: Iterable[str] = ()) -> str:
    """The text of a lock file with these definitions, by server and name, and digests of which no text is kept.

    Nothing that a server says stands outside a comment, or on a line of its own."""
    ordered = sorted(definitions, key=lambda one: (one.server, one.name, one.digest))
    lines = [HEAD]
    for one in ordered:
        lines += entry(one)
    lines += [f'- "{digest}"' for digest in sorted(set(others) - {one.digest for one in ordered})]
    return "\n".join(lines if len(lines) > 1 else [*lines, "[]"]) + "\n"


def entry(definition: Definition) -> list[str]:
    """The lines of a definition in a lock file."""
    named = " ".join(_plain(part)[:_NAMED] for part in (definition.server, definition.name) if part)
    lines = [f'- "{definition.digest}"  # {named}']
    return [*lines, _TEXT + "".join(_escaped(definition.text))] if definition.text else lines


def _escaped(text: str) -> Iterator[str]:
    # Canonical JSON has no line end, but keeps characters that YAML takes for one, or refuses.
    for character in text:
        if " " <= character <= "~":
            yield character
        else:
            yield json.dumps(character) if character < " " else _as_escapes(character)


def _as_escapes(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _kept(text: str, digest: str) -> Definition | None:
    try:
        canonical = identity.canonical(identity.parse(text))
        said = described(canonical)
    except (ValidationError, TypeError):
        return None
    if digest_of(canonical) != digest:
        return None
    return Definition(said["server"], said["name"], digest, canonical)


def _lines(definition: Definition) -> Sequence[str]:
    said: dict[str, Any] = described(definition.text)
    found: list[str] = []
    for part in _SHOWN:
        value = said[part]
        texts = value.splitlines() if isinstance(value, str) else _indented(value)
        found += [_plain(f"{part}: {line}") for line in texts]
    return found


def _indented(value: Any) -> list[str]:
    try:
        return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
    except ValueError:  # Python's own writer gives up on integers of thousands of digits
        return [identity.canonical(value)]


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


@dataclass(frozen=True, slots=True)
class Change:
    """A tool that is not as it was reviewed: `target` is its name for policies, `lines` say what is different, none
    where it is new."""

    target: str
    digest: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Tools beside a lock: how many are `same`, which were `approved` now, which are still `open`; `gone` are the names
    in the lock that a server of these no longer lists. `lock` is the lock with what was approved."""

    same: int
    approved: tuple[Change, ...]
    open: tuple[Change, ...]
    gone: tuple[str, ...]
    lock: Lock


def compared(before: Lock | None, tools: Sequence[tuple[str, Definition | None]], approve: Sequence[str]) -> Comparison:
    """Compares the tools of servers, each under its name for policies, with a lock (None: there is none yet, so all are
    approved). `approve` are patterns of names.

    Raises:
        ValidationError: a pattern fits no tool, or a tool's definition cannot be written.
    """
    lock = before or Lock()
    for pattern in approve:
        if not any(fnmatchcase(target, pattern) for target, _ in tools):
            raise ValidationError(f"`--approve {pattern}`: no server lists such a tool")
    same, approved, still = 0, [], []
    kept = {(one.server, one.name): one for one in lock.definitions}
    for target, definition in tools:
        if definition is None:
            raise ValidationError(
                f"what its server says of `{target}` cannot be written as JSON, so it cannot be pinned"
            )
        if lock.holds(definition):
            same += 1
            continue
        old = kept.get((definition.server, definition.name))
        change = Change(target, definition.digest, tuple(difference(old, definition)) if old else ())
        if before is None or any(fnmatchcase(target, pattern) for pattern in approve):
            approved.append(change)
            kept[definition.server, definition.name] = definition
        else:
            still.append(change)
    servers = {target.partition(".")[0] for target, _ in tools}
    listed = {target for target, _ in tools}
    gone = [f"{server}.{name}" for server, name in kept if server in servers and f"{server}.{name}" not in listed]
    known = {one.digest for one in lock.definitions}
    digests = (lock.digests - known) | {one.digest for one in kept.values()}
    after = Lock(frozenset(digests), tuple(kept.values()))
    return Comparison(same, tuple(approved), tuple(still), tuple(sorted(gone)), after)


def written(path: Path, lock: Lock) -> None:
    """Writes a lock file, whole or not at all. Raises `OSError`."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(written_lock(lock.definitions, lock.digests), encoding="utf-8")
    beside.replace(path)
