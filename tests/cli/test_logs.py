"""The log of a server: for people, and for machines."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rebuno_cli.render.logs import JsonLines, Shown, without_password


@contextmanager
def _logger(handler: logging.Handler) -> Iterator[logging.Logger]:
    logger = logging.getLogger("rebuno.server.tried")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)


def test_machines_read_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """What a record brings stands beside what every one has; a line feed starts no line."""
    with _logger(JsonLines()) as logger:
        logger.info("did %s", "a\nb", extra={"execution_id": "e", "step_id": "s"})
        try:
            raise ValueError("é\n")
        except ValueError:
            logger.exception("broke")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert first["time"].endswith("Z")
    del first["time"]
    wanted = {"level": "info", "logger": "rebuno.server.tried", "message": "did a\nb"}
    assert first == {**wanted, "execution_id": "e", "step_id": "s"}
    assert second["level"] == "error"
    assert "ValueError: é" in second["exception"]


def test_people_read_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    """The decision, the step, the rule, why, and whose execution it is, on one line."""
    said = {
        "decision": "denied",
        "target": "send\nmoney",
        "rule_id": "no-money",
        "reason": "not\x1b[31m here",
        "agent_id": "banker",
        "execution_id": "0192",
        "step_id": "",
    }
    with _logger(Shown()) as logger:
        logger.debug("denied", extra=said)
    [line] = capsys.readouterr().err.splitlines()
    assert line.split(maxsplit=1)[1] == "denied       send\\nmoney  no-money  not\\u001b[31m here  banker 0192"


def test_people_read_how_a_question_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    """The line of a step that waits for a person names the command that lets it run."""
    with _logger(Shown()) as logger:
        logger.info("blocked", extra={"decision": "blocked", "target": "pay", "approval_id": "0192-ab\n"})
    [line] = capsys.readouterr().err.splitlines()
    assert "`rebuno approval grant 0192-ab\\n`" in line


def test_people_read_the_rest_too(capsys: pytest.CaptureFixture[str]) -> None:
    """What goes wrong is marked, with what is known of it and the trace below."""
    with _logger(Shown()) as logger:
        logger.info("swept")
        logger.warning("late \x07", extra={"execution_id": "0192", "step_id": ""})
        try:
            raise ValueError("bad")
        except ValueError:
            logger.exception("broke")
    first, second, third, *trace = capsys.readouterr().err.splitlines()
    assert first.endswith(" swept")
    assert second.split(maxsplit=1)[1] == "warning late \\u0007  execution_id=0192"
    assert third.endswith(" error broke")
    assert trace[-1] == "  ValueError: bad"


STORES: list[tuple[str, str, str]] = [
    ("a file", "dev.db", "dev.db"),
    ("a database", "postgresql://h/d", "postgresql://h/d"),
    ("one with a password", "postgresql://u:p4ss@h:5432/d", "h/d"),
    ("a password among the options", "postgresql://h/d?password=p4ss", "h/d"),
    ("no URL", "postgresql://[", "a database"),
]


@pytest.mark.parametrize(("reason", "db", "shown"), STORES, ids=[row[0] for row in STORES])
def test_a_store_is_named_without_its_password(reason: str, db: str, shown: str) -> None:
    """Neither a user's nor one among the options is shown."""
    assert without_password(db) == shown
