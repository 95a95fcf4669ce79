"""Reads the recorded steps of a store for the commands that judge them again."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection

if TYPE_CHECKING:
    from rebuno.kernel import Operator
    from rebuno.policy import RecordedStep

executions = click.option(
    "--execution",
    multiple=True,
    metavar="ID",
    help="Judge the recorded steps of this execution; may be given again.",
)
since = click.option(
    "--since",
    default="",
    metavar="DURATION",
    help="Judge those of every execution begun since: 24h, 7d, 30m.",
)


def each(refs: Sequence[str], since: str, db: str | None, take: "Callable[[list[RecordedStep]], None]") -> int:
    """Hands over the steps of the named executions, one execution after the other, or of those that began within a
    duration; returns how many executions there were. Raises as `each_execution` does."""

    async def judge(operator: "Operator", ref: str) -> None:
        take(await operator.judged(ref))

    return each_execution(refs, since, db, judge)


def each_execution(
    refs: Sequence[str], since: str, db: str | None, take: "Callable[[Operator, str], Awaitable[None]]"
) -> int:
    """The named executions, one after the other, or those that began within a duration; without both all of them.
    Erased ones are left out, unless they are named. Returns how many there were.

    Raises:
        ValidationError: both are given, the duration is none, or no store is named.
        NotFoundError, ConflictError, StoreError
    """
    from rebuno.errors import SealErased
    from rebuno_cli.render.progress import progress

    if refs and since:
        raise ValidationError("`--execution` and `--since` both say which; leave one out")
    began = time.time() - _seconds(since) if since else 0.0

    async def work(operator: "Operator") -> int:
        named = refs or await operator.began_since(began)
        with progress("judging executions", len(named)) as done:
            erased = 0
            for ref in named:
                try:
                    await take(operator, ref)
                except SealErased:
                    if refs:
                        raise
                    erased += 1
                if done:
                    done()
        if erased:
            click.echo(f"{erased:,} erased {'execution is' if erased == 1 else 'executions are'} left out", err=True)
        return len(named) - erased

    return connection.ask(db, work)


def _seconds(since: str) -> int:
    from rebuno.policy import LiteralError, parse_duration

    try:
        return parse_duration(since)
    except LiteralError as error:
        raise ValidationError(f"`--since`: {error.message}; {error.help}") from None
