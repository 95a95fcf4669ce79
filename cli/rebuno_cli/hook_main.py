"""`rebuno-hook HOST`: the answer to one event of a coding agent, from the resident judge.

A host starts this program before every call, so it imports next to nothing; what is needed where no judge runs stands
in `hook_start`. It ends with 0 and the judge's words or with 2 and one sentence, and never otherwise.
"""

import os
import sys

from rebuno_cli.hook_client import (
    LARGEST,
    VERSION,
    NoAnswerError,
    NoJudgeError,
    ask,
    children,
    connect,
    open_folder,
    pack,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    try:
        import _signal as signal
    except ImportError:  # an interpreter of another make
        import signal

USAGE = "usage: rebuno-hook HOST [OPTION]..., with the options of `rebuno hook run`"
# After how many seconds the host gives the hook up, where `--timeout` does not say: it would let the call run then.
TIMEOUT = 60.0
UNITS = {"s": 1, "m": 60, "h": 3600}


def main() -> None:
    """Answers the event on the standard input and ends the process."""
    try:
        code, out, said = answer(sys.argv[1:])
    except NoAnswerError as failure:
        code, out, said = failed(str(failure))
    except BaseException as error:
        code, out, said = failed(f"{type(error).__name__}: {error}")
    try:
        _write(2, said)
        _write(1, out)
    except OSError:
        code = 2
    # What the interpreter takes apart at its end is a tenth of all the time.
    os._exit(code)


def answer(argv: list[str]) -> tuple[int, bytes, bytes]:
    """The exit code, the standard output and the standard error for the event on the standard input.

    Raises:
        NoAnswerError: there is none.
    """
    if argv == ["--version"]:
        # What is no verdict ends with 2: planted by mistake it must not let a call run.
        return 2, b"", b"rebuno-hook: version %s\n" % VERSION.encode()
    if not argv or argv[0].startswith("-"):
        raise NoAnswerError(USAGE)
    seconds = _deadline(argv)
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    event = _read()
    cwd = _cwd()
    request = pack(argv, seconds, cwd, event)
    try:
        folder = open_folder()
        try:
            return ask(connect(folder), request)
        finally:
            os.close(folder)
    except (NoJudgeError, OSError):
        from rebuno_cli import hook_start

        return hook_start.answer(argv, cwd, event, request)


def failed(sentence: str) -> tuple[int, bytes, bytes]:
    """The answer where there is none: a refusal. Where the policy is only observed, the host goes on."""
    try:
        from rebuno_cli import hook_start

        return hook_start.failed(sys.argv[1:], sentence)
    except BaseException:
        # Whatever is broken, this much is to be had.
        line = f"rebuno: the call must not run: {' '.join(sentence.split())[:2000]}\n"
        return 2, b"", line.encode(errors="replace")


def _deadline(argv: list[str]) -> float:
    timeout = TIMEOUT
    for at, word in enumerate(argv):
        name, _, given = word.partition("=")
        if name == "--timeout":
            given = given or "".join(argv[at + 1 : at + 2])
            try:
                timeout = float(given.rstrip("smh")) * UNITS.get(given[-1:], 1)
            except ValueError:
                timeout = 0.0
            if not 1 <= timeout <= 86_400:
                raise NoAnswerError(f"the timeout `{given[:40]}` is no span of time from 1s to 24h")
    # The judge answers in its own words three seconds before the host's end; this is for one that does not.
    return max(timeout - 2, timeout * 0.6)


def _read() -> bytes:
    pieces = []
    size = 0
    while piece := os.read(0, 1 << 20):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            raise NoAnswerError(f"the event has more than {LARGEST:,} bytes")
    return b"".join(pieces)


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _late(number: int, frame: object) -> None:
    # No exception: it could come where another one is being handled, and end the process with 1.
    code = 2
    try:
        signal.signal(signal.SIGALRM, _too_late)
        signal.setitimer(signal.ITIMER_REAL, 1.5)
        for child in children:
            os.kill(child, signal.SIGKILL)
        code, out, said = failed("the judge did not answer in time")
        _write(2, said)
        _write(1, out)
    finally:
        os._exit(code)


def _too_late(number: int, frame: object) -> None:
    try:
        os.write(2, b"rebuno: the call must not run: the judge did not answer in time\n")
    finally:
        os._exit(2)


def _write(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]
