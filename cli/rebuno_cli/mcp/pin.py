"""`rebuno mcp pin`: the lock of the definitions of tools, written and compared."""

import click

from rebuno_cli.mcp import options


@click.command("pin")
@options.config
@click.option(
    "--approve",
    multiple=True,
    metavar="SERVER.TOOL",
    help="Write the definition of this tool as it is now (`*` stands for anything); may be given again.",
)
@click.option("--lock", default="", metavar="FILE", help="The lock file, in the place of the configuration's `lock`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def pin(config: str, approve: tuple[str, ...], lock: str, as_json: bool) -> int:
    """Write the lock of the servers' tools; where there is one, compare the tools with it and show the differences.

    Exit code 0 when every tool is as it was reviewed, 1 when one is new or has changed and is not approved.
    """
    from dataclasses import replace
    from pathlib import Path

    from rebuno.errors import ValidationError
    from rebuno.packaged import needing
    from rebuno_cli.render import pins
    from rebuno_cli.render.show import show

    with needing("mcp", "the MCP proxy"):
        from rebuno.mcp_proxy.config import read_config
        from rebuno.mcp_proxy.locks import compared, read_lock, written
        from rebuno.mcp_proxy.looking import listed_tools
        from rebuno.mcp_proxy.serve import logging_to_stderr

    found = read_config(config)
    if lock:
        found = replace(found, lock=Path(lock))
    if found.lock is None:
        raise ValidationError("give `--lock FILE`, or write `lock: FILE` into the configuration")
    before = read_lock(found.lock) if found.lock.exists() else None
    with logging_to_stderr(found):
        tools = [(one.target, one.definition) for one in options.run(listed_tools(found))]
    result = compared(before, tools, approve)
    if before is None or result.approved:
        written(found.lock, result.lock)
    show(as_json, lambda: pins.as_json(result, str(found.lock)), lambda: pins.shown(result, str(found.lock)))
    return int(bool(result.open))
