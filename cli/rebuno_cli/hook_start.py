"""What `rebuno-hook` does where no judge answers: it starts one, and else judges in a process of its own."""

import fcntl
import os
import select
import stat
import sys

from rebuno_cli import hook_client
from rebuno_cli.hook_client import NoAnswerError, NoJudgeError

TYPE_CHECKING = False  # a call waits for what is imported here
if TYPE_CHECKING:
    from socket import socket

LOCK = "start.lock"
LOG = "judge.log"
# In seconds: how long a judge may take until it listens.
STARTING = 20.0
# How many judges are asked, one after the other, where each goes before it answers.
ATTEMPTS = 2
# What a judge is given of the environment. It lives long and serves every host, so no host's keys are in it.
_KEPT = {
    "HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
}  # fmt: skip
_PREFIXES = ("REBUNO_", "XDG_", "PG", "LC_", "COVERAGE_")
# A folder that a host works in is no place to import from, nor is what its PYTHONPATH names.
_PYTHON = (sys.executable, "-E", "-P")
_RUN = "import sys; from rebuno_cli.main import main; sys.exit(main())"


def answer(argv: list[str], cwd: str, event: bytes, request: bytes) -> tuple[int, bytes, bytes]:
    """The exit code, the standard output and the standard error for the event.

    Raises:
        NoAnswerError: there is none.
    """
    _fill_streams()
    try:
        return _of_judge(request)
    except (NoJudgeError, OSError) as error:
        why = str(error)
    finally:
        _go_back(cwd)
    return _in_own_process(argv, event, why)


def failed(argv: list[str], sentence: str) -> tuple[int, bytes, bytes]:
    """The answer where there is none, in the words of `rebuno hook run`."""
    # The host waits no longer: nothing is imported here that takes long.
    from rebuno.hosts.failures import failure_answer

    said = f"{sentence}; `rebuno hook doctor {argv[0][:40]}` says more"
    found = failure_answer(said, argv[0], os.environ, observe=_is_observed(argv))
    return found.code, found.stdout.encode(), found.stderr.encode("utf-8", "replace")


def _is_observed(argv: list[str]) -> bool:
    from rebuno.errors import ValidationError
    from rebuno.hosts.settings import read_settings

    if "--observe" in argv:
        return True
    path = next((word.partition("=")[2] for word in argv if word.startswith("--settings=")), None)
    if "--settings" in argv[:-1]:
        path = argv[argv.index("--settings") + 1]
    try:
        return read_settings(argv[0], os.environ, path).observe
    except ValidationError:
        return False


def _fill_streams() -> None:
    # With a closed standard stream the next file that is opened would take its number.
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _of_judge(request: bytes) -> tuple[int, bytes, bytes]:
    folder = _made_folder()
    try:
        for _ in range(ATTEMPTS - 1):
            try:
                return hook_client.ask(_judge(folder), request)
            except NoJudgeError:
                continue
        return hook_client.ask(_judge(folder), request)
    finally:
        os.close(folder)


def _judge(folder: int) -> "socket":
    # Of two first calls one starts the judge, and the other waits until it listens.
    with open(_locked(folder), "rb"):
        try:
            return hook_client.connect(folder)
        except NoJudgeError:
            _start(folder)
        return hook_client.connect(folder)


def _made_folder() -> int:
    name = hook_client.folder_name()
    os.makedirs(os.path.dirname(name), mode=0o700, exist_ok=True)
    if not os.path.lexists(name):
        try:  # noqa: SIM105 - `contextlib` is not imported here
            os.mkdir(name, 0o700)
        except FileExistsError:
            pass  # another first call was quicker
    return hook_client.open_folder()


def _opened(folder: int, name: str, flags: int) -> int:
    safe = os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(name, flags | safe, 0o600, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise NoJudgeError(f"{name} in {hook_client.folder_name()} is no file of ours")
    return file


def _locked(folder: int) -> int:
    file = _opened(folder, LOCK, os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _start(folder: int) -> None:
    """Starts a judge and waits until it listens.

    Raises:
        NoJudgeError: it does not. It has said why.
    """
    ready, said = os.pipe()
    log = _opened(folder, LOG, os.O_WRONLY | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        kept = {key: value for key, value in os.environ.items() if key in _KEPT or key.startswith(_PREFIXES)}
        line = [*_PYTHON, "-m", "rebuno.hosts.judge", hook_client.folder_name(), hook_client.identity()]
        # Its standard output is the pipe that it says on whether it is ready. A session of its own: the signals of the
        # host's terminal, and of a host that ends its hook with all its group, are not for it.
        streams = [(os.POSIX_SPAWN_DUP2, file, at) for at, file in enumerate((nothing, said, log))]
        os.posix_spawn(sys.executable, line, kept, file_actions=streams, setsid=True)
    finally:
        for file in (nothing, log, said):
            os.close(file)
    try:
        found = _first_words(ready)
    finally:
        os.close(ready)
    if found != b"ready":
        raise NoJudgeError(found.decode(errors="replace") or "the judge ended while it started")


def _first_words(ready: int) -> bytes:
    if not select.select([ready], [], [], STARTING)[0]:
        return b"the judge did not start in time"
    return os.read(ready, 4096)


def _go_back(cwd: str) -> None:
    try:
        os.chdir(cwd or "/")
    except OSError:
        os.chdir("/")


def _in_own_process(argv: list[str], event: bytes, why: str) -> tuple[int, bytes, bytes]:
    import subprocess

    line = [*_PYTHON, "-c", _RUN, "hook", "run", *argv]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as judging:
        hook_client.children.append(judging.pid)
        out, said = judging.communicate(event)
        hook_client.children.remove(judging.pid)
    if judging.returncode in (0, 2):
        return judging.returncode, out, said
    last = said.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
    raise NoAnswerError(
        f"no judge could be had ({why}), and `rebuno hook run {argv[0]}` ended with {judging.returncode}: {last[0]}"
    )
