"""Stands between a store and its server, and cuts the line at the moment that a test asks for."""

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit


class Proxy:
    """Passes a PostgreSQL socket on. `cut` swallows the server's next answer to a change and closes the line: what the
    client sent was carried out, and it cannot know. Use it with `with`."""

    def __init__(self, url: str, folder: Path) -> None:
        parts = urlsplit(url)
        self._server = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._folder = folder
        self.url = urlunsplit(parts._replace(query=f"host={quote(str(folder), safe='')}"))
        self._listening = socket.socket(socket.AF_UNIX)
        self._armed = b""
        self.cuts = 0

    def __enter__(self) -> Self:
        self._listening.bind(str(self._folder / ".s.PGSQL.5432"))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def cut(self, text: str) -> None:
        """Cuts once: at the answer to the next message that holds this text."""
        self._armed = text.encode()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(self._server)
            cutting = False
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    if one is client:
                        if self._armed and self._armed in data:
                            self._armed, cutting = b"", True
                        server.sendall(data)
                    elif cutting:
                        # It has answered, so it has committed.
                        self.cuts += 1
                        return
                    else:
                        client.sendall(data)
