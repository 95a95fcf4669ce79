"""Runs command lines under `strace` where they can do no harm: inside namespaces in which all but a small folder is
read only, no other process is seen, and every host is the sandbox itself.

A program of its own, started by `tracer.py` as the first process of the namespaces. It reads jobs from its standard
input and writes what was traced to its standard output, a JSON object a line.
"""

import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.policy.effects.tracing import files
from tests.policy.effects.tracing.strace import TRACED, TraceReader

_LIBC = ctypes.CDLL(None, use_errno=True)
_RDONLY, _BIND, _REC, _PRIVATE = 1, 4096, 16384, 1 << 18
_MOUNT_SETATTR = 442
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_MEGABYTE = 1 << 20


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("namespace", ctypes.c_uint64),
    )


def _mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    if _LIBC.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()):
        error = ctypes.get_errno()
        raise OSError(error, f"mount {kind} {target}: {os.strerror(error)}")


def _read_only(path: str) -> None:
    attributes = _Attributes(_RDONLY, 0, 0, 0)
    if _LIBC.syscall(_MOUNT_SETATTR, -100, path.encode(), 0x8000, ctypes.byref(attributes), ctypes.sizeof(attributes)):
        error = ctypes.get_errno()
        raise OSError(error, f"mount_setattr {path}: {os.strerror(error)}")


def _close_off(base: str, kept: list[str]) -> None:
    """Makes all read only but `base`, `/run` and the folders for temporary files, which are empty and hold no tool."""
    _mount("none", "/", "none", _REC | _PRIVATE)
    _mount("truth", base, "tmpfs", 0, "size=256m,mode=755")
    devices = Path(base, "dev")
    devices.mkdir()
    for name in _DEVICES:
        if Path("/dev", name).exists():
            (devices / name).touch()
            _mount(f"/dev/{name}", str(devices / name), "none", _BIND)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (devices / name).symlink_to(target)
    _read_only("/")
    _mount(str(devices), "/dev", "none", _BIND | _REC)
    _mount("truth", base, "tmpfs", 0, "size=256m,mode=755")
    for folder in ("/run", "/tmp", "/var/tmp"):
        if os.path.isdir(folder) and not any(one.startswith(f"{folder}/") for one in kept):
            _mount("truth", folder, "tmpfs", 0, "size=512m,mode=1777")


