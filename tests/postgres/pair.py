"""A primary server and a standby that confirms each commit, on TCP ports of their own."""

import shutil
import time
from typing import Final, Self
from urllib.parse import quote

import psycopg

from tests.postgres.binaries import run
from tests.postgres.server import PATIENCE, USER, Server

HOST: Final = "127.0.0.1"
# The one that every server has: it moves to the standby with all else.
DATABASE: Final = "postgres"


class Node(Server):
    """One of the two: with a `source`, a copy of that one which follows it."""

    def __init__(self, port: int, source: "Node | None" = None) -> None:
        self.port = port
        self.source = source
        super().__init__()
        if source is not None:
            self.password = source.password

    def url(self, database: str = "postgres", *, user: str = USER, password: str | None = None) -> str:
        """How to reach a database of this server alone."""
        secret = self.password if password is None else password
        return f"postgresql://{user}:{quote(secret)}@{HOST}:{self.port}/{database}"

    def _make(self) -> None:
        if self.source is None:
            super()._make()
            return
        _, user = self.binaries.command("pg_basebackup")
        if user is not None:
            shutil.chown(self.folder, user, user)
        options = ["--wal-method=stream", "--checkpoint=fast", "--write-recovery-conf", "--no-sync"]
        data = str(self.folder / "data")
        run(self.binaries, "pg_basebackup", ["--pgdata", data, *options, "--dbname", self.source.url()])

    def _settings(self) -> list[str]:
        settings = {"listen_addresses": HOST, "port": str(self.port), "max_wal_senders": "4", "hot_standby": "on"}
        return [*super()._settings(), *(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))]

    def promote(self) -> None:
        """Makes a primary of a standby, and returns once it is one."""
        run(self.binaries, "pg_ctl", ["promote", "--pgdata", str(self.folder / "data"), "--wait"])
        self.source = None


class Pair:
    """A primary and its standby. Use it with `with`.

    INVARIANT: while `protected`, a commit is answered only after the standby has it.
    """

    def __init__(self, ports: tuple[int, int]) -> None:
        self.ports = ports
        self.primary = Node(ports[0])
        self.standby: Node | None = None

    def __enter__(self) -> Self:
        self.primary.start()
        self.protect()
        return self

    def __exit__(self, *exc: object) -> None:
        for node in (self.standby, self.primary):
            if node is not None:
                node.__exit__(*exc)

    def url(self, database: str, *, options: str = "?target_session_attrs=read-write") -> str:
        """How to reach a database of whichever is the primary."""
        hosts = ",".join(f"{HOST}:{port}" for port in self.ports)
        return f"postgresql://{USER}:{self.primary.password}@{hosts}/{database}{options}"

    def fail_over(self) -> None:
        """Kills the primary, and promotes the standby. It is alone then, until `protect`."""
        assert self.standby is not None, "there is no standby"
        failed, self.primary, self.standby = self.primary, self.standby, None
        failed.kill()
        self.primary.promote()
        shutil.rmtree(failed.folder, ignore_errors=True)

    def protect(self) -> None:
        """Copies the primary to a standby on the other port, and has every commit wait for it."""
        (port,) = set(self.ports) - {self.primary.port}
        self.standby = Node(port, self.primary)
        self.standby.start()
        with psycopg.connect(self.primary.url(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            # It has caught up with everything that was committed before.
            _until(connection, "SELECT sync_state = 'sync' AND flush_lsn >= pg_current_wal_flush_lsn()")


def _until(connection: "psycopg.Connection[tuple[object, ...]]", question: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        row = connection.execute(f"{question} FROM pg_stat_replication").fetchone()
        if row is not None and row[0]:
            return
        time.sleep(0.02)
    raise RuntimeError("the standby does not follow")
