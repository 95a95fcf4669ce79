"""`rebuno agent add`: registers an agent."""

import os
from typing import Annotated

import typer

from rebuno.errors import ValidationError
from rebuno_cli import connection, options


def add(
    agent: options.Agent,
    webhook: Annotated[str, typer.Option(metavar="URL", help="Where it is told of executions.")],
    secret: Annotated[
        str, typer.Option(metavar="TEXT", help="What signs both ways; else REBUNO_AGENT_SECRET, which nobody can see.")
    ] = "",
    lease: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=10, help="How long it may be silent; 120 if not given.")
    ] = None,
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Register an agent, or change where it is and its secret."""
    from rebuno_cli.render import agents, output

    signs = secret or os.environ.get("REBUNO_AGENT_SECRET", "")
    if not signs:
        raise ValidationError("the agent has no secret; set REBUNO_AGENT_SECRET or give `--secret TEXT`")
    made = connection.work(db, url, lambda at: at.put_agent(agent, webhook_url=webhook, secret=signs, lease=lease))
    if as_json:
        output.write_json(made.model_dump(mode="json"))
    else:
        output.write_text(f"agent {agents.named(made)} is told of executions at {agents.place(made)}")
    return 0
