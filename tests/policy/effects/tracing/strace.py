"""Reads the records of `strace -ff -ttt -y`: what each process did to files, hosts and programs, in order of time.

This file and `sandbox.py` run inside the sandbox, and import nothing but the standard library.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

_CALLS = (
    "open openat openat2 creat rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat rmdir "
    "mkdir mkdirat mknod mknodat truncate chmod fchmodat fchmodat2 fchmod chown lchown fchownat fchown utime utimes "
    "utimensat futimesat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr getdents getdents64 "
    "execve execveat chdir fchdir clone clone3 fork vfork socket connect sendto sendmsg sendmmsg"
)
TRACED = tuple(_CALLS.split())
_LINE = re.compile(
    r"(?P<call>[a-z0-9_]+)\((?P<args>.*)\) += (?P<result>-?[0-9]+|\?|0x[0-9a-f]+)(?:<(?P<made>.*)>)?"
    r"(?: (?P<error>E[A-Z]+) .*| \(.*\))?"
)
_ARGUMENT = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"|(?:AT_FDCWD|[0-9]+)<(?P<fd>[^<>]*)>|(?P<null>\bNULL\b)', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-f]{2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f"}
_ADDRESS = re.compile(
    r'sa_family=AF_INET6?, .*?(?:sin6?_port)=htons\((?P<port>[0-9]+)\).*?"(?P<address>[0-9a-fA-F:.]+)"'
    r'|sa_family=AF_UNIX, sun_path=(?P<abstract>@?)"(?P<socket>[^"]*)"'
)
_TWO = {"rename", "renameat", "renameat2", "link", "linkat"}
_REMOVES = {"unlink", "unlinkat", "rmdir"}
_OPENS = {"open", "openat", "openat2", "creat"}
_BY_NUMBER = {"fsetxattr", "fremovexattr", "fchmod", "fchown", "fchdir", "getdents", "getdents64"}
_FORKS = {"clone", "clone3", "fork", "vfork"}
_SENDS = {"connect", "sendto", "sendmsg", "sendmmsg"}
# What a call that fails so would have done elsewhere: all but the sandbox cannot be written.
_WOULD = {"EROFS", "EACCES", "EPERM", "EXDEV", "ETXTBSY", "ENOSPC", "EFBIG"}
_REFUSED = {"ECONNREFUSED", "EINPROGRESS", "ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT", "EAGAIN", "EADDRNOTAVAIL"}


@dataclass(slots=True)
class Event:
    """What a process did. `kind` is `read`, `list` (a folder), `write`, `remove`, `rename` (to `other`), `exec`,
    `contact` (`path` is an address with a port, or `unix:` and a path) or `fork` (`other` is the child)."""

    process: int
    kind: str
    path: str
    call: str
    other: str = ""


def text_of(quoted: str) -> str:
    """A text as strace quotes it, without its escapes."""
    return os.fsdecode(_ESCAPE.sub(_unescaped, quoted.encode("utf-8", "surrogateescape")))


def _unescaped(found: "re.Match[bytes]") -> bytes:
    what = found[1]
    if what[:1].isdigit():
        return bytes([int(what, 8) & 255])
    return bytes.fromhex(what[1:].decode()) if what[:1] == b"x" and len(what) == 3 else _ESCAPED.get(what, what)


def _paths(args: str, cwd: str) -> list[str]:
    # The paths of the arguments, each read from the directory before it.
    found: list[str] = []
    base = cwd
    dangling = False
    for one in _ARGUMENT.finditer(args):
        if one["fd"] is not None:
            base, dangling = text_of(one["fd"]), True
        elif one["null"] or one["text"] == "":
            if dangling:
                found.append(base)
                dangling = False
        else:
            found.append(os.path.normpath(os.path.join(base, text_of(one["text"]))))
            base, dangling = cwd, False
    if dangling and not found:
        found.append(base)
    return found


class TraceReader:
    """Goes through the calls of all processes in order of time. `directory` is where the first one begins."""

    def __init__(self, directory: str) -> None:
        self.first = directory
        self.directories: dict[int, list[str]] = {}
        self.events: list[Event] = []
        # Sockets of datagrams, each with the address that it is connected to.
        self.datagrams: dict[str, str] = {}

    def read(self, records: Iterable[tuple[int, str]]) -> list[Event]:
        """The events of the records, each of a process and the text that strace wrote for it."""
        lines: list[tuple[float, int, str]] = []
        for process, text in records:
            for line in text.splitlines():
                time, _, call = line.partition(" ")
                if time[:1].isdigit():
                    lines.append((float(time), process, call))
        lines.sort(key=lambda line: line[0])
        for _, process, call in lines:
            found = _LINE.fullmatch(call)
            if found is not None:
                self._call(process, found["call"], found["args"], found["result"], found["error"], found["made"])
        return self.events

    def _call(self, process: int, call: str, args: str, result: str, error: str | None, made: str | None) -> None:
        directory = self.directories.setdefault(process, [self.first])
        if call in _FORKS:
            if result.isdigit() and result != "0":
                # Threads share their directory.
                shared = "CLONE_FS" in args
                self.directories[int(result)] = directory if shared else list(directory)
                self._add(process, "fork", "", call, result)
        elif call == "socket":
            if "SOCK_DGRAM" in args and made:
                self.datagrams[made] = ""
        elif call in _SENDS:
            self._sent(process, call, args, error)
        elif call in _TWO or call in ("symlink", "symlinkat"):
            self._two(process, call, _paths(args, directory[0]), error)
        else:
            # The texts of the others are no paths: names of attributes.
            paths = _paths(args.partition(",")[0] if call in _BY_NUMBER else args, directory[0])
            if paths:
                self._one(process, call, paths[0], args, error, directory)

    def _one(self, process: int, call: str, path: str, args: str, error: str | None, directory: list[str]) -> None:
        if call in ("chdir", "fchdir"):
            if error is None:
                directory[0] = path
        elif call in ("execve", "execveat"):
            if error is None:
                self._add(process, "exec", path, call)
        elif call in _OPENS:
            self._opened(process, call, path, args, error)
        elif call in ("getdents", "getdents64"):
            if error is None:
                self._add(process, "list", path, call)
        elif error is None or error in _WOULD:
            self._add(process, "remove" if call in _REMOVES else "write", path, call)

    def _opened(self, process: int, call: str, path: str, args: str, error: str | None) -> None:
        flags = args.rpartition('"')[2]
        if "O_PATH" in flags or "O_TMPFILE" in flags:
            return
        writes = call == "creat" or "O_WRONLY" in flags or "O_RDWR" in flags or "O_CREAT" in flags or "O_TRUNC" in flags
        if writes:
            if error is None or error in _WOULD:
                # First the write, which may have made the file that is read.
                self._add(process, "write", path, call)
                if "O_RDWR" in flags and "O_TRUNC" not in flags and error is None:
                    self._add(process, "read", path, call)
        elif error is None and "O_DIRECTORY" not in flags:
            self._add(process, "read", path, call)

    def _two(self, process: int, call: str, paths: list[str], error: str | None) -> None:
        if len(paths) != 2 or (error is not None and error not in _WOULD):
            return
        if call.startswith("rename"):
            self._add(process, "rename", paths[0], call, paths[1])
        else:
            self._add(process, "write", paths[1], call)

    def _sent(self, process: int, call: str, args: str, error: str | None) -> None:
        found = _ADDRESS.search(args)
        key = args.partition("<")[2].partition(">")[0]
        if found is None:
            if call != "connect" and self.datagrams.get(key):
                self._add(process, "contact", self.datagrams[key], call)
        elif found["address"] and (error is None or error in _REFUSED):
            address = f"{found['address']} {found['port']}"
            if call == "connect" and key in self.datagrams:
                # Nothing is sent yet: so a program asks which of its own addresses it would have.
                self.datagrams[key] = address
            else:
                self._add(process, "contact", address, call)
        elif found["socket"] and error is None:
            self._add(process, "contact", f"unix:{found['abstract']}{text_of(found['socket'])}", call)

    def _add(self, process: int, kind: str, path: str, call: str, other: str = "") -> None:
        self.events.append(Event(process, kind, path, call, other))
