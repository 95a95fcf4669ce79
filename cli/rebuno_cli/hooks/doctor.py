"""`rebuno hook doctor`: whether the hooks in coding agents do their work."""

import click

from rebuno.hosts import HOSTS
from rebuno_cli import options


@click.command("doctor")
@click.argument(
    "host", metavar="[HOST]", type=click.Choice(HOSTS), required=False, help="One coding agent; else all with a hook."
)
@options.as_json
def doctor(host: str | None, as_json: bool) -> int:
    """Check the hooks in coding agents: planted, run, trusted, and not switched off elsewhere.

    Looks at this folder's project and at your own settings; no agent runs. Exit code 1 if anything lets calls run
    unjudged, or stops them all.
    """
    from rebuno.hosts import doctor as hooks
    from rebuno.hosts.install import places
    from rebuno_cli.render import hooks as render
    from rebuno_cli.render.show import show

    found = hooks.examine(places(), [host] if host else [])
    show(as_json, lambda: render.findings_json(found), lambda: render.findings(found))
    return 1 if any(finding.status == "failed" for finding in found) else 0
