"""What must pass the proxy in both directions: each check opens a scene and uses it.

A check is told the mode of the client in front and the protocol of the server behind. The tests run it on a proxy in
their process, `run.py` on real processes.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from tests.mcp.support import LONG, Scene, said

Opened = Callable[..., AbstractAsyncContextManager[Scene]]


async def progress(opened: Opened, front: str, back: str) -> None:
    """Each step of a tool reaches the client that asked for it."""
    seen: list[Any] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with opened() as the:
        assert said(await the.client.call_tool("one__progress", {}, progress_callback=report)) == "done"
        await the.until(lambda: len(seen) == 2)
        assert said(await the.client.call_tool("one__progress", {"a": 1})) == "done"

    assert seen == [(1, 2, "step 1"), (2, 2, "step 2")]


async def cancellation(opened: Opened, front: str, back: str) -> None:
    """A call that the client gives up is given up at the server, and its outcome is unknown."""

    async with opened() as the:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(the.client.call_tool, "one__forever", {})
                await the.until(lambda: the.calls("forever") == 1)
                scope.cancel()
        await the.until(lambda: {"cancelled": "forever"} in the.told())
        again = await the.client.call_tool("one__forever", {})
        assert again.is_error
        assert "nobody knows whether it was carried out" in said(again)
        assert the.calls("forever") == 1


async def the_list_of_tools_changes(opened: Opened, front: str, back: str) -> None:
    """The client hears of it, and finds the new tool."""

    async with opened() as the:
        events: list[Any] = []

        async def listen() -> None:
            async with the.client.listen(tools_list_changed=True) as stream:
                ready.set()
                async for event in stream:
                    events.append(event)

        def heard() -> bool:
            return bool(events) or any(isinstance(one, types.ToolListChangedNotification) for one in the.heard)

        async with anyio.create_task_group() as group:
            ready = anyio.Event()
            if front == "legacy":
                await the.client.list_tools()
            else:
                group.start_soon(listen)
                await ready.wait()
            await the.client.list_tools()
            await the.client.call_tool("one__grow", {})
            await the.until(heard)
            names = [tool.name for tool in (await the.client.list_tools()).tools]
            assert "one__grown" in names
            assert said(await the.client.call_tool("one__grown", {})) == "grown"
            group.cancel_scope.cancel()


async def logs(opened: Opened, front: str, back: str) -> None:
    """A line of a server's log reaches the client under the server's name; the level that it wants reaches the
    server."""

    async with opened(client={"log_level": "info"}) as the:
        if front == "legacy":
            request = types.SetLevelRequest(params=types.SetLevelRequestParams(level="info"))
            await the.client.session.send_request(request, types.EmptyResult)
            assert ({"level": "info"} in the.told()) is (back == "2025-11-25")
        await the.client.call_tool("one__log", {})
        await the.until(lambda: bool(the.logs))
        assert [(line.level, line.logger, line.data) for line in the.logs] == [("warning", "one.inner", "watch out")]


async def elicitation(opened: Opened, front: str, back: str) -> None:
    """A server's question reaches the person at the client, with the server's name, and the answer comes back."""
    asked: list[str] = []

    async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"c": "red"})

    async with opened(client={"elicitation_callback": elicit}) as the:
        assert said(await the.client.call_tool("one__ask", {})) == "accept {'c': 'red'}"
        assert the.calls("ask") == 1

    assert asked == ["[one] which colour?"]


async def sampling(opened: Opened, front: str, back: str) -> None:
    """A server has the client's model write."""

    async def sample(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        assert params.max_tokens == 5
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="hey"), model="m"
        )

    async with opened(client={"sampling_callback": sample}) as the:
        assert said(await the.client.call_tool("one__sample", {})) == "model says hey"


async def roots(opened: Opened, front: str, back: str) -> None:
    """A server sees the client's folders, and hears that they changed."""

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///work")])  # type: ignore[arg-type]

    async with opened(client={"list_roots_callback": roots}) as the:
        assert said(await the.client.call_tool("one__roots", {})) == "file:///work"
        if front == "legacy" and back == "2025-11-25":
            await the.client.session.send_notification(types.RootsListChangedNotification())
            await the.until(lambda: {"roots": "changed"} in the.told())


