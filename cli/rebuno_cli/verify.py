"""`rebuno verify`: puts the kernel's promises to the test, on a bundle and a copy of a store."""

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from rebuno.errors import ValidationError
from rebuno_cli import options

if TYPE_CHECKING:
    from pathlib import Path

    from rebuno_cli.verifying.outcome import PromiseOutcome
    from rebuno_cli.verifying.prepare import PreparedBench


@click.command("verify")
@click.option(
    "--policy", multiple=True, metavar="FILE", help="The bundle; again for more layers. Else that of the store."
)
@click.option("--only", multiple=True, metavar="ID", help="Only the promise of this id; may be given again.")
@options.db
@options.as_json
def verify(policy: tuple[str, ...], only: tuple[str, ...], db: str | None, as_json: bool) -> int:
    """Try the promises of the kernel on your bundle: what it denies does not run, what needs an answer waits, what ran
    is not run again, limits hold, and what cannot be recorded does not run.

    Everything runs in a copy of the store in a temporary folder, or in an empty store if none is named. The store
    itself is read and not written, and the tools of the bundle are not called. Says of each promise whether it holds,
    fails, or does not apply, and why.

    Exit code 0, 1 where a promise fails, 2 when the bundle has errors, 3 when the store cannot be read.
    """
    import asyncio
    import logging
    from pathlib import Path

    from rebuno_cli.render import verified as render
    from rebuno_cli.render.show import show
    from rebuno_cli.verifying.promises import PROMISES

    where = db or os.environ.get("REBUNO_DB_URL") or None
    if not policy and where is None:
        raise ValidationError("name a bundle with `--policy FILE`, or a store with `--db PATH`")
    if unknown := [id for id in only if id not in PROMISES]:
        raise ValidationError(f"there is no promise `{unknown[0]}`; there are {', '.join(PROMISES)}")
    logger = logging.getLogger("rebuno")
    level = logger.level
    # What goes wrong on purpose is told by the outcomes.
    logger.setLevel(logging.CRITICAL)
    try:
        prepared, outcomes = asyncio.run(_verified([Path(path).absolute() for path in policy], where, only))
    finally:
        logger.setLevel(level)
    failed = any(one.outcome == "fails" for one in outcomes)
    data = {"holds": not failed, **prepared.to_json(), "promises": [one.to_json() for one in outcomes]}
    show(as_json, lambda: data, partial(render.verified, outcomes, data))
    return 1 if failed else 0


async def _verified(
    policy: "list[Path]", db: str | None, only: tuple[str, ...]
) -> "tuple[PreparedBench, list[PromiseOutcome]]":
    import tempfile
    from pathlib import Path

    from rebuno_cli.render.progress import progress
    from rebuno_cli.verifying.prepare import prepare
    from rebuno_cli.verifying.promises import PROMISES, verify

    with tempfile.TemporaryDirectory(prefix="rebuno-verify-", ignore_cleanup_errors=True) as folder:
        prepared = await prepare(Path(folder), policy, db)
        outcomes = []
        with progress("promises", len(set(only) or PROMISES)) as done:
            async for one in verify(prepared.bench, only):
                outcomes.append(one)
                if done is not None:
                    done()
        return prepared, outcomes
