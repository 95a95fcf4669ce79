"""`rebuno hook install` and `rebuno hook uninstall`: a coding agent asks Rebuno before every call, or no more."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rebuno.errors import ValidationError
from rebuno.hosts import HOSTS
from rebuno.hosts.spans import span_seconds
from rebuno_cli import options

if TYPE_CHECKING:
    from rebuno.hosts.settings import HookSettings

# In seconds: with what a hook needs besides it is less than the day that `rebuno-hook` may take.
LONGEST_WAIT: Final = 23 * 3600
_host = click.argument(
    "host", metavar="HOST", type=click.Choice(HOSTS), help="claude-code, codex, gemini-cli or opencode."
)
_scope = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    help="Your own settings, or those of the project in this folder.",
)
_dry_run = click.option("--dry-run", is_flag=True, help="Change nothing; show the difference.")


@click.command("install")
@_host
@_scope
@click.option("--policy", multiple=True, metavar="FILE", help="A bundle; again for more. Else the starter coding.rbp.")
@click.option("--db", metavar="PATH", help="The store's file, or its URL; else one in your state folder.")
@click.option("--observe", is_flag=True, help="Decide and record, and stop nothing.")
@click.option("--wait", metavar="TIME", help="Hold a call open for a person's answer: `5m`.")
@_dry_run
@options.as_json
def install(
    host: str,
    scope: str,
    policy: tuple[str, ...],
    db: str | None,
    observe: bool,
    wait: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Put the policy in front of a coding agent: it asks before every call of a tool.

    Edits the agent's settings and keeps everything else in them, byte for byte; a copy of what was there is kept for
    `uninstall`. Doing it again changes what the options say; policy, store and wait stay where none is given.
    """
    from rebuno.hosts import install as hooks
    from rebuno_cli.render import hooks as render
    from rebuno_cli.render.show import show

    here, profile = hooks.places(), hooks.HOSTS[host]
    wanted = _settings(hooks.planned(profile, _scoped(scope), here), policy, db, observe, wait)
    done = hooks.install(profile, _scoped(scope), here, hooks.program(), wanted, dry_run=dry_run)
    show(as_json, lambda: render.installed_json(done, dry_run), lambda: render.installed(done, dry_run))


@click.command("uninstall")
@_host
@_scope
@_dry_run
@options.as_json
def uninstall(host: str, scope: str, dry_run: bool, as_json: bool) -> None:
    """Take the hook out of a coding agent.

    Its settings are as they were before, byte for byte, if nobody changed them since; else only our entries go. The
    store stays.
    """
    from rebuno.hosts import install as hooks
    from rebuno_cli.render import hooks as render
    from rebuno_cli.render.show import show

    done = hooks.uninstall(hooks.HOSTS[host], _scoped(scope), hooks.places(), dry_run=dry_run)
    show(as_json, lambda: render.installed_json(done, dry_run), lambda: render.uninstalled(done, dry_run))


def _scoped(scope: str) -> Any:
    return scope


def _settings(
    now: "HookSettings", policy: tuple[str, ...], db: str | None, observe: bool, wait: str | None
) -> "HookSettings":
    """The settings as they are asked for: what no option names stays as it is now, but for `--observe`. Paths are
    absolute, since the agent runs elsewhere.

    Raises:
        BundleError: a bundle has errors.
        ValidationError: `--wait` is no span of time, or too long.
    """
    from rebuno.hosts.run import policy_files
    from rebuno.policy import compile_policy, read_source

    wanted = replace(now, observe=observe)
    if policy:
        wanted = replace(wanted, policy=tuple(os.path.abspath(path) for path in policy))
    if db is not None:
        store = db if "://" in db else str(Path(db.removeprefix("sqlite:")).absolute())
        wanted = replace(wanted, db=store)
    if wait is not None:
        wanted = replace(wanted, wait=_held(span_seconds("--wait", wait)))
    compile_policy([read_source(path) for path in policy_files(wanted)])
    return wanted


def _held(seconds: float) -> float:
    if seconds > LONGEST_WAIT:
        raise ValidationError(f"`--wait` is at most {LONGEST_WAIT // 3600} h; agents wait no longer for a hook")
    return seconds
