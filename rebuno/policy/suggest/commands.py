"""Commands by program, subcommand and options, and by the folders, hosts and programs that they reach."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from posixpath import isabs
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.policy.facets.shell.effects.told import LineEffects, effects_of_command
from rebuno.policy.suggest.folders import outermost, place
from rebuno.policy.suggest.seen import SeenCall
from rebuno.policy.suggest.text import Path, listed, quoted
from rebuno.policy.suggest.ways import LONGEST_LITERAL, MOST_LITERALS, OPERAND, Strength, Way, among, is_one_of

# Programs whose first word says what they do.
_SUBCOMMANDS: Final = frozenset(
    (
        *(
            "git",
            "npm",
            "yarn",
            "pnpm",
            "bun",
            "cargo",
            "go",
            "docker",
            "podman",
            "kubectl",
            "gh",
            "uv",
            "pip",
            "pip3",
            "poetry",
            "pdm",
            "rustup",
        ),
        *(
            "dotnet",
            "terraform",
            "helm",
            "make",
            "just",
            "task",
            "hatch",
            "nox",
            "tox",
            "bundle",
            "composer",
            "mvn",
            "gradle",
            "deno",
        ),
    )
)
_FAR_REACHING: Final = frozenset(
    (
        *("sudo", "su", "doas", "sh", "bash", "zsh", "dash", "eval", "source", ".", "env", "printenv", "export"),
        *("curl", "wget", "nc", "ncat", "socat", "ssh", "scp", "sftp", "rsync", "telnet", "ftp", "dd", "mkfs"),
        *("crontab", "at", "systemctl", "launchctl", "kill", "pkill", "killall", "chmod", "chown", "mount"),
        *("docker", "podman", "kubectl", "terraform", "shutdown", "reboot", "mail", "sendmail", "shred"),
    )
)
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_OPTION: Final = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9_.-]*")
_VERB: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_-]*")
# Programs that only say where the next command stands.
_PLACES: Final = frozenset(("cd", "pushd"))


@dataclass(frozen=True)
class Line:
    """A command line that can be read to the end: the patterns of its commands with their options, and its effects,
    with paths relative to the folder of the session."""

    text: str
    commands: frozenset[tuple[str, frozenset[str]]]
    read: frozenset[str]
    written: frozenset[str]
    hosts: frozenset[str]
    executed: frozenset[str]

    @property
    def patterns(self) -> set[str]:
        """The patterns of the commands."""
        return {pattern for pattern, _ in self.commands}


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
    exact = [text for text in exact if text not in lines and not _alarming(text, calls, path)]
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
    try:
        words = [shlex.split(command.text) for command in told.commands if command.text]
    except ValueError:
        return None
    commands = frozenset((_pattern(word), frozenset(_options(word))) for word in words if word)
    plain = all(word and _PROGRAM.fullmatch(word[0]) for word in words)
    if not words or not plain or not all(_OPTION.fullmatch(option) for _, found in commands for option in found):
        return None
    return Line(
        text,
        commands,
        frozenset(read),
        frozenset(written),
        frozenset(told.values("contacted_host")),
        frozenset(_places(told.values("executed"), workdir) or ()),
    )


def _options(words: Sequence[str]) -> Iterator[str]:
    for word in words[1:]:
        if word == "--":
            return
        if word.startswith("-") and word != "-":
            yield word.partition("=")[0]


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


def _alarming(text: str, calls: Iterable[SeenCall], path: Path) -> bool:
    """Whether a line that cannot be read to the end is none that may pass as it stands: it cannot be taken apart at
    all, takes something away, or names a program that reaches far."""
    for call in calls:
        if text in call.args.leaves.get(path, ()):
            told = _told(text, call)
            if told is None or told.values("removed_path"):
                return True
            names = {command.text.split(" ", 1)[0].rpartition("/")[2] for command in told.commands}
            return not names.isdisjoint(_FAR_REACHING)
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
    verb, second = (*words[1:3], "", "")[:2]
    if name in _SUBCOMMANDS:
        if verb == "run" and _VERB.fullmatch(second):
            return f"{name} run {second} *"
        if _VERB.fullmatch(verb):
            return f"{name} {verb} *"
    elif name not in _PLACES:
        return f"{name} *"
    # Without a word that says what it does, and where it goes, the command is one of its own.
    return " ".join(_literal(word) for word in words)


def _literal(word: str) -> str:
    return "".join("\\" + char if char in "*?[]\\" else char for char in word)


def by_effects(lines: Sequence[Line]) -> Way:
    """The way that lets these lines pass, and others of the same programs and options that reach no further."""
    tests = [f"unread of {OPERAND} missing", f"every command of {OPERAND} has ({_commands(lines)})"]
    tests.append(_paths("read_path", {each for line in lines for each in line.read}, "keys"))
    tests.append(_paths("written_path", {each for line in lines for each in line.written}, "guards"))
    tests.append(f"removed_path of {OPERAND} missing")
    hosts = {each for line in lines for each in line.hosts}
    tests.append(
        f"every contacted_host of {OPERAND} {is_one_of(sorted(hosts))}"
        if hosts
        else f"contacted_host of {OPERAND} missing"
    )
    tests.append(_executed({each for line in lines for each in line.executed}))
    return Way("command", " and ".join(tests), Strength.LITERAL, compound=True)


def _commands(lines: Sequence[Line]) -> str:
    options: dict[str, set[str]] = {}
    for line in lines:
        for pattern, found in line.commands:
            options.setdefault(pattern, set()).update(found)
    alike: dict[frozenset[str], list[str]] = {}
    for pattern, seen in sorted(options.items()):
        alike.setdefault(frozenset(seen), []).append(pattern)
    tests = []
    for seen_options, patterns in sorted(alike.items(), key=lambda one: (len(one[0]), one[1])):
        of = "option of it missing"
        if seen_options:
            of = f"every option of it {is_one_of(sorted(seen_options))}"
        like = quoted(patterns[0]) if len(patterns) == 1 else listed(patterns)
        tests.append(f"it like {like} and {of}")
    return tests[0] if len(tests) == 1 else " or ".join(f"({test})" for test in tests)


def _paths(facet: str, values: set[str], but: str) -> str:
    if not values:
        return f"{facet} of {OPERAND} missing"
    deep = outermost({each.removesuffix("/**") for each in values if each.endswith("/**")})
    plain = outermost({_folder(each) for each in values if not each.endswith("/**")} | deep - {"."})
    tests = []
    if plain:
        tests.append(f"(it under {listed(plain)} and it not like {but} ignoring case)")
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
    tests += [f"it under {listed(outermost({_folder(each) for each in below}))}"] if below else []
    return f"every executed of {OPERAND} has ({' or '.join(tests)})"
