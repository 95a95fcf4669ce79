"""A simulated model provider: a real HTTP server on loopback that speaks OpenAI chat and responses and Anthropic
messages, plain and streamed. There is no model behind it: it calls the tools of a plan, a turn after the other, and
then says that it is done. What it was told of each call is kept."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

WHAT: Final = "a simulated model provider for tests; there is no model behind it"
USAGE: Final = {"input_tokens": 1, "output_tokens": 1}

Turn = Sequence[tuple[str, dict[str, Any]]]


class Scripted:
    """The running server: `url` is its address, `plan` its turns, each the tools that it calls at once. `told` has for
    the id of each call (`call_TURN_PLACE`) what the model was told of it; `tools` the names that it was offered."""

    def __init__(self, plan: Sequence[Turn]) -> None:
        self.plan = plan
        self.url = ""
        self.told: dict[str, str] = {}
        self.tools: set[str] = set()
        self.requests = 0

    def calls(self, turn: int) -> list[tuple[str, str, dict[str, Any]]]:
        """The calls of a turn: id, tool, arguments."""
        wanted = self.plan[turn] if turn < len(self.plan) else ()
        return [(f"call_{turn}_{place}", tool, args) for place, (tool, args) in enumerate(wanted)]


@contextmanager
def scripted(*plan: Turn) -> Iterator[Scripted]:
    """A server that is there for a test."""
    model = Scripted(plan)

    class Handler(_Handler):
        scripted = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    scripted: Scripted
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._send(WHAT.encode(), "text/plain")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"{}")
        path = self.path.partition("?")[0]
        self.scripted.requests += 1
        if path.endswith("/chat/completions"):
            self._answer(said, *_chat(self.scripted, said))
        elif path.endswith("/responses"):
            self._answer(said, *_responses(self.scripted, said))
        elif path.endswith("/messages"):
            self._answer(said, *_messages(self.scripted, said))
        else:
            self._send(json.dumps({"input_tokens": 1, "simulated": WHAT}).encode())

    def _answer(self, said: dict[str, Any], body: dict[str, Any], events: list[tuple[str, Any]]) -> None:
        if not said.get("stream"):
            self._send(json.dumps(body).encode())
            return
        lines = [
            (f"event: {name}\n" if name else "") + f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
            for name, event in events
        ]
        self._send("".join(lines).encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str = "application/json") -> None:
        try:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("x-simulated", "yes")
            # A program of several event loops keeps no connection.
            self.send_header("Connection", "close")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)
        except OSError:
            # The caller was killed.
            self.close_connection = True


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", part)) for part in content)
    return str(content)


def _chat(model: Scripted, said: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    messages = said["messages"]
    model.tools |= {tool["function"]["name"] for tool in said.get("tools", ())}
    for message in messages:
        if message["role"] == "tool":
            model.told[message["tool_call_id"]] = _text(message["content"])
    turn = sum(message["role"] == "assistant" and bool(message.get("tool_calls")) for message in messages)
    calls = [
        {"id": call_id, "type": "function", "function": {"name": tool, "arguments": json.dumps(args)}}
        for call_id, tool, args in model.calls(turn)
    ]
    reply: dict[str, Any] = {"role": "assistant", "content": None if calls else "done"}
    if calls:
        reply["tool_calls"] = calls
    reason = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": f"chat-{turn}", "created": 1, "model": said["model"]}
    body = {
        **head,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": reply, "finish_reason": reason}],
        "usage": usage,
    }
    delta = {**reply, "tool_calls": [{"index": at, **call} for at, call in enumerate(calls)]} if calls else reply
    chunk = {**head, "object": "chat.completion.chunk"}
    events: list[tuple[str, Any]] = [
        ("", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
        ("", "[DONE]"),
    ]
    return body, events


def _responses(model: Scripted, said: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    items = said["input"] if isinstance(said["input"], list) else []
    model.tools |= {str(tool.get("name")) for tool in said.get("tools", ())}
    for item in items:
        if item.get("type") == "function_call_output":
            model.told[item["call_id"]] = _text(item["output"])
    asked = {item["call_id"] for item in items if item.get("type") == "function_call"}
    turn = next((turn for turn, _ in enumerate(model.plan) if f"call_{turn}_0" not in asked), len(model.plan))
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{call_id}",
            "call_id": call_id,
            "name": tool,
            "arguments": json.dumps(args),
            "status": "completed",
        }
        for call_id, tool, args in model.calls(turn)
    ]
    if not output:
        part = {"type": "output_text", "text": "done", "annotations": []}
        output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}]
    usage: dict[str, Any] = {
        **USAGE,
        "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    body = {
        "id": f"resp_{turn}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": said["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }
    sequence: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**body, "status": "in_progress", "output": []}}
    ]
    for at, item in enumerate(output):
        sequence.append({"type": "response.output_item.added", "output_index": at, "item": item})
        sequence.append({"type": "response.output_item.done", "output_index": at, "item": item})
    sequence.append({"type": "response.completed", "response": body})
    return body, [(str(event["type"]), {**event, "sequence_number": at}) for at, event in enumerate(sequence)]


def _messages(model: Scripted, said: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    offered = [tool["name"] for tool in said.get("tools", ()) if "name" in tool]
    model.tools |= set(offered)
    turn = 0
    for message in said["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        turn += message["role"] == "assistant" and any(block["type"] == "tool_use" for block in blocks)
        for block in blocks:
            if block["type"] == "tool_result":
                model.told[block["tool_use_id"]] = _text(block.get("content", ""))
    calls = model.calls(turn) if offered else []
    content: list[dict[str, Any]] = [
        {"type": "tool_use", "id": call_id, "name": tool, "input": args} for call_id, tool, args in calls
    ] or [{"type": "text", "text": "done"}]
    reason = "tool_use" if calls else "end_turn"
    head = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": said.get("model", "simulated")}
    body = {**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": USAGE}
    started = {**body, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": started}]
    for at, block in enumerate(content):
        if block["type"] == "text":
            begun: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            begun, delta = (
                {**block, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        events += [
            {"type": "content_block_start", "index": at, "content_block": begun},
            {"type": "content_block_delta", "index": at, "delta": delta},
            {"type": "content_block_stop", "index": at},
        ]
    events += [
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": USAGE},
        {"type": "message_stop"},
    ]
    return body, [(str(event["type"]), event) for event in events]
