"""What all tests share: a PostgreSQL server, and names of tools and time limits that are no other test's affair."""

import logging
import os
from collections.abc import Iterator

import hypothesis
import pytest

from rebuno.sdk import tool
from tests.postgres.binaries import binaries
from tests.postgres.server import Server, database, emptied

pytest_plugins = ["pytester"]

# The URL of a server in which databases may be made, or `skip`.
VARIABLE = "REBUNO_TEST_POSTGRES"

# A time limit for each example would fail tests where the machine is busy, and say nothing about the code.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Each module names its tools as it likes, too."""
    if isinstance(collector, pytest.Module):
        tool._registered.clear()


@pytest.fixture(autouse=True)
def own_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test names its tools as it likes: the promises of another one's do not bind it."""
    monkeypatch.setattr(tool, "_registered", {})


class _Complaints(logging.Handler):
    """What event loops complain of, asyncio's and uvloop's: a fault in a callback, an exception that nobody fetched, a
    task that was destroyed. They have no caller to be raised to, and say so in this log only."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.said.append(f"{record.getMessage()} ({error!r})" if error is not None else record.getMessage())


@pytest.fixture(autouse=True)
def complaints() -> Iterator[list[str]]:
    """Fails a test whose event loop called its exception handler; a test that means it to takes them out."""
    heard = _Complaints()
    log = logging.getLogger("asyncio")
    log.addHandler(heard)
    try:
        yield heard.said
    finally:
        log.removeHandler(heard)
    if heard.said:
        pytest.fail("the event loop complained:\n" + "\n".join(heard.said))


def which() -> str:
    """Which server the tests speak to, in words."""
    given = os.environ.get(VARIABLE, "")
    if given == "skip":
        return f"none ({VARIABLE}=skip)"
    if given:
        return f"the one that {VARIABLE} names"
    try:
        return binaries().name
    except FileNotFoundError:
        return "none was found; its tests fail"


def pytest_report_header() -> str:
    """Says so at the top."""
    return f"PostgreSQL: {which()}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """And at the end, where `-q` keeps the top silent."""
    if terminalreporter.verbosity < 0:
        terminalreporter.write_line(f"PostgreSQL: {which()}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server for the whole session, in which a test makes databases of its own."""
    given = os.environ.get(VARIABLE, "")
    if given == "skip":
        pytest.skip(f"{VARIABLE}=skip")
    if given:
        yield given
        return
    # Nothing of these tests must outlive a power cut; those that ask for durability start a server of their own.
    with Server(fsync=False) as server:
        yield server.url()


@pytest.fixture(scope="session")
def postgres_database(postgres_server: str) -> Iterator[str]:
    """The URL of a database that one test after another has: making one takes ten times as long as emptying it."""
    with database(postgres_server) as url:
        yield url


@pytest.fixture
def postgres(postgres_database: str) -> Iterator[str]:
    """The URL of an empty database."""
    yield postgres_database
    emptied(postgres_database)
