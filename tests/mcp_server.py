"""A server of the official MCP library over stdio; it writes one line a call into the file that it is given."""

import base64
import os
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.types import CallToolResult, ImageContent, TextContent, ToolAnnotations

CALLS = Path(sys.argv[1])
# One pixel.
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()

server = MCPServer("tests")


def called(what: str) -> None:
    """Counts a call before anything else happens in it."""
    with CALLS.open("a") as file:
        file.write(what + "\n")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    called(f"add {a} {b}")
    return a + b


@server.tool(structured_output=False)
def greet(name: str) -> str:
    """Greets."""
    called(f"greet {name}")
    return f"hello {name}"


@server.tool(structured_output=False)
def picture() -> CallToolResult:
    """Gives a caption and an image."""
    called("picture")
    caption = TextContent(type="text", text="a pixel")
    return CallToolResult(content=[caption, ImageContent(type="image", data=PNG, mime_type="image/png")])


@server.tool(structured_output=False)
def refuse(why: str) -> CallToolResult:
    """Reports a failure, as tools do."""
    called("refuse")
    return CallToolResult(content=[TextContent(type="text", text=f"cannot: {why}")], is_error=True)


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def die() -> str:
    """Ends the server in the middle of the call."""
    called("die")
    os._exit(1)


if __name__ == "__main__":
    server.run("stdio")
