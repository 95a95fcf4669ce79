"""Compares what a line did with the effects that are read from it."""

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.shell.wrappers import WRAPPERS
from rebuno.policy.facets.url.hosts import host_literal
from tests.policy.effects.tracing.files import REMOTES
from tests.policy.effects.tracing.reading import Place, Read
from tests.policy.effects.tracing.strace import Event
from tests.policy.effects.tracing.tracer import Trace

_SHELL: Final = "the shell"
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
# Programs that open what they write for reading, to see whether it is there.
_LOOKS_FIRST: Final = frozenset({"bzip2", "bunzip2", "curl"})
_HOME: Final = os.path.expanduser("~")
# What any program may read for itself: libraries, the locale, names of users and hosts, what the system is.
_FOLDERS: Final = (
    "/lib /lib32 /lib64 /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/share /usr/local/lib /usr/local/share "
    "/usr/local/go /usr/local/bin /usr/local/sbin /usr/include /usr/bin /usr/sbin /bin /sbin /etc/ssl /etc/pki "
    "/etc/alternatives /etc/terminfo /etc/ca-certificates /run/truth/bin /sys /proc/sys /var/lib/gems"
)
_PYTHON: Final = (sys.prefix, sys.base_prefix, *(one for one in sys.path if one))
_LIBRARIES: Final = frozenset(
    {*_FOLDERS.split(), *_PYTHON, *map(os.path.realpath, _PYTHON), os.path.expanduser("~/.rustup")}
)
_PROCESS: Final = (
    "maps status stat statm mountinfo mounts cgroup exe fd comm limits auxv oom_score_adj loginuid cmdline "
    "attr/current coredump_filter net/if_inet6 net/ipv6_route fdinfo/[0-9]+"
)
_KERNEL: Final = (
    "filesystems cgroups meminfo cpuinfo stat mounts loadavg uptime version version_signature devices partitions self "
    "net/[a-z0-9_]+ pressure/.*"
)
_CONFIGURED: Final = (
    r"ld\.so\.(?:cache|preload) passwd group nsswitch\.conf resolv\.conf hosts host\.conf gai\.conf services "
    r"protocols locale\.alias localtime timezone os-release lsb-release debian_version inputrc mime\.types "
    r"magic(?:\.mime)? ethertypes machine-id login\.defs shells"
)


def _one_of(names: str) -> str:
    return f"(?:{'|'.join(names.split())})"


_SYSTEM: Final = re.compile(
    rf"/etc/{_one_of(_CONFIGURED)}|/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/{_one_of(_PROCESS)}"
    rf"|/proc/{_one_of(_KERNEL)}|/proc/self/fd/[0-9]+|/dev/fd(?:/[0-9]+)?"
    r"|/dev/(?:null|zero|full|u?random|tty|std(?:in|out|err)|pts/[0-9]+|shm/.*)"
)


# The shell looks for files with such names, in vain, and nobody sees which there are.
_FILTER: Final = re.compile(r"--[a-z-]+=[^\s'\"]*[*?\[]")
# The hosts of the names that the files of the sandbox, or programs for want of one, give to remotes.
_REMOTE_HOSTS: Final = {
    **{f"remote:{name}": re.split(r"[@/:]+", url)[1] for name, url in REMOTES.items()},
    "remote:kubectl": "127.0.0.1",
}


def _literal(host: str) -> str:
    # `2` is 0.0.0.2 to those that read numbers.
    try:
        return host_literal(host)
    except ValueError:
        return host


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
        # Files that were written, and not removed since.
        self.rewritten: set[str] = set()
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
        if fault.kind == "read" and fault.program in _LOOKS_FIRST:
            return self._held(self.read.written, fault.what)
        # A file may be written by removing it first; where that fails, it stays away.
        if fault.kind != "remove" or not self._held(self.read.written, fault.what):
            return False
        return fault.what in self.rewritten or bool(self.trace.status)

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
        if kind == "list" and actor == _SHELL and _FILTER.search(self.trace.line):
            return
        if self._system(path) or self._own(path, actor, looks=True) or path == self.images.get(actor):
            return
        self._effect(actor, kind, path, event.call)
        folder = kind == "list"
        sets = (*self.read.read, *self.read.executed)
        if folder:
            # Who removes a folder looks whether it is empty.
            sets = (*sets, *self.read.removed, *(place for place in self.read.written if place.below))
        # To list the names below a folder that is read is no more than to read it; and a script is looked for in
        # its folder.
        named = folder and any(
            one.startswith(f"{place.path}/") or (place in self.read.executed and place.path.rpartition("/")[0] == one)
            for place in sets
            for one in self._names(path)
        )
        if not named and not self._held(sets, path, folder):
            self._fault(actor, kind, path, event.call)

    def _write(self, path: str, actor: str, call: str) -> None:
        self.rewritten.add(path)
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
        self.rewritten.discard(path)
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
        if host in ("127.0.0.1", "::1") and port == "53":
            self.resolver = actor
            return
        host = next((name for name, known in self.trace.names.items() if known == host), host)
        if host in self.read.own.get(actor, ()):
            return
        if host.endswith((".in-addr.arpa", ".ip6.arpa")):
            # The name of an address that is known already.
            return
        self._effect(actor, "contact", host, call)
        told = {*self.read.contacted, *(_REMOTE_HOSTS.get(one, "") for one in self.read.contacted)}
        if "remote:" in told:
            told.update(_REMOTE_HOSTS.values())
        if "localhost" in told:
            told.update(("127.0.0.1", "::1"))
        if host.rpartition("@")[2] not in told and _literal(host) not in told:
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

    def _own(self, path: str, actor: str, *, looks: bool = False) -> bool:
        # `**` are the files of the project that a program compares, without telling what they hold.
        inside = looks and f"{path}/".startswith(f"{self.workdir}/")
        named = path.startswith(("/tmp/", "/var/tmp/")) and path.rpartition("/")[2] in self.trace.line
        return not named and any(
            inside if one == "**" else self._fits(path, one) for one in self.read.own.get(actor, ())
        )

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