async def a_client_that_cannot_answer_is_not_asked(opened: Opened, front: str, back: str) -> None:
    """The server hears that nobody answers, and so does the client."""

    async with opened() as the:
        with pytest.raises(MCPError):
            await the.client.call_tool("one__ask", {})


async def resources(opened: Opened, front: str, back: str) -> None:
    """Resources and templates are listed and read; one that no server has named is not looked for."""

    async with opened() as the:
        assert [one.name for one in (await the.client.list_resources()).resources] == ["page"]
        templates = (await the.client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["test://item/{id}"]
        for uri in ("test://page", "test://item/7"):
            (content,) = (await the.client.read_resource(uri)).contents
            assert isinstance(content, types.TextResourceContents)
            assert content.text == f"at {uri}"
        with pytest.raises(MCPError, match="no server has named"):
            await the.client.read_resource("test://hidden")
        await the.client.call_tool("one__link", {})
        (content,) = (await the.client.read_resource("test://hidden")).contents
        assert str(content.uri) == "test://hidden"


async def a_resource_is_followed(opened: Opened, front: str, back: str) -> None:
    """A change at the server reaches the client that asked for it."""

    async with opened() as the:
        events: list[Any] = []

        async def listen() -> None:
            async with the.client.listen(resource_subscriptions=["test://page"]) as stream:
                ready.set()
                async for event in stream:
                    events.append(event)

        def heard() -> bool:
            return bool(events) or any(isinstance(one, types.ResourceUpdatedNotification) for one in the.heard)

        async with anyio.create_task_group() as group:
            ready = anyio.Event()
            if front == "legacy":
                request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri="test://page"))
                await the.client.session.send_request(request, types.EmptyResult)
            else:
                group.start_soon(listen)
                await ready.wait()
            # A server of the version without sessions is listened to from its next stream on.
            number = 0
            with anyio.fail_after(LONG):
                while not heard():
                    number += 1
                    await the.client.call_tool("one__touch", {"a": number})
                    await anyio.sleep(0.05)
            if front == "legacy":
                leave = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri="test://page"))
                await the.client.session.send_request(leave, types.EmptyResult)
            group.cancel_scope.cancel()


async def prompts_and_completion(opened: Opened, front: str, back: str) -> None:
    """Prompts have the server's name in front; completion finds the server of a prompt and of a template."""

    async with opened() as the:
        assert [one.name for one in (await the.client.list_prompts()).prompts] == ["one__greet"]
        (message,) = (await the.client.get_prompt("one__greet", {"who": "Ana"})).messages
        assert message.content.text == "greet Ana"  # type: ignore[union-attr]
        of_prompt = types.PromptReference(type="ref/prompt", name="one__greet")
        found = await the.client.complete(of_prompt, {"name": "who", "value": "A"})
        assert found.completion.values == ["greet:A"]
        of_template = types.ResourceTemplateReference(type="ref/resource", uri="test://item/{id}")
        found = await the.client.complete(of_template, {"name": "id", "value": "7"})
        assert found.completion.values == ["test://item/{id}:7"]


async def meta(opened: Opened, front: str, back: str) -> None:
    """What a client writes beside a call reaches the server, and what the server writes beside the result comes
    back."""

    async with opened() as the:
        meta: Any = {"test/there": {"deep": [1]}}
        result = await the.client.call_tool("one__meta", {}, meta=meta)
        assert result.structured_content == {"test/there": {"deep": [1]}}
        assert (result.meta or {})["test/back"] == "ward"


CHECKS: Final[tuple[Callable[[Opened, str, str], Awaitable[None]], ...]] = (
    progress,
    cancellation,
    the_list_of_tools_changes,
    logs,
    elicitation,
    sampling,
    roots,
    a_client_that_cannot_answer_is_not_asked,
    resources,
    a_resource_is_followed,
    prompts_and_completion,
    meta,
)
