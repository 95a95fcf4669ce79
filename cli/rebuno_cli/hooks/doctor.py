"""`rebuno hook doctor`: whether the hooks in coding agents do their work."""

import click

from rebuno.hosts import HOSTS
from rebuno_cli import options


@click.command("doctor")
@click.argument(
    "host", metavar="[HOST]", type=click.Choice(HOSTS), required=False, help="One coding agent; else all with a hook."
)
@click.option(
    "--live",
    is_flag=True,
    help="Run the real agent against a simulated model, and see that a denied call does not run. Needs HOST.",
)
@options.as_json
def doctor(host: str | None, live: bool, as_json: bool) -> int:
    """Check the hooks in coding agents: planted, run, trusted, and not switched off elsewhere.

    Looks at this folder's project and at your own settings. Without --live no agent runs. With it, the agent runs in an
    empty home and an empty folder with your hook, a made-up key and a model provider that is simulated on this machine
    and refuses, as its proxy, what leads elsewhere. Exit code 1 if anything lets calls run unjudged, or stops them all.
    """
    from rebuno.hosts import doctor as hooks
    from rebuno.hosts.install import places
    from rebuno_cli.render import hooks as render
    from rebuno_cli.render.show import show

    if live and host is None:
        raise click.UsageError("`--live` runs one agent: name it")
    found = hooks.examine(places(), [host] if host else [])
    if live and host is not None:
        from rebuno.hosts.install import HOSTS as PROFILES
        from rebuno.hosts.live.proofs import proofs

        found += proofs(PROFILES[host], places())
    show(as_json, lambda: render.findings_json(found), lambda: render.findings(found))
    return 1 if any(finding.status == "failed" for finding in found) else 0
