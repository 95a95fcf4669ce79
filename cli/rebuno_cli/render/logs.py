"""Shows the log of a server: coloured lines for people, JSON for machines."""

import json
import logging
import sys
from typing import Any, Final
from urllib.parse import urlsplit

from rich.text import Text

from rebuno.model.clock import rfc3339
from rebuno_cli.render import console, output
from rebuno_cli.render.escape import escape, spelled
from rebuno_cli.render.hints import command_to_answer

# What every record has; the rest is what its writer added.
_USUAL: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_STYLES: Final = {
    "proceed": "green",
    "replay": "cyan",
    "denied": "bold red",
    "rate_limited": "red",
    "blocked": "yellow",
    "parked": "yellow",
    "execution_blocked": "yellow",
    "execution_terminal": "dim",
}
_LEVELS: Final = {"WARNING": "yellow", "ERROR": "bold red", "CRITICAL": "bold red"}


class JsonLines(logging.Handler):
    """Writes each record as one JSON object on standard error: `time`, `level`, `logger`, `message`, whatever the
    record brings (`execution_id`, `step_id`, …), and `exception`."""

    def emit(self, record: logging.LogRecord) -> None:
        said: dict[str, Any] = {
            "time": rfc3339(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_more(record),
        }
        if record.exc_info:
            said["exception"] = _trace(record)
        _write(json.dumps(said, default=str))


class Shown(logging.Handler):
    """Writes each record as a line for people on standard error, decisions in colours."""

    def emit(self, record: logging.LogRecord) -> None:
        more = _more(record)
        try:
            console.write([_decision(record, more) if "decision" in more else _line(record, more)], to=sys.stderr)
        except output.ReaderGoneError:
            return


def without_password(db: str) -> str:
    """A store's path, or its URL without what is secret in it."""
    try:
        parts = urlsplit(db)
    except ValueError:
        return "a database"
    return escape(db if "@" not in parts.netloc and "password" not in parts.query else f"{parts.hostname}{parts.path}")


def _decision(record: logging.LogRecord, more: dict[str, Any]) -> Text:
    said = str(more["decision"])
    line = Text(f"{_clock(record)} ")
    line.append(f"{said:<12} ", _STYLES.get(said, ""))
    line.append(spelled(str(more.get("target", ""))), "bold")
    if rule := more.get("rule_id"):
        line.append(f"  {escape(str(rule))}", "magenta")
    if why := more.get("reason"):
        line.append(f"  {escape(str(why))}")
    if question := more.get("approval_id"):
        line.append(f"  {command_to_answer(str(question))}", "yellow")
    line.append(f"  {escape(str(more.get('agent_id', '')))} {escape(str(more.get('execution_id', '')))}", "dim")
    return line


def _line(record: logging.LogRecord, more: dict[str, Any]) -> Text:
    line = Text(f"{_clock(record)} ")
    if style := _LEVELS.get(record.levelname):
        line.append(f"{record.levelname.lower()} ", style)
    line.append(escape(record.getMessage(), 1000))
    for name, value in more.items():
        if value not in ("", None):
            line.append(f"  {name}={escape(str(value))}", "dim")
    if record.exc_info:
        for part in _trace(record).splitlines():
            line.append(f"\n  {escape(part, 500)}", "dim")
    return line


def _clock(record: logging.LogRecord) -> str:
    return rfc3339(record.created)[11:19]


def _more(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in record.__dict__.items() if name not in _USUAL}


def _trace(record: logging.LogRecord) -> str:
    return logging.Formatter().formatException(record.exc_info) if record.exc_info else ""


def _write(line: str) -> None:
    try:
        output.write_text(line, to=sys.stderr)
    except output.ReaderGoneError:
        return
