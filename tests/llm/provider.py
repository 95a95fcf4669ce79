"""A stub of model providers: a real HTTP server on loopback that speaks OpenAI chat and responses and Anthropic
messages, plain and streamed, with usage. It has no model: it calls the first tool that it is offered until `turns`
results are there.
"""

import gzip
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

WHAT: Final = "a stub of model providers for tests; there is no model behind it"
INPUT_TOKENS: Final = 11
OUTPUT_TOKENS: Final = 7


@dataclass(frozen=True, slots=True)
class Manner:
    """How one response is sent. `status` and `headers` as they are; `body` instead of what the stub would say;
    compressed by `gzip`; `cut` after so many events or bytes; a stream held
    after so many events until `go` is set, a body from its beginning; `framed` says how long
    the body is or that it comes in chunks, else only the connection's end does."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    gzip: bool = False
    cut: int | None = None
    hold: int | None = None
    go: threading.Event = field(default_factory=threading.Event)
    framed: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: Any


class Provider:
    """The running stub. `requests` are those that it got, `manners` how the next ones are answered, `turns` how many
    results of tools an answer takes, `pace` for how many seconds it thinks before a body and before each event."""

    def __init__(self, turns: int, pace: float = 0.0) -> None:
        self.turns = turns
        self.pace = pace
        self.requests: list[Request] = []
        self._arrived = threading.Condition()
        self.manners: deque[Manner] = deque()
        self.url = ""

    def arrive(self, request: Request) -> int:
        """Takes a request in; its number, from 1."""
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
            return len(self.requests)

    def wait_for(self, count: int) -> None:
        """Returns when so many requests came in; raises TimeoutError after thirty seconds."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, 30):
                raise TimeoutError(f"{len(self.requests)} requests came in, and not {count}")


@contextmanager
def provider(turns: int = 0, *, pace: float = 0.0) -> Iterator[Provider]:
    """A stub that is there for a test; `url` is its address."""
    stub = Provider(turns, pace)

    class Handler(_Handler):
        provider = stub

    server = _Server(("127.0.0.1", 0), Handler)
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield stub
    finally:
        for manner in stub.manners:
            manner.go.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        # Those who call are killed in some tests.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    provider: Provider
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._whole(Manner(), WHAT.encode(), "text/plain")

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        data = self.rfile.read(length)
        if len(data) < length:
            # Half a request: the one who sent it is gone.
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        said = json.loads(data) if data and headers.get("content-type") == "application/json" else data
        manner = self.provider.manners.popleft() if self.provider.manners else Manner()
        number = self.provider.arrive(Request(self.path, headers, said))
        if manner.body is not None or manner.status >= 400 or not isinstance(said, dict):
            error = {"error": {"type": "stub_error", "message": f"answered {manner.status} as told"}}
            self._whole(manner, manner.body if manner.body is not None else json.dumps(error).encode())
            return
        reply = _reply(self.path.partition("?")[0], said, self.provider.turns, number)
        if said.get("stream"):
            self._stream(manner, reply.events)
        else:
            self._whole(manner, json.dumps(reply.body).encode())

    def _head(self, manner: Manner, kind: str, framing: tuple[str, str]) -> None:
        self.send_response(manner.status)
        self.send_header("Content-Type", kind)
        self.send_header("x-request-id", f"req-{len(self.provider.requests)}")
        self.send_header("Set-Cookie", "session=secret")
        if manner.gzip:
            self.send_header("Content-Encoding", "gzip")
        for name, value in manner.headers:
            self.send_header(name, value)
        if manner.framed:
            self.send_header(*framing)
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()

    def _whole(self, manner: Manner, body: bytes, kind: str = "application/json") -> None:
        body = gzip.compress(body) if manner.gzip else body
        kind = dict(manner.headers).get("Content-Type", kind)
        rest = Manner(
            manner.status,
            tuple(header for header in manner.headers if header[0] != "Content-Type"),
            gzip=manner.gzip,
            framed=manner.framed,
        )
        if manner.hold is not None:
            manner.go.wait(10)
        time.sleep(self.provider.pace)
        self._head(rest, kind, ("Content-Length", str(len(body))))
        self.wfile.write(body[: manner.cut])
        if manner.cut is not None:
            self.close_connection = True

    def _stream(self, manner: Manner, events: list[bytes]) -> None:
        self._head(manner, "text/event-stream", ("Transfer-Encoding", "chunked"))
        if manner.gzip:
            events = [gzip.compress(b"".join(events))]
        for number, event in enumerate(events):
            time.sleep(self.provider.pace)
            if number == manner.hold:
                manner.go.wait(10)
            if number == manner.cut:
                self.close_connection = True
                return
            try:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event) if manner.framed else event)
            except OSError:
                # The caller has hung up.
                self.close_connection = True
                return
        if manner.framed:
            self.wfile.write(b"0\r\n\r\n")