class Names(threading.Thread):
    """Answers every question for a name with an address of its own, and remembers which."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.known: dict[str, str] = {}
        self.asked: list[str] = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))

    def run(self) -> None:
        """Answers for ever."""
        while True:
            question, sender = self.socket.recvfrom(2048)
            try:
                self.socket.sendto(self._answer(question), sender)
            except (IndexError, ValueError, OSError):
                continue

    def _answer(self, question: bytes) -> bytes:
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode("ascii", "replace"))
            at += question[at] + 1
        name, end = ".".join(labels).lower(), at + 5
        self.asked.append(name)
        if question[at + 1 : at + 3] != b"\0\1":
            return question[:2] + b"\x85\x80" + question[4:6] + bytes(6) + question[12:end]
        number = len(self.known) + 1
        address = self.known.setdefault(name, f"10.53.{number >> 8}.{number & 255}")
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address)
        return question[:2] + b"\x85\x80" + question[4:6] + b"\0\1" + bytes(4) + question[12:end] + record


class Web(threading.Thread):
    """A server for every host, on port 80, with a small text for everybody."""

    ANSWER = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close\r\n"
        b'Content-Disposition: attachment; filename="served.txt"\r\n\r\nhi\n'
    )

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("0.0.0.0", 80), reuse_port=True)

    def run(self) -> None:
        """Serves for ever."""
        while True:
            one, _ = self.socket.accept()
            try:
                one.settimeout(0.5)
                one.recv(65536)
                one.sendall(self.ANSWER)
            except OSError:
                pass
            finally:
                one.close()


def _network() -> None:
    for words in (
        "link set lo up",
        "route add local 0.0.0.0/0 dev lo",
        "-6 route add local ::/0 dev lo",
    ):
        subprocess.run(["ip", *words.split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    for name, text in (
        ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
        ("hosts", f"127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n"),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ):
        if Path("/etc", name).exists():
            ours = Path("/run", name)
            ours.write_text(text)
            _mount(str(ours), os.path.realpath(f"/etc/{name}"), "none", _BIND)


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (32 * _MEGABYTE, 32 * _MEGABYTE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Sandbox:
    """The folder `base` in which lines run: `proj` for the project, `home/dev`, `outside`. `tools` are the programs
    that are found before all others, by name."""

    def __init__(self, base: str, tools: dict[str, str], path: str, environment: dict[str, str]) -> None:
        self.base = Path(base)
        self.private = Path("/run/truth")
        self.private.mkdir()
        self.work = self.private / "trace"
        self.template = self.private / "template"
        bin_ = self.private / "bin"
        bin_.mkdir()
        for name, where in tools.items():
            (bin_ / name).symlink_to(where)
        self.environment = {
            "PATH": f"{bin_}:{path}",
            "HOME": f"{base}/home/dev",
            "PWD": f"{base}/proj",
            "USER": "dev",
            "LOGNAME": "dev",
            "SHELL": "/bin/bash",
            "LC_ALL": "C",
            "TERM": "dumb",
            **environment,
        }
        files.build(self.base, self.environment, shutil.which("git") is not None)
        shutil.copytree(self.base, self.template, symlinks=True)
        self.clean = files.inventory(self.base)
        self.names = Names()
        self.names.start()
        Web().start()

    def reset(self) -> None:
        """Puts all files back."""
        for one in self.base.iterdir():
            shutil.rmtree(one, ignore_errors=True)
        shutil.copytree(self.template, self.base, symlinks=True, dirs_exist_ok=True)
        for folder in ("/tmp", "/var/tmp"):
            for name in os.listdir(folder) if os.path.ismount(folder) else ():
                path = os.path.join(folder, name)
                shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)

    def run(self, line: str, wanted: list[tuple[str, bool]], limit: float) -> dict[str, Any]:
        """Runs a line. `wanted` are paths that are made before, each with whether it is a folder."""
        made = self._make(wanted)
        known = {**self.clean, **made}
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        self.names.asked.clear()
        errors = self.private / "errors"
        command = [
            "strace", "--seccomp-bpf", "-ff", "-ttt", "-y", "-qq", "-e", "signal=none",
            "-e", "trace=" + ",".join(f"?{one}" for one in TRACED), "-o", str(self.work / "t"), "bash", "-c", line,
        ]  # fmt: skip
        with errors.open("wb") as told:
            started = subprocess.Popen(
                command,
                cwd=self.base / "proj",
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=told,
                start_new_session=True,
                preexec_fn=_limits,
            )
            try:
                status: int | None = started.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            self._end(started)
        reader = TraceReader(str(self.base / "proj"))
        first = min((int(one.suffix[1:]) for one in self.work.iterdir()), default=0)
        records = [(int(one.suffix[1:]), one.read_text("utf-8", "surrogateescape")) for one in self.work.iterdir()]
        events = [one for one in reader.read(records) if one.kind != "read" or not self._folder(one.path, known)]
        inside = f"{self.base}/"
        changed = bool(made) or any(
            one.kind in ("write", "remove", "rename") and one.path.startswith((inside, "/tmp", "/var/tmp"))
            for one in events
        )
        if changed:
            self.reset()
        said = errors.read_bytes()[-600:].decode("utf-8", "replace")
        return {
            "events": [astuple(one) for one in events],
            "first": first,
            "known": made,
            "status": status,
            "errors": said,
            "names": self.names.known,
            "asked": list(dict.fromkeys(self.names.asked)),
        }

    def _folder(self, path: str, known: dict[str, str]) -> bool:
        return known[path] == "d" if path in known else os.path.isdir(path)

    def _make(self, wanted: list[tuple[str, bool]]) -> dict[str, str]:
        made: dict[str, str] = {}
        for path, folder in wanted:
            try:
                if os.path.lexists(path):
                    continue
                if folder:
                    files.write_files(
                        Path(path), {"one.py": "x = 1\n", "two.txt": "foo\n", ".dot": "d\n", "sub/in.txt": "foo\n"}
                    )
                else:
                    text = "#!/bin/sh\ntrue\n" if path.endswith(".sh") else "foo\n"
                    files.write_files(Path(path).parent, {Path(path).name: text})
            except OSError:
                continue
            top = path
            while os.path.dirname(top) not in self.clean and os.path.dirname(top) != "/":
                top = os.path.dirname(top)
            made.update(files.inventory(Path(top)) if os.path.isdir(top) else {top: "f"})
        return made

    def _end(self, started: "subprocess.Popen[bytes]") -> None:
        # This is the first process of its namespace: all others are of the line.
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        if started.returncode is None:
            started.wait()
        while True:
            try:
                if os.waitpid(-1, 0) == (0, 0):
                    return
            except ChildProcessError:
                return


def main() -> None:
    """Serves jobs until the standard input ends."""
    given = json.loads(sys.stdin.readline())
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        if os.getpid() != 1:
            raise OSError("this is not the first process of a namespace")
        _close_off(given["base"], given["kept"])
        _network()
        sandbox = Sandbox(given["base"], given["tools"], given["path"], given["environment"])
        first = sandbox.run("cat a.txt", [], 20)
        if not any(one[2].endswith("/a.txt") for one in first["events"]):
            raise OSError(f"strace records nothing: {first['errors']}")
    except (OSError, subprocess.SubprocessError) as error:
        out.write(json.dumps({"fault": str(error)}) + "\n")
        out.flush()
        return
    programs = {name: shutil.which(name, path=sandbox.environment["PATH"]) for name in given["programs"]}
    out.write(json.dumps({"clean": sandbox.clean, "programs": programs, "environment": sandbox.environment}) + "\n")
    out.flush()
    for line in sys.stdin:
        job = json.loads(line)
        out.write(json.dumps(sandbox.run(job["line"], job["wanted"], job["limit"])) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
