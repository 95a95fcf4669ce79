"""A stream is handed on while it comes, recorded when it is whole, and replayed as the same stream."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rebuno
from rebuno.policy import compile_text
from rebuno.sdk.http_record import Pieces, is_whole, pieces
from tests.kernel.served import eventually
from tests.llm.provider import Manner, provider
from tests.llm.support import CERTIFICATES, HELLO, Clients, clients, twice
from tests.sdk.support import OPEN

ASK = 'bundle tests\ndefault allow\nrule ask { require approval for tool "*" }\n'
ASK_ONE = 'bundle tests\ndefault allow\nrule ask { require approval for tool "ask" }\n'
CHAT = "/v1/chat/completions"
STREAM: dict[str, Any] = {"model": "gpt-5", "messages": HELLO, "stream": True}


async def chunks(c: Clients, said: dict[str, Any] = STREAM, path: str = CHAT) -> list[str]:
    """The raw chunks of a stream, and how it ended."""
    seen = []
    try:
        async with c.plain.stream("POST", path, json=said) as response:
            async for chunk in response.aiter_raw():
                seen.append(chunk.decode())
    except httpx2.RequestError as error:
        seen.append(type(error).__name__)
    return seen


@pytest.mark.parametrize("framed", [True, False], ids=["framed", "ended by the connection"])
def test_a_replayed_stream_has_the_same_chunks(framed: bool) -> None:
    """One chunk is one event, however the network cut it."""
    with provider() as stub:
        stub.manners.append(Manner(framed=framed))
        played = twice(chunks, stub)
    assert played.first == played.second
    assert [chunk.count("data: ") for chunk in played.first] == [1] * 5
    assert (played.first[-1], len(stub.requests)) == ("data: [DONE]\n\n", 1)


def test_a_stream_is_handed_on_while_it_comes() -> None:
    """The caller has read the first events before the provider sends the next."""
    manner = Manner(hold=2)

    async def call(c: Clients) -> int:
        read = 0
        async with c.plain.stream("POST", CHAT, json=STREAM) as response:
            async for _ in response.aiter_raw():
                read += 1
                if read == 2:
                    manner.go.set()
        return read

    with provider() as stub:
        stub.manners.append(manner)
        # Were the stream not handed on, the stub would wait for ten seconds and the test for the client's five.
        played = twice(call, stub)
    assert played.first == played.second == 5


@pytest.mark.parametrize(
    ("manner", "left", "error"),
    [
        (Manner(cut=2), 2, "RemoteProtocolError"),
        (Manner(cut=2, framed=False), 2, "RemoteProtocolError"),
        (Manner(cut=0), 0, "RemoteProtocolError"),
        (Manner(hold=2), 2, "ReadTimeout"),
    ],
    ids=["in chunks", "ended by the connection", "before its first event", "silent"],
)
def test_a_stream_that_is_cut_is_no_success(manner: Manner, left: int, error: str) -> None:
    """The caller gets what came and the error, on both runs; the provider is asked once."""
    with provider() as stub:
        stub.manners.append(manner)
        played = twice(chunks, stub, timeout=httpx2.Timeout(5, read=0.1))
        manner.go.set()
    assert played.first == played.second
    assert (len(played.first), played.first[-1]) == (left + 1, error)
    (step,) = played.steps
    said = step.error
    assert (step.status, said["type"], step.result) == ("failed", error, None)
    assert len(stub.requests) == 1


class Cut(httpx2.AsyncByteStream):
    """A stream that breaks in the middle of an event."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in (b"data: \xc3", b"\xa9\n\ndata: \xc3"):
            yield part
        raise httpx2.ReadError("broken")


def test_half_an_event_is_handed_on_in_neither_run() -> None:
    """A replay has not more than the first run had."""
    kind = {"content-type": "text/event-stream"}
    broken = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=kind, stream=Cut()))
    with provider() as stub:
        played = twice(chunks, stub, transport=broken)
    assert played.first == played.second == ["data: é\n\n", "ReadError"]


