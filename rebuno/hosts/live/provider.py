"""A simulated model provider: a real HTTP server on loopback that speaks the APIs of model providers and has no model.

It asks for the calls of its scripts, one turn for each request, and remembers what the model was told. It is also the
proxy of the host that it serves, and lets nothing through: what the host looks for elsewhere is refused and remembered.
"""

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from rebuno.hosts.live.dialects import Dialect, Heard, SimulatedAnswer, SimulatedCall, Wire, dialect_of
from rebuno.hosts.live.plan import MAIN, SHELL, PlannedCall, Script, mark

WHAT: Final = "a simulated model provider; there is no model behind it"
PAGE: Final = "/page"
# How the hosts name their tool for commands, and the arguments that it takes.
SHELLS: Final = {
    "Bash": ("command", {"description": "a command of the simulated model"}),
    "run_shell_command": ("command", {"description": "a command of the simulated model"}),
    "bash": ("command", {"description": "a command of the simulated model"}),
    "shell_command": ("command", {}),
    "exec_command": ("cmd", {}),
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that asked the model, and what it was answered. `missing` are tools of the answer that the host did not
    offer."""

    path: str
    script: str
    turn: int
    tools: tuple[str, ...]
    told: dict[str, str]
    calls: tuple[str, ...]
    missing: tuple[str, ...]


class Provider:
    """The running server. `exchanges` are the requests that asked the model and offered it tools, `pages` counts how
    often its one page was fetched, `refused` are hosts that something tried to reach through it."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.scripts: list[Script] = []
        self.learn(*scripts)
        self.exchanges: list[Exchange] = []
        self.refused: list[str] = []
        self.pages = 0
        self.url = ""
        self._before: dict[int, Callable[[], None]] = {}
        self.lock = threading.Lock()

    def learn(self, *scripts: Script) -> None:
        """Takes these scripts in the place of all others."""
        self.scripts = sorted(scripts, key=lambda one: not one.asked)

    def before(self, turn: int, action: Callable[[], None]) -> None:
        """Does something once, before the main script's turn of this number is answered."""
        self._before[turn] = action

    def told(self, turn: int, number: int = 0, script: str = MAIN) -> str | None:
        """What the model was told of a call, last; None where it never heard of it."""
        id = mark(script, turn, number)
        return next((one.told[id] for one in reversed(self.exchanges) if id in one.told), None)

    def turns(self, script: str = MAIN) -> set[int]:
        """The turns that were asked for."""
        return {one.turn for one in self.exchanges if one.script == script}

    def missing(self) -> set[str]:
        """Tools that a script called and no host offered."""
        return {name for one in self.exchanges for name in one.missing}

    def answer(self, dialect: Dialect, path: str, body: dict[str, Any]) -> Wire:
        """Answers a request as the scripts say."""
        heard = dialect.hear(body)
        script = next((one for one in self.scripts if one.asked in heard.prompt), Script(()))
        turn = _turn(script, heard)
        calls: list[SimulatedCall] = []
        if heard.tools and script.name == MAIN and (action := self._before.pop(turn, None)) is not None:
            action()
        if heard.tools and turn < len(script.turns):
            calls = [_asked(call, mark(script.name, turn, n), heard) for n, call in enumerate(script.turns[turn])]
        missing = tuple(call.tool for call in calls if call.tool not in heard.tools)
        if heard.tools:
            ids = tuple(call.id for call in calls)
            told = Exchange(path, script.name, turn, tuple(heard.tools), heard.told, ids, missing)
            with self.lock:
                self.exchanges.append(told)
        word = mark(script.name, turn, "end")
        return dialect.say(path, body, SimulatedAnswer(word, calls, f"This is {WHAT}. ({word})"))


def _turn(script: Script, heard: Heard) -> int:
    past = re.findall(rf"sim-{re.escape(script.name)}-(\d+)-", heard.said)
    return 1 + max(map(int, past), default=-1)


def _asked(call: PlannedCall, id: str, heard: Heard) -> SimulatedCall:
    if call.tool != SHELL or not isinstance(call.input, dict):
        return SimulatedCall(id, call.tool, call.input, heard.tools.get(call.tool, ""))
    name = next((one for one in SHELLS if one in heard.tools), "Bash")
    key, more = SHELLS[name]
    return SimulatedCall(id, name, {key: call.input["command"], **more}, heard.tools.get(name, ""))


@contextmanager
def simulated(*scripts: Script) -> Iterator[Provider]:
    """A provider that is there while the context is open; `url` is its address."""
    stub = Provider(scripts)

    class Handler(_Handler):
        provider = stub

    server = _Server(("127.0.0.1", 0), Handler)
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A host that ends hangs up in the middle of an answer.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    provider: Provider
    protocol_version = "HTTP/1.1"
    server_version = "rebuno-simulated-provider"
    sys_version = ""
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        self._whole(b"", "text/plain")

    def do_CONNECT(self) -> None:
        self._refuse(self.path)

    def do_GET(self) -> None:
        path = self.path.removeprefix(self.provider.url)
        if not path.startswith("/"):
            self._refuse(self.path)
        elif path == PAGE:
            with self.provider.lock:
                self.provider.pages += 1
            self._whole(WHAT.encode(), "text/plain")
        elif "/models" in path:
            self._json({"object": "list", "data": [], "models": [], "what": WHAT})
        else:
            self._json({"what": WHAT})

    def do_POST(self) -> None:
        data = self._read()
        path = self.path.removeprefix(self.provider.url)
        if not path.startswith("/"):
            self._refuse(self.path)
            return
        try:
            body = json.loads(data) if data else {}
        except ValueError:
            body = {}
        dialect = dialect_of(path)
        if dialect is None or not isinstance(body, dict):
            self._json({"what": WHAT, "input_tokens": 10, "totalTokens": 10})
            return
        wire = self.provider.answer(dialect, path, body)
        if wire.body is not None:
            self._json(wire.body)
        else:
            self._stream(wire)

    def _read(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", "0")))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _refuse(self, where: str) -> None:
        with self.provider.lock:
            self.provider.refused.append(where)
        self.close_connection = True
        self._whole(f"refused: this is {WHAT}, and nothing leaves this machine".encode(), "text/plain", 403)

    def _json(self, body: dict[str, Any]) -> None:
        self._whole(json.dumps(body).encode(), "application/json")

    def _whole(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, wire: Wire) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in wire.events:
            head = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{head}data: {text}\n\n".encode())
