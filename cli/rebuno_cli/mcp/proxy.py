"""`rebuno mcp proxy`: a policy and a journal between an MCP client and its servers."""

import click

from rebuno_cli.mcp import options


@click.command("proxy")
@options.config
@click.option("--stdio", is_flag=True, help="Serve one client on standard input and output (the default).")
@click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    metavar="N",
    help="Serve clients over HTTP at http://127.0.0.1:N/mcp; 0: any free port.",
)
@click.option("--wait", default="", metavar="DURATION", help="How long a call is held for the answer of a person: 5m.")
@click.option("--session", default="", metavar="NAME", help="The session of the client on stdio; else a new one.")
def proxy(config: str, stdio: bool, port: int | None, wait: str, session: str) -> int:
    """Serve the tools of MCP servers to an MCP client: every call is judged by the policy and recorded in the store.

    The log goes to standard error.
    """
    from dataclasses import replace

    from rebuno.errors import ValidationError
    from rebuno.packaged import needing
    from rebuno.policy import LiteralError, parse_duration
    from rebuno_cli.render import output

    if stdio and port is not None:
        raise ValidationError("give `--stdio` or `--port`, not both")
    with needing("mcp", "the MCP proxy"):
        from rebuno.mcp_proxy.config import read_config
        from rebuno.mcp_proxy.serve import logging_to_stderr, serve

    found = read_config(config)
    if wait:
        try:
            found = replace(found, wait=float(parse_duration(wait)))
        except LiteralError as error:
            raise ValidationError(f"`--wait`: {error.message}; {error.help}") from None
    with logging_to_stderr(found):
        options.run(
            serve(
                found,
                port=port,
                session=session,
                started=lambda url: output.write_text(f"rebuno mcp proxy at {url}"),
            )
        )
    return 0
