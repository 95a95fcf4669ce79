"""An MCP server with one tool for each thing that is forwarded. It writes what it is told into the file that it is
given, and says of its tool `changing` what stands in the file beside it.

`server.py FILE [http]`: on stdio, or on a free port whose URL it prints.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged

TOLD = Path(sys.argv[1])
DESCRIPTION = TOLD.with_suffix(".description")
Context = ServerRequestContext[Any, Any]

NAMES = [
    "add", "progress", "forever", "log", "ask", "sample", "roots", "grow", "die", "big", "meta", "leak", "changing",
    "link", "touch", "with.dot", "once",
]  # fmt: skip
if os.environ.get("ALIKE"):
    NAMES += ["with_dot", "WITH-OTHER", "with-other"]
grown: list[str] = []
bus = InMemorySubscriptionBus()
subscribed: set[str] = set()


def tell(**what: Any) -> None:
    """Writes a line of JSON into the file."""
    with TOLD.open("a") as file:
        file.write(json.dumps(what) + "\n")


def text(said: str, *, error: bool = False) -> types.CallToolResult:
    """A result with one text."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)], is_error=error)


async def list_tools(context: Context, params: Any) -> types.ListToolsResult:
    """Every tool takes any arguments."""
    described = DESCRIPTION.read_text() if DESCRIPTION.exists() else "reads a page"
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=described if name == "changing" else name,
                input_schema={"type": "object", "properties": {"a": {"type": "integer"}}},
                annotations=types.ToolAnnotations(read_only_hint=True) if name == "add" else None,
            )
            for name in [*NAMES, *grown]
        ]
    )


async def asked(context: Context, params: types.CallToolRequestParams, question: Any, kind: type) -> Any:
    """The client's answer to a question, in either version; `InputRequiredResult` where it is still to come."""
    if params.input_responses:
        return params.input_responses["q"]
    if context.session.can_send_request:
        from mcp.shared.message import ServerMessageMetadata

        about = ServerMessageMetadata(related_request_id=context.request_id)
        return await context.session.send_request(question, kind, metadata=about)
    return types.InputRequiredResult(input_requests={"q": question}, request_state="state")


async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
    """Does what the name says."""
    args = params.arguments or {}
    if params.input_responses is None:
        tell(called=params.name, args=args, pid=os.getpid())
    if os.environ.get("SLOW") == params.name:
        await anyio.sleep_forever()
    match params.name:
        case "add":
            total = args.get("a", 0) + args.get("b", 1)
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=str(total))], structured_content={"total": total}
            )
        case "progress":
            for step in (1, 2):
                await context.session.report_progress(step, 2, f"step {step}")
            return text("done")
        case "forever":
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                tell(cancelled="forever")
                raise
        case "log":
            line = types.LoggingMessageNotificationParams(level="warning", data="watch out", logger="inner")
            await context.session.send_notification(types.LoggingMessageNotification(params=line), context.request_id)
            return text("logged")
        case "ask":
            form = types.ElicitRequestFormParams(
                message="which colour?", requested_schema={"type": "object", "properties": {"c": {"type": "string"}}}
            )
            answer = await asked(context, params, types.ElicitRequest(params=form), types.ElicitResult)
            return (
                answer if isinstance(answer, types.InputRequiredResult) else text(f"{answer.action} {answer.content}")
            )
        case "sample":
            wanted = types.CreateMessageRequestParams(
                messages=[types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))],
                max_tokens=5,
            )
            request = types.CreateMessageRequest(params=wanted)
            answer = await asked(context, params, request, types.CreateMessageResult)
            return (
                answer if isinstance(answer, types.InputRequiredResult) else text(f"model says {answer.content.text}")
            )
        case "roots":
            answer = await asked(context, params, types.ListRootsRequest(), types.ListRootsResult)
            return answer if isinstance(answer, types.InputRequiredResult) else text(str(answer.roots[0].uri))
        case "grow":
            grown.append("grown")
            await bus.publish(ToolsListChanged())
            await context.session.send_tool_list_changed()
            return text("grown")
        case "die":
            os._exit(9)
        case "big":
            return text("x" * 100_000)
        case "meta":
            kept = {key: value for key, value in (context.params or {})["_meta"].items() if key.startswith("test/")}
            return types.CallToolResult(content=[], structured_content=kept, _meta={"test/back": "ward"})
        case "leak":
            sys.stderr.write(f"the token is {os.environ.get('SECRET')}\n")
            sys.stderr.flush()
            if args.get("raise"):
                raise MCPError(types.INTERNAL_ERROR, f"bad {os.environ.get('SECRET')}", {"t": os.environ.get("SECRET")})
            return text(f"401 with {os.environ.get('SECRET')}", error=True)
        case "link":
            link = types.ResourceLink(type="resource_link", name="hidden", uri=args.get("uri", "test://hidden"))
            return types.CallToolResult(content=[link])
        case "touch":
            await bus.publish(ResourceUpdated(uri="test://page"))
            if "test://page" in subscribed:
                await context.session.send_resource_updated("test://page")
            return text("touched")
        case name:
            return text(name)


async def list_resources(context: Context, params: Any) -> types.ListResourcesResult:
    """One resource."""
    uri = os.environ.get("RESOURCE", "test://page")
    return types.ListResourcesResult(resources=[types.Resource(name="page", uri=uri)])


async def list_templates(context: Context, params: Any) -> types.ListResourceTemplatesResult:
    """One template."""
    template = types.ResourceTemplate(name="item", uri_template="test://item/{id}")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """The URI as its content."""
    tell(read=params.uri)
    content = types.TextResourceContents(uri=params.uri, text=f"at {params.uri}")
    return types.ReadResourceResult(contents=[content])


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    """Notes a subscription."""
    subscribed.add(params.uri)
    tell(subscribed=params.uri)
    return types.EmptyResult()


async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    """Notes its end."""
    subscribed.discard(params.uri)
    tell(unsubscribed=params.uri)
    return types.EmptyResult()


async def list_prompts(context: Context, params: Any) -> types.ListPromptsResult:
    """One prompt."""
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet", arguments=[types.PromptArgument(name="who")])])


async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """A greeting."""
    said = types.TextContent(type="text", text=f"{params.name} {(params.arguments or {}).get('who')}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """What was asked, as a value."""
    ref = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri
    return types.CompleteResult(completion=types.Completion(values=[f"{ref}:{params.argument.value}"]))


async def set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    """Notes the level."""
    tell(level=params.level)
    return types.EmptyResult()


async def roots_changed(context: Context, params: Any) -> None:
    """Notes that the roots changed."""
    tell(roots="changed")


server: Server[Any] = Server(
    "behind",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_completion=complete,
    on_subscriptions_listen=ListenHandler(bus),
)
server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
server.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, roots_changed)


async def main() -> None:
    """Serves on stdio, or on a port."""
    tell(started=os.getpid())
    if len(sys.argv) > 2:
        import uvicorn

        options = uvicorn.Config(server.streamable_http_app(), port=0, log_level="error")
        listening = options.bind_socket()
        sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        await uvicorn.Server(options).serve(sockets=[listening])
        return
    async with stdio_server() as (read, write):
        changes = NotificationOptions(tools_changed=True, resources_changed=True, prompts_changed=True)
        await server.run(read, write, server.create_initialization_options(changes))


if __name__ == "__main__":
    asyncio.run(main())
