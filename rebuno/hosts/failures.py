"""The list of what went wrong in hooks, for `rebuno hook doctor`: one JSON object a line."""

import json
import os
import time
from collections.abc import Mapping
from typing import Any, Final

from rebuno.hosts.answer import HookAnswer, refused
from rebuno.hosts.settings import state_folder

# In bytes: the older half goes where there are more.
LARGEST: Final = 262_144

BEGINNING: Final = "rebuno: the call must not run: "


def failure_answer(sentence: str, host: str, environ: Mapping[str, str], *, observe: bool) -> HookAnswer:
    """The answer where there is none: a refusal with the cause. Where the policy is only observed the host goes on, and
    `rebuno hook doctor` tells of it."""
    note_failure(environ, host, sentence, observed=observe)
    return HookAnswer(_nothing_said(host)) if observe else refused(BEGINNING + sentence)


def failures_path(environ: Mapping[str, str]) -> str:
    """Where the list lies."""
    return os.path.join(state_folder(environ), "hook-failures.jsonl")


def note_failure(environ: Mapping[str, str], host: str, sentence: str, *, observed: bool) -> None:
    """Adds a failure: `{"at", "host", "message", "observed"}`, `at` in seconds since 1970, `observed` true where the
    call ran all the same. What cannot be written is left out: the answer matters more."""
    path = failures_path(environ)
    said = {"at": int(time.time()), "host": host, "message": sentence[:1000], "observed": observed}
    line = (json.dumps(said) + "\n").encode()
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, line)
            large = os.fstat(handle).st_size > LARGEST
        finally:
            os.close(handle)
        if large:
            _halve(path)
    except OSError:
        return


def read_failures(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """The failures, oldest first. A line that is none is left out."""
    try:
        with open(failures_path(environ), "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            one = json.loads(line)
        except ValueError:
            continue
        if isinstance(one, dict) and isinstance(one.get("message"), str):
            found.append(one)
    return found


def _nothing_said(host: str) -> str:
    # Our plugin takes silence for a refusal; the others go on as if there were no hook.
    return '{"decision": "allow"}\n' if host == "opencode" else ""


def _halve(path: str) -> None:
    with open(path, "rb") as file:
        file.seek(-LARGEST // 2, os.SEEK_END)
        kept = file.read().partition(b"\n")[2]
    new = f"{path}.{os.getpid()}"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, kept)
    finally:
        os.close(handle)
    os.replace(new, path)
