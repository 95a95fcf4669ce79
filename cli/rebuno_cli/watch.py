"""Runs a command again whenever one of its files changes."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from rebuno.errors import RebunoError
from rebuno.policy import find_bundles
from rebuno_cli import failures
from rebuno_cli.render import output

_SECONDS: Final = 0.3

# Of each file the time of its last change and its size; None where it is not there.
_Stamps = dict[str, tuple[int, int] | None]


def pause() -> None:
    """Waits until it is worth while to look again."""
    time.sleep(_SECONDS)


def watch(paths: Sequence[str], run: Callable[[], tuple[int, Iterable[str]]], *, as_json: bool) -> int:
    """Calls `run`, which gives an exit code and the further files that it has read, again after each change of these or
    of a bundle or case file below `paths`. It ends on Ctrl-C with the last exit code.

    Raises:
        RebunoError: the first run did. Later ones report it, and the next change is waited for.
    """
    code = failures.YES
    used: _Stamps = {}
    first = True
    try:
        while True:
            found = _found(paths)
            try:
                code, uses = run()
            except RebunoError as error:
                if first:
                    raise
                code, uses = failures.report(error, as_json=as_json), used
            first = False
            # What changed during the run has not been seen yet, so older stamps count.
            used = {path: used.get(path, stamp) for path, stamp in _stamps(uses).items()}
            output.write_text(f"watching {len(found | used)} files; Ctrl-C ends", to=sys.stderr)
            while _found(paths) == found and _stamps(used) == used:
                pause()
            pause()  # editors write a file in more than one step
            used = _stamps(used)
    except KeyboardInterrupt:
        return code


def _found(paths: Sequence[str]) -> _Stamps:
    try:
        suites = find_bundles(paths)
    except RebunoError:
        return _stamps(paths)
    return _stamps(str(path) for suite in suites for path in (suite.bundle, suite.cases) if path)


def _stamps(paths: Iterable[str]) -> _Stamps:
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        told = Path(path).stat()
    except (OSError, ValueError):
        return None
    return told.st_mtime_ns, told.st_size
