"""`rebuno agent add`: registers an agent."""

import os

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection, options


@click.command("add")
@options.agent
@click.option("--webhook", required=True, metavar="URL", help="Where it is told of executions.")
@click.option(
    "--secret", default="", metavar="TEXT", help="What signs both ways; else REBUNO_AGENT_SECRET, which nobody can see."
)
@click.option(
    "--lease", type=options.Number(min=10), metavar="SECONDS", help="How long it may be silent; 120 if not given."
)
@options.db
@options.url
@options.as_json
def add(
    agent: str, webhook: str, secret: str, lease: float | None, db: str | None, url: str | None, as_json: bool
) -> None:
    """Register an agent, or change where it is and its secret."""
    from rebuno_cli.render import agents
    from rebuno_cli.render.show import show

    signs = secret or os.environ.get("REBUNO_AGENT_SECRET", "")
    if not signs:
        raise ValidationError("the agent has no secret; set REBUNO_AGENT_SECRET or give `--secret TEXT`")
    made = connection.work(
        db, url, lambda backend: backend.put_agent(agent, webhook_url=webhook, secret=signs, lease=lease)
    )
    show(
        as_json,
        lambda: made.model_dump(mode="json"),
        lambda: f"agent {agents.named(made)} is told of executions at {agents.place(made)}",
    )
