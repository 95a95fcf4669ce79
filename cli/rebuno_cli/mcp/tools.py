"""`rebuno mcp tools`: the tools of the servers behind a proxy, for `rebuno policy check --tools`."""

import click

from rebuno_cli.mcp import options


@click.command("tools")
@options.config
def tools(config: str) -> int:
    """Print the servers' tools as JSON, under the names that policies use: `rebuno policy check --tools` reads it."""
    from rebuno.packaged import needing
    from rebuno_cli.render import output

    with needing("mcp", "the MCP proxy"):
        from rebuno.mcp_proxy.config import read_config
        from rebuno.mcp_proxy.looking import listed_tools
        from rebuno.mcp_proxy.serve import logging_to_stderr

    found = read_config(config)
    with logging_to_stderr(found):
        listed = options.run(listed_tools(found))
    described = []
    for one in listed:
        said = one.tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        described.append({**said, "name": one.target})
    output.write_json({"tools": described})
    return 0