@pytest.mark.parametrize("waits", [False, True], ids=["closed", "cancelled while it waited"])
def test_a_stream_that_its_caller_leaves_is_no_success(waits: bool) -> None:
    """What was read is replayed, and the caller leaves again at the same place."""
    manner = Manner(hold=2)

    async def call(c: Clients) -> list[str]:
        seen: list[str] = []
        async with c.plain.stream("POST", CHAT, json=STREAM) as response:
            read = response.aiter_raw()
            try:
                while waits or len(seen) < 2:
                    seen.append((await asyncio.wait_for(anext(read), 0.1 if len(seen) == 2 else 5)).decode())
            except TimeoutError:
                seen.append("timeout")
        return seen

    with provider() as stub:
        stub.manners.append(manner)
        played = twice(call, stub)
        manner.go.set()
    assert played.first == played.second
    assert played.first[2:] == (["timeout"] if waits else [])
    (step,) = played.steps
    said = step.error
    assert (step.status, said["reason"], said["waiting"]) == ("failed", "abandoned", waits)
    assert len(stub.requests) == 1


def test_a_caller_that_reads_on_where_it_left_gets_an_error() -> None:
    """A handler that goes another way than its recorded run is not told that the stream was whole."""
    manner = Manner(hold=2)
    runs: list[int] = []

    async def call(c: Clients) -> list[str]:
        runs.append(1)
        seen = []
        async with c.plain.stream("POST", CHAT, json=STREAM) as response:
            async for chunk in response.aiter_raw():
                seen.append(chunk.decode())
                if len(seen) == 2 and len(runs) == 1:
                    break
        return seen

    with provider() as stub:
        stub.manners.append(manner)
        played = twice(call, stub)
        manner.go.set()
    assert isinstance(played.second, httpx2.ReadError)
    assert len(stub.requests) == 1


def test_a_caller_that_leaves_after_the_last_event_has_it_all() -> None:
    """SDKs close a stream at its last event, whether or not the provider has hung up."""
    manner = Manner(hold=4)

    async def call(c: Clients) -> list[str]:
        seen = []
        async with c.plain.stream("POST", CHAT, json=STREAM) as response:
            async for chunk in response.aiter_raw():
                seen.append(chunk.decode())
                if "stop" in chunk.decode():
                    manner.go.set()
                if "DONE" in chunk.decode():
                    break
        return seen

    with provider() as stub:
        stub.manners.append(manner)
        played = twice(call, stub)
    assert played.first == played.second
    assert [step.status for step in played.steps] == ["succeeded"]


def test_a_stream_that_is_under_way_when_its_run_is_stopped_is_asked_for_again() -> None:
    """Half a stream is no outcome, and that the handler is unwound does not make it one."""
    manner = Manner(hold=2)

    async def play() -> rebuno.Execution:
        async def handler() -> list[str]:
            seen = []
            async with c.plain.stream("POST", CHAT, json=STREAM) as response:
                async for chunk in response.aiter_raw():
                    seen.append(chunk.decode())
                    if len(seen) == 2:
                        halfway.set()
            return seen

        halfway = asyncio.Event()
        async with clients(stub) as c, rebuno.open(":memory:", policy=rebuno.PERMISSIVE) as kernel:
            run = asyncio.create_task(kernel.run(handler, id="run"))
            await halfway.wait()
            run.cancel()
            await asyncio.wait({run})
            (step,) = await kernel.operator.steps((await kernel.operator.execution("run")).id)
            assert (run.cancelled(), step.status, step.error) == (True, "executing", None)
            manner.go.set()
            return await kernel.run(handler, id="run")

    with provider() as stub:
        stub.manners.append(manner)
        ended = asyncio.run(play())
    assert (ended.status, len(ended.output), len(stub.requests)) == ("completed", 5, 2)