# ---------------------------------------------------------------- what it says


@dataclass(frozen=True, slots=True)
class _Reply:
    body: dict[str, Any]
    events: list[bytes]


def _reply(path: str, said: dict[str, Any], turns: int, number: int) -> _Reply:
    match path:
        case "/v1/chat/completions":
            return _chat(said, turns, number)
        case "/v1/responses":
            return _responses(said, turns, number)
        case "/v1/messages":
            return _messages(said, turns, number)
    return _Reply({"path": path}, [_event({"path": path}), b"data: [DONE]\n\n"])


def _event(data: dict[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _arguments(turn: int) -> str:
    return json.dumps({"a": turn, "b": 10})


def _words(number: int) -> list[str]:
    # The number of the request: an answer that was asked for twice is seen to be another one.
    return ["answer ", f"{number} <é & ", "\u2028>"]


def _chat(said: dict[str, Any], turns: int, number: int) -> _Reply:
    turn = sum(message.get("role") == "tool" for message in said["messages"])
    message: dict[str, Any] = {"role": "assistant", "content": "".join(_words(number))}
    reason = "stop"
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": word} for word in _words(number)]
    if said.get("tools") and turn < turns:
        name = said["tools"][0]["function"]["name"]
        call = {"id": f"call_{turn}", "type": "function", "function": {"name": name, "arguments": _arguments(turn)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reason = "tool_calls"
        deltas = [{"role": "assistant", "content": None, "tool_calls": [{"index": 0, **call}]}]
    usage = {
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }
    head = {"id": f"chat-{number}", "created": number, "model": said["model"]}
    body = {
        **head,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    }
    chunk = {**head, "object": "chat.completion.chunk"}
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": reason}])
    events = [_event({**chunk, "choices": choice, "usage": None}) for choice in choices]
    if (said.get("stream_options") or {}).get("include_usage"):
        events.append(_event({**chunk, "choices": [], "usage": usage}))
    return _Reply(body, [*events, b"data: [DONE]\n\n"])


def _responses(said: dict[str, Any], turns: int, number: int) -> _Reply:
    items = said["input"] if isinstance(said["input"], list) else []
    turn = sum(item.get("type") == "function_call_output" for item in items)
    text = "".join(_words(number))
    part = {"type": "output_text", "text": text, "annotations": []}
    item: dict[str, Any] = {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    if said.get("tools") and turn < turns:
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{turn}",
            "name": said["tools"][0]["name"],
            "arguments": _arguments(turn),
            "status": "completed",
        }
    body = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": number,
        "status": "completed",
        "model": said["model"],
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    }
    started = {**body, "status": "in_progress", "output": [], "usage": None}
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    sequence: list[dict[str, Any]] = [
        {"type": "response.created", "response": started},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
    ]
    if item["type"] == "message":
        sequence.append({"type": "response.content_part.added", **place, "part": {**part, "text": ""}})
        sequence += [
            {"type": "response.output_text.delta", **place, "delta": w, "logprobs": []} for w in _words(number)
        ]
    sequence.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    sequence.append({"type": "response.completed", "response": body})
    return _Reply(body, [_event({**e, "sequence_number": n}, e["type"]) for n, e in enumerate(sequence)])


def _messages(said: dict[str, Any], turns: int, number: int) -> _Reply:
    blocks = [block for message in said["messages"] for block in message["content"] if isinstance(block, dict)]
    turn = sum(block.get("type") == "tool_result" for block in blocks)
    content: dict[str, Any] = {"type": "text", "text": "".join(_words(number))}
    deltas = [{"type": "text_delta", "text": word} for word in _words(number)]
    begun: dict[str, Any] = {"type": "text", "text": ""}
    reason = "end_turn"
    if said.get("tools") and turn < turns:
        begun = {"type": "tool_use", "id": f"toolu_{turn}", "name": said["tools"][0]["name"], "input": {}}
        content = {**begun, "input": json.loads(_arguments(turn))}
        deltas = [{"type": "input_json_delta", "partial_json": _arguments(turn)}]
        reason = "tool_use"
    body = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": said["model"],
        "content": [content],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    }
    started = {**body, "content": [], "stop_reason": None, "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": 1}}
    sequence: list[dict[str, Any]] = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": OUTPUT_TOKENS},
        },
        {"type": "message_stop"},
    ]
    return _Reply(body, [_event(event, event["type"]) for event in sequence])
