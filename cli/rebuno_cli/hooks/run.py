"""`rebuno hook run`: one event of a coding agent on standard input, one answer on standard output."""

import os
import sys

import click

from rebuno.hosts import HOSTS
from rebuno.hosts.spans import span_seconds


@click.command("run")
@click.argument("host", metavar="HOST", type=click.Choice(HOSTS), help="Which coding agent calls: claude-code, codex…")
@click.option("--settings", metavar="FILE", help="The hook's settings; else those that `hook install` wrote.")
@click.option(
    "--policy", multiple=True, metavar="FILE", help="A bundle, in the place of the settings'; again for more."
)
@click.option("--db", metavar="PATH", help="The store's file, or its URL; else the settings'.")
@click.option("--observe", is_flag=True, help="Decide and record, and stop nothing.")
@click.option("--wait", metavar="TIME", help="Hold the hook open for a person's answer: `5m`.")
@click.option(
    "--timeout", metavar="TIME", help="After how long the host gives the hook up; else the settings', else 60s."
)
# For a person: a host prints the whole call where it fails.
@click.option("--note", hidden=True, expose_value=False)
def run(
    host: str,
    settings: str | None,
    policy: tuple[str, ...],
    db: str | None,
    observe: bool,
    wait: str | None,
    timeout: str | None,
) -> int:
    """Answer one event of a coding agent, in its own words. The host calls this; `hook install` tells it to.

    Exit code 0 with the answer, or 2 with one sentence where the call must not run or there is no answer, whatever the
    reason. With `--observe` always 0.
    """
    try:
        given = {
            "policy": policy,
            "db": db,
            "observe": observe,
            "wait": wait and span_seconds("--wait", wait),
            "timeout": timeout and span_seconds("--timeout", timeout),
        }
        from rebuno.hosts.run import run_hook

        answer = run_hook(host, sys.stdin.buffer, os.environ, path=settings, given=given)
        sys.stderr.write(answer.stderr)
        sys.stderr.flush()
        if answer.stdout and not observe and os.path.samestat(os.fstat(1), os.stat(os.devnull)):
            # Closed by the host, and filled by us: without an answer that is heard the call would run.
            raise OSError("the standard output is closed, and nobody hears the answer")
        sys.stdout.write(answer.stdout)
        sys.stdout.flush()
    except BaseException as error:  # any other exit code than 2 lets the call run
        _last_words(error)
        return 0 if observe else 2
    return answer.code


def _last_words(error: BaseException) -> None:
    said = " ".join(f"rebuno: the call must not run: {type(error).__name__}: {error}".split())[:500]
    try:
        sys.stderr.write(f"{said}\n")
        sys.stderr.flush()
        if isinstance(error, OSError):
            # What is left in the buffer would fail again as the interpreter closes the stream, with another exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
