"""A PgBouncer of one's own between a store and its server."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import psycopg

from tests.postgres.binaries import NOBODY, environment, own_users
from tests.postgres.server import USER

HOST: Final = "127.0.0.1"
PATIENCE: Final = 30.0
MISSING: Final = "there is no `pgbouncer`; on Debian: `apt-get install pgbouncer`"


def program() -> str:
    """Where it is.

    Raises:
        FileNotFoundError: nowhere; it says what to install.
    """
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise FileNotFoundError(MISSING)
    return found


class Pooler:
    """A PgBouncer in front of one server, which `point` exchanges. Use it with `with`."""

    def __init__(
        self,
        port: int,
        mode: str,
        *,
        database: str,
        password: str,
        server_port: int,
        size: int = 40,
        clients: int = 200,
    ) -> None:
        self.port, self.mode, self.database, self.size, self.clients = port, mode, database, size, clients
        self._password = password
        self._server_port = server_port
        self._folder = Path(tempfile.mkdtemp(prefix="rebuno-pgb-"))
        self._running: subprocess.Popen[bytes] | None = None
        (self._folder / "users").write_text(f'"{USER}" "{password}"\n', encoding="ascii")
        self._write()

    @property
    def url(self) -> str:
        """How to reach the database through it."""
        return f"postgresql://{USER}:{self._password}@{HOST}:{self.port}/{self.database}"

    def __enter__(self) -> Self:
        command = [program(), "--quiet", str(self._folder / "ini")]
        user: int | None = None
        if os.geteuid() == 0:
            # It refuses to be root.
            if own_users():
                command = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", *command]
            else:
                user = NOBODY
                for path in (self._folder, *self._folder.iterdir()):
                    os.chown(path, NOBODY, NOBODY)
        with (self._folder / "log").open("ab") as log:
            self._running = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(), user=user, group=user
            )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self._running.poll() is None:
            with suppress(psycopg.OperationalError):
                psycopg.connect(self.url, connect_timeout=5).close()
                return self
            time.sleep(0.02)
        said = (self._folder / "log").read_text(encoding="utf-8", errors="replace")
        self.__exit__()
        raise RuntimeError(f"pgbouncer does not serve: {said[-1000:]}")

    def __exit__(self, *exc: object) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.terminate()
            running.wait(PATIENCE)
        shutil.rmtree(self._folder, ignore_errors=True)

    def point(self, server_port: int) -> None:
        """Has new connections go to another server, as an operator does after a failover."""
        self._server_port = server_port
        self._write()
        assert self._running is not None
        self._running.send_signal(signal.SIGHUP)

    def _write(self) -> None:
        text = f"""\
[databases]
{self.database} = host={HOST} port={self._server_port}

[pgbouncer]
listen_addr = {HOST}
listen_port = {self.port}
unix_socket_dir =
auth_type = plain
auth_file = {self._folder / "users"}
pool_mode = {self.mode}
default_pool_size = {self.size}
max_client_conn = {self.clients}
server_login_retry = 1
"""
        (self._folder / "ini").write_text(text, encoding="ascii")
