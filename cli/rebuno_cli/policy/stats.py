"""`rebuno policy stats`: how often each rule has decided."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options
from rebuno_cli.ages import seconds

if TYPE_CHECKING:
    from rebuno.kernel import RuleStats
    from rebuno_cli.backend import Backend

# So many executions are looked at.
_MOST = 100_000


@click.command("stats")
@click.option("--since", default="7d", show_default=True, metavar="TIME", help="Of executions begun since: 24h, 7d.")
@click.option("--agent", metavar="AGENT", help="Only this agent's.")
@options.db
@options.url
@options.as_json
def stats(since: str, agent: str | None, db: str | None, url: str | None, as_json: bool) -> None:
    """Count by rule how often it has decided, on yes and on maybe, and how its questions were answered: rules that
    have decided nothing are shown, too."""
    from rebuno_cli.render import rule_stats
    from rebuno_cli.render.show import show

    span = seconds("--since", since)

    async def look(backend: "Backend") -> "RuleStats":
        from rebuno.kernel import RuleStats

        counted = RuleStats()
        began = backend.now() - span
        found = await backend.executions(agent_id=agent, status=None, limit=_MOST)
        logs = []
        digests: dict[str, None] = {}
        for one in found:
            if one.created_at is not None and one.created_at.timestamp() >= began:
                logs.append(await backend.events(one.id))
                digests |= {
                    str(event.payload.get("digest")): None for event in logs[-1] if event.type == "execution.started"
                }
        for rule in await backend.rules([*digests]):
            counted.expect(*rule)
        for log in logs:
            counted.read(log)
        return counted

    counted = connection.work(db, url, look)
    show(as_json, counted.to_json, lambda: rule_stats.counts(counted))
