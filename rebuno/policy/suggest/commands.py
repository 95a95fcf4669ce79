"""Commands by program, subcommand and options, and by the folders, hosts and programs that they reach."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from posixpath import isabs
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.policy.facets.shell.effects.told import LineEffects, effects_of_command
from rebuno.policy.suggest.folders import place
from rebuno.policy.suggest.seen import SeenCall
from rebuno.policy.suggest.text import Path, listed
from rebuno.policy.suggest.ways import LONGEST_LITERAL, MOST_LITERALS, OPERAND, Strength, Way, among

# Programs whose first word says what they do.
_SUBCOMMANDS: Final = frozenset(
    "git npm yarn pnpm bun cargo go docker podman kubectl gh uv pip pip3 poetry pdm rustup dotnet terraform helm make "
    "just task hatch nox tox bundle composer mvn gradle deno".split()
)
_MOST_PATTERNS: Final = 60


@dataclass(frozen=True)
class Line:
    """A command line that can be read to the end: the patterns and options of its commands, and its effects, with
    paths relative to the folder of the session."""

    text: str
    patterns: frozenset[str]
    options: frozenset[str]
    read: frozenset[str]
    written: frozenset[str]
    hosts: frozenset[str]
    executed: frozenset[str]


def commands_seen(calls: Sequence[SeenCall], path: Path, often: int) -> Iterator[Way]:
    """The ways for the command lines at a path: by effects for those that can be read, else the very line."""
    lines: dict[str, Line] = {}
    runs: dict[str, set[int]] = {}
    for call in calls:
        for text in call.args.leaves.get(path, ()):
            runs.setdefault(text, set()).add(call.run)
            if (line := read_line(text, call)) is not None:
                lines[text] = line
    times = Counter(each for text, line in lines.items() for each in line.patterns for _ in runs[text])
    counted = Counter(
        text for call in calls for text in call.args.leaves.get(path, ()) if isinstance(text, str) and text in lines
    )
    steps = Counter(each for text, number in counted.items() for each in lines[text].patterns for _ in range(number))
    usual = [text for text, line in lines.items() if all(max(times[p], steps[p]) >= often for p in line.patterns)]
    if usual:
        chosen = [lines[text] for text in usual]

        def narrow(seen: Sequence[Any]) -> Way:
            return by_effects([line for line in chosen if line.text in seen])

        found = by_effects(chosen)
        yield Way(found.sort, found.template, found.strength, narrow, compound=True)
    exact = [text for text, seen in runs.items() if len(seen) >= often and len(text) <= LONGEST_LITERAL]
    exact = [text for text in exact if text not in usual and not _takes_away(text, calls, path)]
    if exact:
        yield among(exact[:MOST_LITERALS])


def read_line(text: Any, call: SeenCall) -> Line | None:
    """A line with its effects; None for one that cannot be read to the end, or takes something away."""
    told = _told(text, call)
    if told is None or told.unread or told.values("removed_path"):
        return None
    workdir = call.facts.workdir
    read = _places(told.values("read_path"), workdir)
    written = _places(told.values("written_path"), workdir)
    if read is None or written is None or any("*" in each.removesuffix("/**") for each in (*read, *written)):
        return None
    words = [command.text.split() for command in told.commands if command.text]
    if any(word[0].startswith((">", "<")) or "/" in word[0] for word in words):
        return None
    return Line(
        text,
        frozenset(map(_pattern, words)),
        frozenset(option.partition("=")[0] for word in words for option in word[1:] if option.startswith("-")),
        frozenset(read),
        frozenset(written),
        frozenset(told.values("contacted_host")),
        frozenset(_places(told.values("executed"), workdir) or ()),
    )


def _told(text: Any, call: SeenCall) -> LineEffects | None:
    args = call.facts.args
    cwd = args.get("cwd") if isinstance(args, dict) else None
    workdir = call.facts.workdir or None
    if not isinstance(text, str) or not (cwd is None or isinstance(cwd, str)):
        return None
    try:
        return effects_of_command(text, workdir=workdir, cwd=cwd or None)
    except ValidationError:
        return None


def _takes_away(text: str, calls: Iterable[SeenCall], path: Path) -> bool:
    for call in calls:
        if text in call.args.leaves.get(path, ()):
            told = _told(text, call)
            return told is None or bool(told.values("removed_path"))
    return True


def _places(found: Iterable[str], workdir: str) -> list[str] | None:
    out = []
    for value in found:
        where = place(value.removesuffix("/**"), workdir)
        if where is None or " or " in value:
            return None
        out.append(where + ("/**" if value.endswith("/**") else ""))
    return out


def _pattern(words: Sequence[str]) -> str:
    name = words[0]
    verb = words[1] if len(words) > 1 else ""
    if name in _SUBCOMMANDS and verb.replace("-", "").replace(":", "").isalnum() and not verb.startswith("-"):
        second = words[2] if len(words) > 2 else ""
        if verb == "run" and second.replace("-", "").replace(":", "").isalnum() and not second.startswith("-"):
            return f"{name} run {second} *"
        return f"{name} {verb} *"
    return f"{name} *"


def by_effects(lines: Sequence[Line]) -> Way:
    """The way that lets these lines pass, and others of the same programs and options that reach no further."""
    patterns = sorted({each for line in lines for each in line.patterns})[:_MOST_PATTERNS]
    options = sorted({each for line in lines for each in line.options})
    of = f"every option of it in {listed(options)}" if options else "option of it missing"
    tests = [f"unread of {OPERAND} missing", f"every command of {OPERAND} has (it like {listed(patterns)} and {of})"]
    tests.append(_paths("read_path", {each for line in lines for each in line.read}, "keys"))
    tests.append(_paths("written_path", {each for line in lines for each in line.written}, "guards"))
    tests.append(f"removed_path of {OPERAND} missing")
    hosts = {each for line in lines for each in line.hosts}
    tests.append(
        f"every contacted_host of {OPERAND} in {listed(hosts)}" if hosts else f"contacted_host of {OPERAND} missing"
    )
    tests.append(_executed({each for line in lines for each in line.executed}))
    return Way("command", " and ".join(tests), Strength.LITERAL, compound=True)


def _paths(facet: str, values: set[str], but: str) -> str:
    if not values:
        return f"{facet} of {OPERAND} missing"
    deep = {each.removesuffix("/**") for each in values if each.endswith("/**")}
    plain = {_folder(each) for each in values if not each.endswith("/**")}
    tests = []
    if plain or deep - {"."}:
        tests.append(f"(it under {listed(plain | deep)} and it not like {but} ignoring case)")
    if deep:
        # A folder that is taken as a whole has names that nobody listed.
        tests.append(f'(it under {listed(deep)} and it ends with "/**")')
    return f"every {facet} of {OPERAND} has ({' or '.join(tests)})"


def _folder(path: str) -> str:
    """The folder of a path, or the path itself where that has none above it but the root."""
    if not isabs(path):
        return path.rpartition("/")[0] or "."
    above = path.rpartition("/")[0]
    return above if above.count("/") > 1 else path


def _executed(values: set[str]) -> str:
    if not values:
        return f"executed of {OPERAND} missing"
    below = {each for each in values if not isabs(each) and ("/" in each or each in (".", "./"))}
    names = values - below
    tests = [f"it in {listed(names)}"] if names else []
    tests += [f"it under {listed({_folder(each) for each in below})}"] if below else []
    return f"every executed of {OPERAND} has ({' or '.join(tests)})"