def test_a_stream_goes_on_while_its_handler_is_unwound_by_a_question() -> None:
    """A sibling waits for a person: what was asked for is recorded whole, for the run that comes after the answer."""
    manner = Manner(hold=2)

    async def play() -> rebuno.Execution:
        halfway = asyncio.Event()
        pay = rebuno.tool("pay beside a stream")(lambda: "paid")

        async def read() -> int:
            seen = 0
            try:
                async with c.plain.stream("POST", CHAT, json=STREAM) as response:
                    async for _ in response.aiter_raw():
                        seen += 1
                        if seen == 2:
                            halfway.set()
            finally:
                manner.go.set()
            return seen

        async def later() -> object:
            await halfway.wait()
            return await pay()

        async def handler() -> list[object]:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(read()), group.create_task(later())]
            return [task.result() for task in tasks]

        async with clients(stub) as c, rebuno.open(":memory:", policy=compile_text(ASK)) as kernel:
            (question,) = (await kernel.run(handler, id="run")).approvals
            await kernel.operator.grant(question.id, decided_by="ana")
            return await kernel.run(handler, id="run")

    with provider() as stub:
        stub.manners.append(manner)
        ended = asyncio.run(play())
    assert (ended.output, len(stub.requests)) == ([5, "paid"], 1)


def test_a_stream_that_nobody_reads_is_recorded() -> None:
    """The step ends when the provider is done."""

    async def play() -> None:
        async with clients(stub) as c, rebuno.open(":memory:", policy=compile_text(OPEN)) as kernel:

            async def recorded() -> bool:
                steps = await kernel.operator.steps(rebuno.execution().id)
                return [step.status for step in steps] == ["succeeded"]

            async def handler() -> None:
                response = await c.plain.send(c.plain.build_request("POST", CHAT, json=STREAM), stream=True)
                await eventually(recorded)
                await response.aclose()

            assert (await kernel.run(handler, id="run")).status == "completed"

    with provider() as stub:
        asyncio.run(play())
    assert len(stub.requests) == 1


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
def test_a_call_under_way_outlives_its_client_in_a_handler_that_waits(streamed: bool, idempotency: str) -> None:
    """Another branch asks a person, and the handler closes its client: the call goes on, and what came is recorded."""
    manner = Manner(hold=1 if streamed else 0)
    ask = rebuno.tool("ask")(lambda: "paid")

    async def call(c: Clients) -> object:
        if streamed:
            return len(await chunks(c))
        return (await c.plain.post(CHAT, json={"model": "gpt-5", "messages": HELLO})).is_success

    async def asks() -> object:
        await asyncio.to_thread(stub.wait_for, 1)
        return await ask()

    async def handler() -> list[object]:
        try:
            async with clients(stub, idempotency=idempotency) as c:
                return list(await asyncio.gather(call(c), asks()))
        finally:
            # The client is closed.
            manner.go.set()

    async def play() -> rebuno.Execution:
        async with rebuno.open(":memory:", policy=compile_text(ASK_ONE)) as kernel:
            run = await kernel.run(handler, id="run")
            (question,) = run.approvals
            steps = {step.kind: step.status for step in await kernel.operator.steps(run.id)}
            assert steps == {"llm_call": "succeeded", "tool_call": "awaiting_approval"}
            await kernel.operator.grant(question.id, decided_by="ana")
            return await kernel.run(handler, id="run")

    with provider() as stub:
        stub.manners.append(manner)
        ended = asyncio.run(play())
    assert (ended.output, len(stub.requests)) == ([5 if streamed else True, "paid"], 1)


class Broken(httpx2.AsyncHTTPTransport):
    """A transport that fails when it is closed; counts how often it is."""

    def __init__(self) -> None:
        super().__init__(verify=CERTIFICATES)
        self.closed = 0

    async def aclose(self) -> None:
        self.closed += 1
        await super().aclose()
        raise httpx2.CloseError("the socket is gone")


