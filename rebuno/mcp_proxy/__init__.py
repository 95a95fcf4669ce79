"""A proxy between MCP clients and MCP servers: every call is judged, journalled and replayed, all else is forwarded.

It needs the extra `mcp`. Nothing here is imported by the rest of the package.
"""
