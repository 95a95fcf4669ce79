"""Compares what a line did with the effects that are read from it."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from rebuno.policy.facets.reading import PathContext, UncertainReading
from rebuno.policy.facets.shell.effects.arguments import read_arguments
from rebuno.policy.facets.shell.effects.effects import text_effects
from rebuno.policy.facets.shell.effects.readings import FolderReading, ProgramName, ScriptReading, placed
from rebuno.policy.facets.shell.effects.table import ProgramTable
from rebuno.policy.facets.shell.effects.table_set import builtin_table
from rebuno.policy.facets.shell.script import ShellCommands, read_shell
from rebuno.policy.facets.shell.wrappers import WRAPPERS
from tests.policy.effects.tracing.files import REMOTES
from tests.policy.effects.tracing.strace import Event
from tests.policy.effects.tracing.tracer import Trace

Tables = Callable[[str], ProgramTable | None]
_SHELL: Final = "the shell"
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_HOME: Final = os.path.expanduser("~")
# What any program may read for itself: libraries, the locale, names of users and hosts, what the system is.
_LIBRARIES: Final = tuple(
    dict.fromkeys(
        (
            "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share", "/usr/local/lib",
            "/usr/local/share", "/usr/local/go", "/usr/include", "/usr/bin", "/usr/sbin", "/bin", "/etc/ssl", "/etc/pki",
            "/etc/alternatives", "/etc/terminfo", "/etc/ca-certificates", "/run/truth/bin", "/sys", "/proc/sys", "/var/lib/gems",
            os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix), sys.prefix, sys.base_prefix,
            os.path.expanduser("~/.rustup"), *(one for one in sys.path if one),
        )
    )
)  # fmt: skip
_SYSTEM: Final = re.compile(
    r"/etc/(?:ld\.so\.(?:cache|preload)|passwd|group|nsswitch\.conf|resolv\.conf|hosts|host\.conf|gai\.conf|services|protocols"
    r"|locale\.alias|localtime|timezone|os-release|lsb-release|debian_version|inputrc|mime\.types|magic(?:\.mime)?|ethertypes"
    r"|machine-id|login\.defs|shells)"
    r"|/proc/(?:(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/(?:maps|status|stat|statm|mountinfo|coredump_filter|net/if_inet6|net/ipv6_route|mounts|cgroup|exe|fd|comm|limits"
    r"|auxv|oom_score_adj|loginuid|fdinfo/[0-9]+|cmdline|attr/current)"
    r"|filesystems|cgroups|meminfo|cpuinfo|stat|mounts|net/[a-z0-9_]+|loadavg|uptime|version|version_signature|devices|partitions|self|pressure/.*)"
    r"|/dev/(?:null|zero|full|u?random|tty|std(?:in|out|err)|pts/[0-9]+|shm/.*)|/dev/fd(?:/[0-9]+)?|/proc/self/fd/[0-9]+"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A path of a set: alone, or with all that lies below it."""

    path: str
    below: bool = False
    only: tuple[str, ...] = ()
    visible: bool = False

    def holds(self, path: str, folder: bool = False) -> bool:
        """Whether the path is in the set."""
        if path == self.path:
            return True
        start = self.path if self.path == "/" else f"{self.path}/"
        if not self.below or not path.startswith(start):
            return False
        names = path[len(start) :].split("/")
        if self.visible and any(name[:1] == "." for name in names):
            return False
        return folder or not self.only or any(fnmatchcase(names[-1], one) for one in self.only)


