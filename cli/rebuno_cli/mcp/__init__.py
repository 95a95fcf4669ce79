"""`rebuno mcp`: a proxy between MCP clients and servers, and the definitions of their tools."""
