"""How `rebuno-hook` asks the resident judge: where it listens, what is sent, what comes back.

It imports next to nothing: the module that `socket` is built on, and not that, which takes longer than all else here.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
else:
    try:
        import _socket as socket
    except ImportError:  # an interpreter of another make
        import socket

VERSION = "0.1.0"

# What the frames on the socket begin with, and how much they may hold. `rebuno.hosts.judge.frames` has the other end.
MAGIC = b"rebuno-hook 1\n"
LARGEST = 1 << 26
ANSWER = b"A"
SOCKET = "judge.sock"

# The judge sees these variables of the host, save those that hold a secret.
_NAMES = {b"HOME", b"USER", b"LOGNAME", b"PATH", b"PWD", b"TMPDIR", b"TZ", b"LANG", b"LC_ALL"}
_PREFIXES = (b"REBUNO_", b"XDG_", b"CLAUDE", b"CODEX_", b"GEMINI_", b"OPENCODE", b"PG")
_SECRETS = (b"KEY", b"TOKEN", b"SECRET", b"PASSW", b"CREDENTIAL")


class NoAnswerError(Exception):
    """Why there is no answer, as one sentence for the person."""


class NoJudgeError(Exception):
    """No judge answered. Another one may be asked: the same event gets the same answer."""


# Processes that end with this one where the deadline is over.
children: list[int] = []


def identity() -> str:
    """The version of this installation and where it lies: a judge of another one is replaced."""
    place = os.path.abspath(__file__)
    found = os.stat(place)
    return f"{VERSION} {place} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def pack(argv: list[str], seconds: float, cwd: str, event: bytes) -> bytes:
    """The request, as the judge reads it."""
    fields = [identity().encode(), b"%f" % seconds, os.fsencode(cwd), b"%d" % len(argv), *map(os.fsencode, argv)]
    for name, value in os.environb.items():
        if (name in _NAMES or name.startswith(_PREFIXES)) and not any(word in name for word in _SECRETS):
            fields.append(name + b"=" + value)
    head = b"\0".join(fields)
    return b"%s%08x%08x%s%s" % (MAGIC, len(head), len(event), head, event)


def folder_name() -> str:
    """The folder of the judge's socket."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        return runtime + "/rebuno"
    state = os.environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        home = os.environ.get("HOME", "")
        if not home.startswith("/"):
            raise NoJudgeError("neither HOME nor XDG_RUNTIME_DIR names a folder")
        state = home + "/.local/state"
    return state + "/rebuno/judge"


def open_folder() -> int:
    """The folder of the socket, opened.

    Raises:
        OSError: there is none.
        NoJudgeError: it is not this user's alone.
    """
    name = folder_name()
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        os.close(folder)
        raise NoJudgeError(f"the folder {name} is not yours alone: it needs the mode 0700")
    return folder


def connect(folder: int) -> "socket.socket":
    """A connection to the judge that listens in a folder.

    Raises:
        NoJudgeError: none listens.
    """
    # From inside of the folder no path is too long for a socket, and no link can come between.
    os.fchdir(folder)
    judge = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        judge.connect(SOCKET)
    except OSError as error:
        judge.close()
        raise NoJudgeError(f"none listens: {error.strerror}") from None
    return judge


def ask(judge: "socket.socket", request: bytes) -> tuple[int, bytes, bytes]:
    """What the judge answers.

    Raises:
        NoJudgeError: it has gone, or leaves, before it answered.
    """
    try:
        judge.sendall(request)
        head = _receive(judge, 18)
        if head[:1] != ANSWER or head[1:2] not in (b"0", b"2"):
            raise NoJudgeError("what it says is no answer")
        out, said = int(head[2:10], 16), int(head[10:18], 16)
        if not (0 <= out <= LARGEST and 0 <= said <= LARGEST):
            raise NoJudgeError("its answer is too large")
        body = _receive(judge, out + said)
    except (OSError, ValueError) as error:
        raise NoJudgeError(f"it has gone: {error}") from None
    finally:
        judge.close()
    return int(head[1:2]), body[:out], body[out:]


def _receive(judge: "socket.socket", size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = judge.recv(min(size - len(found), 1 << 20))
        if not more:
            raise NoJudgeError("it has gone")
        found += more
    return found
