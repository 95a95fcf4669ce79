"""A PostgreSQL server of one's own, for tests and for programs that kill it and start it again."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.postgres.binaries import Binaries, binaries, environment, run

USER: Final = "rebuno"
# How long a server may take to start, in seconds; after kill -9 it first repairs itself.
PATIENCE: Final = 60.0


class Server:
    """A server in a folder of its own, spoken to through a socket in that folder. Use it with `with`.

    `fsync` is as in production; without it a test is faster, and a power cut would lose it.
    """

    def __init__(self, *, fsync: bool = True, found: Binaries | None = None) -> None:
        self.binaries = found or binaries()
        self.fsync = fsync
        # Not below pytest's folders: a socket's path may have about 100 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="rebuno-pg-"))
        self.password = secrets.token_hex(8)
        self._running: subprocess.Popen[bytes] | None = None
        self._make()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres", *, user: str = USER, password: str | None = None) -> str:
        """How to reach a database of this server."""
        secret = self.password if password is None else password
        return f"postgresql://{user}:{secret}@/{database}?host={quote(str(self.folder), safe='')}"

    def start(self) -> None:
        """Starts the server on its folder and returns once it answers.

        Raises:
            RuntimeError: it did not; with the end of its log.
        """
        until = time.monotonic() + PATIENCE
        while not self._started(until):
            # What a killed server's own processes still hold, they let go of within moments.
            time.sleep(0.05)

    def processes(self) -> list[int]:
        """The ids of the server's process and of its own."""
        return [self._running.pid, *_children(self._running.pid)] if self._running is not None else []

    def kill(self) -> None:
        """`kill -9` of the server and of its processes: nothing is written any more."""
        own = _children(self._running.pid) if self._running is not None else []
        self._end(signal.SIGKILL)
        for pid in own:
            # Without its server a process ends by itself, sooner or later.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """Ends all connections and the server."""
        self._end(signal.SIGINT)

    def restart(self) -> None:
        """Stops the server and starts it again on the same folder."""
        self.stop()
        self.start()

    def _make(self) -> None:
        data = self.folder / "data"
        secret = self.folder / "password"
        secret.write_text(self.password, encoding="ascii")
        _, user = self.binaries.command("initdb")
        if user is not None:
            for path in (self.folder, secret):
                os.chown(path, user, user)
        options = ["--auth=password", f"--username={USER}", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C"]
        run(self.binaries, "initdb", ["--pgdata", str(data), "--no-sync", *options])

    def _settings(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            "shared_buffers": "32MB",
            "fsync": "on" if self.fsync else "off",
            "full_page_writes": "on" if self.fsync else "off",
        }
        return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]

    def _started(self, until: float) -> bool:
        command, user = self.binaries.command("postgres", "-D", str(self.folder / "data"), *self._settings())
        with (self.folder / "log").open("ab") as log:
            running = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(), user=user, group=user
            )
        while running.poll() is None:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                if time.monotonic() >= until:
                    running.kill()
                time.sleep(0.01)
            else:
                self._running = running
                return True
        if time.monotonic() >= until:
            raise RuntimeError(f"{self.binaries.name} does not start:\n{self.log()[-2000:]}")
        return False

    def log(self) -> str:
        """What the server wrote about itself."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def _end(self, how: signal.Signals) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.send_signal(how)
            running.wait(PATIENCE)


def _children(pid: int) -> list[int]:
    """The processes that a process has started and that live."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def database(server: str) -> Iterator[str]:
    """A new database on the server at a URL, dropped at the end; yields its URL."""
    name = f"rebuno_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 STRATEGY file_copy").format(_name(name)))
    try:
        yield named(server, name)
    finally:
        # Where the server is gone, so is the database.
        with suppress(psycopg.OperationalError), psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(_name(name)))


def emptied(url: str) -> None:
    """Ends what speaks to a database and takes out of it what a store or a test has put there."""
    with psycopg.connect(url, autocommit=True) as connection:
        # A test may have made it read-only.
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        name = _name(connection.info.dbname)
        connection.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(name))
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA IF EXISTS rebuno CASCADE")


def named(url: str, name: str) -> str:
    """The URL of another database of the same server."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def _name(name: str) -> sql.Identifier:
    return sql.Identifier(name)