@pytest.mark.parametrize("waits", [True, False])
def test_what_closing_a_client_comes_to_is_nothing_to_the_call_that_it_waited_for(waits: bool) -> None:
    """The call is recorded as it ended. A handler that waits for nobody closes at once, and is told; either once."""
    manner = Manner(hold=0)
    beneath = Broken()
    under_way: list[asyncio.Task[httpx2.Response]] = []
    ask = rebuno.tool("ask")(lambda: "paid")

    async def handler() -> None:
        client = rebuno.http_client(base_url=stub.url, transport=beneath)
        call = asyncio.create_task(client.post(CHAT, json={"model": "gpt-5", "messages": HELLO}))
        await asyncio.to_thread(stub.wait_for, 1)
        try:
            if waits:
                await ask()
        finally:
            try:
                await client.aclose()
            finally:
                manner.go.set()
                under_way.append(call)

    async def play() -> tuple[rebuno.Execution, str]:
        async with rebuno.open(":memory:", policy=compile_text(ASK_ONE)) as kernel:
            run = await kernel.run(handler, id="run")
            await asyncio.gather(*under_way, return_exceptions=True)
            return run, (await kernel.operator.steps(run.id))[0].status

    with provider() as stub:
        stub.manners.append(manner)
        ended, call = asyncio.run(play())
    assert beneath.closed == 1
    if waits:
        assert (ended.status, call) == ("blocked", "succeeded")
    else:
        assert (ended.status, ended.failure_reason) == ("failed", "agent_error: CloseError: the socket is gone")


def test_lines_are_the_pieces_of_other_streams() -> None:
    """A stream need not be one of events."""
    lines = b'{"a": 1}\n{"b": 2}\n{"c"'

    with provider() as stub:
        stub.manners.append(Manner(body=lines, headers=(("Content-Type", "application/x-ndjson"),)))
        played = twice(chunks, stub)
    assert played.first == played.second == ['{"a": 1}\n', '{"b": 2}\n', '{"c"']


ENDS = ["\n", "\r", "\r\n", "a", "data: x"]


@given(st.lists(st.sampled_from(ENDS)).map(lambda parts: "".join(parts).encode()), st.data())
@settings(max_examples=200)
def test_the_pieces_depend_on_the_bytes_alone(body: bytes, data: st.DataObject) -> None:
    """Wherever the network cuts, the caller gets the same pieces, and all of them."""
    whole = list(pieces(body, events=True))
    cut = Pieces(events=True)
    seen: list[bytes] = []
    rest = body
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        seen += cut.add(rest[:size])
        rest = rest[size:]
    assert [*seen, *filter(None, [cut.last()])] == whole
    assert b"".join(whole) == body


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        ("data: a\n\ndata: b\n\n", ["data: a\n\n", "data: b\n\n"]),
        ("data: a\r\n\r\ndata: b", ["data: a\r\n\r\n", "data: b"]),
        ("data: a\r\rdata: b\r\r", ["data: a\r\r", "data: b\r\r"]),
        ("event: x\ndata: a\n\n", ["event: x\ndata: a\n\n"]),
        ("data: a\r\ndata: b\r\n\r\n", ["data: a\r\ndata: b\r\n\r\n"]),
    ],
    ids=["LF", "CRLF, and no end", "CR", "two lines", "two CRLF lines"],
)
def test_an_event_ends_with_an_empty_line(stream: str, events: list[str]) -> None:
    """Lines may end in any of the three ways that the standard allows."""
    assert [piece.decode() for piece in pieces(stream.encode(), events=True)] == events


@pytest.mark.parametrize(
    ("event", "last"),
    [
        ("data: [DONE]", True),
        ("data:[DONE]", True),
        (f"event: message_stop\ndata: {json.dumps({'type': 'message_stop'})}", True),
        ('data: {"type":"response.completed","response":{}}', True),
        ('data: {"type": "error", "error": {"type": "overloaded_error"}}', True),
        ('data: {"type": "message_delta"}', False),
        (f"data: {json.dumps({'text': 'data: [DONE]'})}", False),
        (f"data: {json.dumps({'text': json.dumps({'type': 'message_stop'})})}", False),
    ],
)
def test_a_stream_is_whole_with_its_last_event(event: str, last: bool) -> None:
    """What a model says about such events ends nothing."""
    assert is_whole(f"data: first\n\n{event}\n\n".encode()) is last
