"""What all tests share: a PostgreSQL server, markers by folder, and names of tools and time limits that are no other
test's affair."""

import logging
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest

from rebuno.sdk import tool
from tests.postgres.binaries import binaries
from tests.postgres.server import Server, database, emptied

pytest_plugins = ["pytester"]

# The URL of a server in which databases may be made, or `skip`.
VARIABLE = "REBUNO_TEST_POSTGRES"

HERE: Final = Path(__file__).parent
# What each marker is given to: folders and files below this one. No test sets one by hand.
MARKED: Final = {
    # A test, or all of the file, takes more than about two seconds of the processor.
    "slow": (
        "acceptance/test_claims.py",
        "adapters",
        "cases/test_bounds.py",
        "cases/test_calls.py",
        "cases/test_commands.py",
        "cli/test_claims.py",
        "cli/test_served_commands.py",
        "cli/test_shown.py",
        "cli/test_store_commands.py",
        "cli/test_verify.py",
        "console/test_in_chromium.py",
        "embedded/test_busy_runs.py",
        "embedded/test_cancelled_runs.py",
        "embedded/test_long_runs.py",
        "hosts/test_doctor.py",
        "hosts/test_install_settings.py",
        "hosts/test_judge_gates.py",
        "hosts/test_judge_lifecycle.py",
        "hosts/test_judge_starts.py",
        "hosts/test_judge_transport.py",
        "hosts/test_judge_web.py",
        "journal/test_sqlite_torn.py",
        "journal/test_sqlite_turns.py",
        "kernel/test_heavy.py",
        "kernel/test_inheritance_property.py",
        "kernel/test_limits_property.py",
        "kernel/test_model.py",
        "kernel/test_replay_property.py",
        "kernel/test_serving_property.py",
        "llm/test_calls.py",
        "mcp/test_calls.py",
        "mcp/test_forwarding.py",
        "mcp/test_pins.py",
        "mcp/test_processes.py",
        "mcp/test_sessions.py",
        "mutation",
        "policy/effects/test_truth.py",
        "policy/facets/test_date_words.py",
        "policy/facets/test_email.py",
        "policy/facets/test_links.py",
        "policy/facets/test_shell_differential.py",
        "policy/facets/test_sql.py",
        "policy/facets/test_sql_oracles.py",
        "policy/facets/test_url.py",
        "policy/facets/test_url_clients.py",
        "policy/proving",
        "policy/suggest/test_properties.py",
        "policy/test_agentdojo.py",
        "policy/test_characters.py",
        "policy/test_check.py",
        "policy/test_coding_bundle.py",
        "policy/test_coverage.py",
        "policy/test_decide_benchmark.py",
        "policy/test_doubt_table.py",
        "policy/test_format.py",
        "policy/test_history.py",
        "policy/test_implication.py",
        "policy/test_layers.py",
        "policy/test_mentions.py",
        "policy/test_operands.py",
        "policy/test_policies.py",
        "policy/test_properties.py",
        "policy/test_tables.py",
        "policy/test_yaml_bundle.py",
        "policy/test_yaml_rules.py",
        "sdk/test_served.py",
        "server/test_auth_spellings.py",
        "server/test_left_out.py",
        "server/test_schemathesis.py",
    ),
    # Programs that are started, and mostly killed.
    "process": (
        "acceptance",
        "adapters/test_claude_agent.py",
        "adapters/test_examples.py",
        "adapters/test_guard.py",
        "adapters/test_missing_extras.py",
        "benchmarks",
        "cases/test_answers.py",
        "cases/test_identities.py",
        "cases/test_interrupts.py",
        "cases/test_owners.py",
        "cases/test_questions.py",
        "cases/test_windows.py",
        "cli/test_claims.py",
        "cli/test_exit_codes.py",
        "cli/test_golden.py",
        "cli/test_policy_test.py",
        "cli/test_verify.py",
        "console/test_commands.py",
        "console/test_in_chromium.py",
        "docs/test_facets.py",
        "docs/test_llm.py",
        "docs/test_pages.py",
        "drivers/test_git.py",
        "embedded/test_blocking.py",
        "embedded/test_busy_runs.py",
        "embedded/test_field.py",
        "embedded/test_kills.py",
        "embedded/test_limits.py",
        "embedded/test_long_runs.py",
        "embedded/test_open.py",
        "embedded/test_resources.py",
        "examples",
        "hosts/test_doctor.py",
        "hosts/test_install_settings.py",
        "hosts/test_judge_gates.py",
        "hosts/test_judge_lifecycle.py",
        "hosts/test_judge_starts.py",
        "hosts/test_judge_transport.py",
        "hosts/test_judge_web.py",
        "hosts/test_opencode_plugin.py",
        "house/test_deploy.py",
        "house/test_imports.py",
        "house/test_wheel.py",
        "journal/test_permissions.py",
        "journal/test_postgres_processes.py",
        "journal/test_sqlite_beside.py",
        "journal/test_sqlite_errors.py",
        "journal/test_sqlite_faults.py",
        "journal/test_sqlite_marks.py",
        "journal/test_sqlite_processes.py",
        "journal/test_thread_faults.py",
        "peers",
        "policy/effects/test_truth.py",
        "policy/facets/test_shell_bash.py",
        "policy/facets/test_shell_differential.py",
        "server/test_commands.py",
        "server/test_quickstart.py",
        "test_mcp.py",
    ),
    # A PostgreSQL server; a test that asks for one, or is told "postgres" by a parameter, has the marker besides.
    "postgres": ("postgres",),
}
_ON_POSTGRES: Final = {"postgres", "postgres_database", "postgres_server"}
_STORES: Final = {"postgres", "two replicas"}

# A time limit for each example would fail tests where the machine is busy, and say nothing about the code.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m "not slow"` a slow file is not even read: reading all takes as long as many tests."""
    path = collection_path.relative_to(HERE) if collection_path.is_relative_to(HERE) else collection_path
    left_out = [marker for marker in MARKED if f"not {marker}" in config.getoption("markexpr")]
    return any(path.is_relative_to(place) for marker in left_out for place in MARKED[marker]) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks each test by where it stands and by what it needs, and says which tests one process has to run.

    A file is run by one process, so that what it has set up once is set up once. Of a slow file each test may go to
    another, unless the file shares something. What takes long begins first.
    """
    for item in items:
        path = item.path.relative_to(HERE)
        for marker, places in MARKED.items():
            if any(path.is_relative_to(place) for place in places):
                item.add_marker(marker)
        if _needs_postgres(item):
            item.add_marker("postgres")
        if item.get_closest_marker("slow") is None or _shares(item):
            item.add_marker(pytest.mark.xdist_group(str(path)))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: [item.get_closest_marker(marker) is None for marker in MARKED])


def _needs_postgres(item: pytest.Item) -> bool:
    asked = set(getattr(item, "fixturenames", ()))
    given = getattr(item, "callspec", None)
    told = {value for value in given.params.values() if isinstance(value, str)} if given is not None else set()
    return bool(asked & _ON_POSTGRES or told & _STORES)


def _shares(item: pytest.Item) -> bool:
    """Whether a fixture of a test is made once for the whole file."""
    found = getattr(item, "_fixtureinfo", None)
    made = found.name2fixturedefs.values() if found is not None else ()
    return any(one.scope in {"module", "class"} for definitions in made for one in definitions)


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


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """A process of xdist sends its reports in UTF-8, which cannot hold the lone surrogates of some failures."""
    return _sound((yield))


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_sound(key): _sound(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_sound(item) for item in value])
    return value
