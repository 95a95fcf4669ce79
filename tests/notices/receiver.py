"""A real HTTP server on loopback that stands for a target; it checks signatures by itself."""

import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "a secret of the notices"


@dataclass
class Receiver:
    """What came, in order, and what it is answered: `answer` gives the status of the request of this number, from 1."""

    url: str = ""
    answer: Callable[[int], int] = lambda number: 204
    bodies: list[dict[str, Any]] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    forged: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, enough: Callable[["Receiver"], bool]) -> None:
        """Returns once enough has come; fails after a minute."""
        with self.changed:
            assert self.changed.wait_for(lambda: enough(self), timeout=60), self.bodies

    def take(self, body: bytes, signature: str) -> int:
        """Notes one request; what it is answered."""
        mine = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        with self.changed:
            self.forged += signature != mine
            told = json.loads(body)
            self.bodies.append(told)
            number = len(self.bodies)
        status = self.answer(number)
        with self.changed:
            if status < 300:
                self.taken.append(told.get("id", ""))
            self.changed.notify_all()
        return status


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver while the context is open."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = receiver.take(body, self.headers.get("Rebuno-Signature", ""))
            try:
                self.send_response(status)
                self.end_headers()
            except OSError:
                return  # who sent it was killed

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        receiver.url = f"http://127.0.0.1:{server.server_port}/told"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