@dataclass(frozen=True, slots=True)
class Read:
    """What is read from a line: the sets of its effects, what is unread, and what each of its programs has as its
    own."""

    read: tuple[Place, ...]
    written: tuple[Place, ...]
    removed: tuple[Place, ...]
    executed: tuple[Place, ...]
    programs: frozenset[str]
    contacted: frozenset[str]
    unread: tuple[str, ...]
    own: Mapping[str, tuple[str, ...]]
    shown: Mapping[str, tuple[str, ...]]

    @property
    def sure(self) -> bool:
        """Whether nothing is unread."""
        return not self.unread


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a line did and that is not read from it."""

    line: str
    program: str
    kind: str
    what: str
    call: str

    def __str__(self) -> str:
        return f"{self.program}: {self.kind} {self.what} ({self.call})\n    {self.line}"


def _values(value: Any) -> Iterable[Any]:
    return value.readings if type(value) is UncertainReading else (value,)


def _place(value: Any) -> Place:
    if type(value) is FolderReading:
        return Place(str(value.folder), True, value.only, value.visible)
    return Place(str(value.path if type(value) is ScriptReading else value))


def read_line(line: str, context: PathContext, tables: Tables = builtin_table) -> Read:
    """What is read from a line."""
    shell = read_shell(line)
    if shell is None:
        return Read((), (), (), (), frozenset(), frozenset(), (line,), {}, {})
    found = placed(text_effects(shell, tables), context)
    sets: dict[str, list[Place]] = {}
    programs: set[str] = set()
    contacted: set[str] = set()
    shown: dict[str, list[str]] = {}
    for many, effect in found.values:
        kind = effect.kind.value
        for value in _values(many):
            shown.setdefault(kind, []).append(f"{value if isinstance(value, str) else str(value)}  ({effect.why})")
            if kind == "contacted_host":
                contacted.add(value)
            elif type(value) is ProgramName:
                programs.add(value.name)
            else:
                sets.setdefault(kind, []).append(_place(value))
    return Read(
        tuple(sets.get("read_path", ())),
        tuple(sets.get("written_path", ())),
        tuple(sets.get("removed_path", ())),
        tuple(sets.get("executed", ())),
        frozenset(programs),
        frozenset(contacted),
        tuple(found.unread),
        _owned(shell, tables),
        {kind: tuple(dict.fromkeys(each)) for kind, each in shown.items()},
    )


def _owned(shell: ShellCommands, tables: Tables) -> dict[str, tuple[str, ...]]:
    """What each program of a line has as its own, by its name; those too that another one runs by its table."""
    own: dict[str, list[str]] = {}
    for simple in shell.commands:
        name = simple.words[0].start.rpartition("/")[2]
        table = tables(name)
        owned = own.setdefault(name, [])
        if table is None:
            continue
        owned += read_arguments(simple, table).table.own
        words = [word.start for word in simple.words[1:] if word.known]
        for module in words:
            modules = (tables(table.modules_of) or table).modules if table.modules_of else table.modules
            inner = modules.get(module)
            inner = tables(inner) if isinstance(inner, str) else inner
            owned += inner.own if inner is not None else ()
        if _hands_on(table):
            ran = next(((word, one) for word in words if (one := tables(word)) is not None), None)
            if ran is not None:
                own.setdefault(ran[0], []).extend(ran[1].own)
    return {name: tuple(dict.fromkeys(each)) for name, each in own.items()}


def _hands_on(table: ProgramTable) -> bool:
    inner = (*table.subcommands.values(), *((table.otherwise,) if table.otherwise else ()))
    here = any("tool" in slot.kinds for form in table.forms for slot in form.operands)
    return here or any(_hands_on(one) for one in inner)


def wanted(read: Read, base: str, known: Mapping[str, str], line: str) -> list[tuple[str, bool]]:
    """The paths that a line reads, removes or runs and that the sandbox lacks; some of them stay missing."""
    found: list[tuple[str, bool]] = []
    for place in (*read.read, *read.removed, *read.executed):
        inside = place.path.startswith(f"{base}/")
        if inside and place.path not in known and (len(line) + len(place.path)) % 5:
            name = place.path.rpartition("/")[2]
            found.append((place.path, place.below and "." not in name))
    return found


class Comparison:
    """What a traced line did, held against what is read from it."""

    def __init__(self, trace: Trace, read: Read, context: PathContext) -> None:
        self.trace = trace
        self.read = read
        self.home = context.home or ""
        self.workdir = context.workdir or ""
        self.links = [(path, to) for path, to in trace.known.items() if to not in ("d", "f")]
        # The program that each process acts for; None for what acts for itself.
        self.actors: dict[int, str | None] = {trace.first: _SHELL}
        self.interpreters: dict[int, str] = {}
        # The file of each program.
        self.images: dict[str, str] = {}
        # The program that asked for the addresses of names.
        self.resolver = ""
        self.begun = False
        self.made: set[str] = set()
        self.found: dict[tuple[str, str, str], Fault] = {}
        self.effects: list[tuple[str, str, str, str]] = []

    def faults(self) -> list[Fault]:
        """All that is not read from the line, each once."""
        for event in self.trace.events:
            self._event(event)
        for name in self.trace.asked if self.resolver else ():
            self._contact(name, "DNS", self.resolver)
        return [one for one in self.found.values() if not self._rewritten(one)]

    def _rewritten(self, fault: Fault) -> bool:
        # A file may be written by removing it first; where that fails, it stays away.
        if fault.kind != "remove" or not self._held(self.read.written, fault.what):
            return False
        return fault.what in self.made or bool(self.trace.status)

    def _event(self, event: Event) -> None:
        process, kind = event.process, event.kind
        if kind == "fork":
            child = int(event.other)
            self.actors[child] = self.actors.get(process)
            if process in self.interpreters:
                self.interpreters[child] = self.interpreters[process]
            return
        actor = self.actors.get(process)
        if actor is None:
            return
        if kind == "exec" and not self.begun:
            # The shell that reads the line.
            self.begun = True
        elif kind == "exec":
            self._exec(process, actor, event)
        elif kind == "contact":
            self._contact(event.path, event.call, actor)
        elif kind == "rename":
            self._rename(event, actor)
        elif kind == "remove":
            self._gone(event.path, actor, event.call)
        elif kind == "write":
            self._write(event.path, actor, event.call)
        elif not self._is_made(event.path):
            self._look(kind, event, actor)

    # ------------------------------------------------------------ programs

    def _exec(self, process: int, actor: str, event: Event) -> None:
        path = event.path
        name = path.rpartition("/")[2]
        system = not path.startswith((f"{self.workdir}/", f"{self.home}/"))
        interpreter = self.interpreters.pop(process, None)
        if interpreter == name or (interpreter and name == "env"):
            if name == "env":
                self.interpreters[process] = interpreter
            return
        if name in self.read.own and system and (actor == _SHELL or actor in WRAPPERS or name in self.read.programs):
            self.actors[process] = name
            self.images[name] = path
            self._script(process, path)
            if actor != _SHELL and actor not in _SHELLS:
                self._effect(actor, "exec", path, event.call)
                if not self._runs(name, path):
                    self._fault(actor, "exec", path, event.call)
        elif actor in _SHELLS and self._configured():
            self.actors[process] = None
        elif self._runs(name, path):
            self._effect(actor, "exec", path, event.call)
            self.actors[process] = None
        elif name == actor or name.startswith(f"{actor}-") or self._own(path, actor):
            self._script(process, path)
        else:
            self._effect(actor, "exec", path, event.call)
            self._fault(actor, "exec", path, event.call)
            self.actors[process] = None

    def _configured(self) -> bool:
        # A script, or what the system tells a login shell to do, acts for itself.
        return bool(self.read.executed) or re.search(r"\s-\w*l|--login", self.trace.line) is not None

    def _script(self, process: int, path: str) -> None:
        # The program that reads a script is no other program.
        try:
            with open(path, "rb") as file:
                first = file.readline(200)
        except OSError:
            return
        if first[:2] == b"#!":
            words = first[2:].decode("utf-8", "replace").split()
            if words:
                name = words[0].rpartition("/")[2]
                self.interpreters[process] = words[1] if name == "env" and len(words) > 1 else name

    def _runs(self, name: str, path: str) -> bool:
        # Code in a folder that is run may run anything.
        return (
            name in self.read.programs
            or any(place.below for place in self.read.executed)
            or self._held(self.read.executed, path)
        )

    # ------------------------------------------------------------ files

    def _look(self, kind: str, event: Event, actor: str) -> None:
        path = event.path
        if self._system(path) or self._own(path, actor) or path == self.images.get(actor):
            return
        self._effect(actor, kind, path, event.call)
        folder = kind == "list"
        sets = (*self.read.read, *self.read.executed)
        if folder:
            sets = (*sets, *(place for place in (*self.read.removed, *self.read.written) if place.below))
        # To list the names below a folder that is read is no more than to read it.
        named = folder and any(one.startswith(f"{place.path}/") for place in sets for one in self._names(path))
        if not named and not self._held(sets, path, folder):
            self._fault(actor, kind, path, event.call)

    def _write(self, path: str, actor: str, call: str) -> None:
        fresh = path not in self.trace.known and not self._is_made(path)
        if fresh:
            self.made.add(path)
        if self._system(path) or self._own(path, actor) or self._temporary(path):
            return
        if call.startswith("mkdir") and self._holds_own(path, actor):
            return
        self._effect(actor, "write", path, call)
        makes = call.startswith("mkdir") and any(place.path.startswith(f"{path}/") for place in self.read.written)
        if not makes and not self._held((*self.read.written, *self.read.removed), path):
            self._fault(actor, "write", path, call)

    def _gone(self, path: str, actor: str, call: str) -> None:
        if self._is_made(path):
            self._forget(path)
            return
        if self._own(path, actor) or self._temporary(path):
            return
        self._effect(actor, "remove", path, call)
        if not self._held(self.read.removed, path):
            self._fault(actor, "remove", path, call)

    def _rename(self, event: Event, actor: str) -> None:
        if self._is_made(event.path):
            self._forget(event.path)
        else:
            self._gone(event.path, actor, event.call)
        self._write(event.other, actor, event.call)

    def _is_made(self, path: str) -> bool:
        if path in self.made:
            return True
        return path not in self.trace.known and any(path.startswith(f"{one}/") for one in self.made)

    def _forget(self, path: str) -> None:
        # What was made and is gone again was temporary.
        below = f"{path}/"
        self.made = {one for one in self.made if one != path and not one.startswith(below)}
        self.found = {
            key: one
            for key, one in self.found.items()
            if one.kind != "write" or (one.what != path and not one.what.startswith(below))
        }
        self.effects = [
            one for one in self.effects if one[1] != "write" or (one[2] != path and not one[2].startswith(below))
        ]

    # ------------------------------------------------------------ hosts

    def _contact(self, address: str, call: str, actor: str) -> None:
        host, _, port = address.partition(" ")
        if address.startswith("unix:"):
            host = address
            if "/nscd/" in address or self._own(address[5:], actor):
                return
        if host == "127.0.0.1" and port == "53":
            self.resolver = actor
            return
        if self._own(host, actor) or host in self.read.own.get(actor, ()):
            return
        host = next((name for name, known in self.trace.names.items() if known == host), host)
        self._effect(actor, "contact", host, call)
        told = set(self.read.contacted)
        for one in self.read.contacted:
            if one.startswith("remote:"):
                told.update(
                    re.sub(r"^\w+://|^[^@]*@|[:/].*$", "", re.sub(r"^\w+://", "", url))
                    for name, url in REMOTES.items()
                    if one in ("remote:", f"remote:{name}")
                )
        if host not in told and not (host in ("127.0.0.1", "::1") and "localhost" in told):
            self._fault(actor, "contact", host, call)

    # ------------------------------------------------------------ sets

    def _held(self, sets: Iterable[Place], path: str, folder: bool = False) -> bool:
        names = self._names(path)
        return any(place.holds(one, folder) for place in sets for one in names)

    def _names(self, path: str) -> set[str]:
        # All names of a file: by the links that lead to it, or from it.
        found = {path}
        for _ in range(3):
            for link, to in self.links:
                for one in tuple(found):
                    if one == to or one.startswith(f"{to}/"):
                        found.add(link + one[len(to) :])
                    if one == link or one.startswith(f"{link}/"):
                        found.add(to + one[len(link) :])
        return found

    def _system(self, path: str) -> bool:
        return _SYSTEM.fullmatch(path) is not None or any(
            path == one or path.startswith(f"{one}/") for one in _LIBRARIES
        )

    def _temporary(self, path: str) -> bool:
        # Files of its own that a program makes, not those that the line names.
        return (path.startswith(("/tmp/", "/var/tmp/")) and path.split("/")[-1] not in self.trace.line) or path in (
            "/tmp",
            "/var/tmp",
        )

    def _own(self, path: str, actor: str) -> bool:
        return any(self._fits(path, one) for one in self.read.own.get(actor, ()))

    def _holds_own(self, path: str, actor: str) -> bool:
        # `~/.cache`, where `~/.cache/x/**` is its own.
        globs = (self.home + one[1:] for one in self.read.own.get(actor, ()) if one[:1] == "~")
        return any(one.startswith(f"{path}/") for one in globs)

    def _fits(self, path: str, glob: str) -> bool:
        if glob[:1] == "~":
            # `env -i` leaves no home but that of the user's entry in the system.
            return any(self._fits(path, home + glob[1:]) for home in (self.home, _HOME))
        if glob[:1] != "/":
            glob = f"*/{glob}"
        if glob.endswith("/**"):
            return fnmatchcase(path, glob[:-3]) or fnmatchcase(path, f"{glob[:-3]}/*")
        return fnmatchcase(path, glob)

    def _effect(self, actor: str, kind: str, what: str, call: str) -> None:
        self.effects.append((actor, kind, what, call))

    def _fault(self, actor: str, kind: str, what: str, call: str) -> None:
        self.found.setdefault((actor, kind, what), Fault(self.trace.line, actor, kind, what, call))
