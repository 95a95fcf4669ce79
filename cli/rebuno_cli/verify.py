"""`rebuno verify`: puts the kernel's promises to the test, on a bundle and a copy of a store."""

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from rebuno.errors import ValidationError
from rebuno_cli import options

if TYPE_CHECKING:
    from pathlib import Path

    from rebuno_cli.verifying.outcome import PromiseOutcome
    from rebuno_cli.verifying.prepare import Prepared


@click.command("verify")
@click.option(
    "--policy", multiple=True, metavar="FILE", help="The bundle; again for more layers. Else that of the store."
)
@options.db
@options.as_json
def verify(policy: tuple[str, ...], db: str | None, as_json: bool) -> int:
    """Try the promises of the kernel on your bundle: what it denies does not run, what needs an answer waits, what ran
    is not run again, limits hold, and what cannot be recorded does not run.

    Everything runs in a copy of the store in a temporary folder, or in an empty store if none is named. The store
    itself is read and not written, and the tools of the bundle are not called. Says of each promise whether it holds,
    fails, or does not apply, and why.

    Exit code 0, 1 where a promise fails, 2 when the bundle has errors, 3 when the store cannot be read.
    """
    import asyncio
    from pathlib import Path

    from rebuno_cli.render import verified as render
    from rebuno_cli.render.show import show

    where = db or os.environ.get("REBUNO_DB_URL") or None
    if not policy and where is None:
        raise ValidationError("name a bundle with `--policy FILE`, or a store with `--db PATH`")
    prepared, outcomes = asyncio.run(_verified([Path(path).absolute() for path in policy], where))
    failed = any(one.outcome == "fails" for one in outcomes)
    data = {"holds": not failed, **prepared.to_json(), "promises": [one.to_json() for one in outcomes]}
    show(as_json, lambda: data, partial(render.verified, outcomes, data))
    return 1 if failed else 0


async def _verified(policy: "list[Path]", db: str | None) -> "tuple[Prepared, list[PromiseOutcome]]":
    import logging
    import tempfile
    from pathlib import Path

    from rebuno_cli.verifying.prepare import prepare
    from rebuno_cli.verifying.promises import PROMISES, verify

    # What goes wrong on purpose is told by the outcomes.
    logging.getLogger("rebuno").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="rebuno-verify-", ignore_cleanup_errors=True) as folder:
        prepared = await prepare(Path(folder), policy, db, _say)
        outcomes = []
        async for one in verify(prepared.bench):
            outcomes.append(one)
            _say(f"{len(outcomes)} of {len(PROMISES)}: {one.id} {one.outcome.replace('_', ' ')}")
        return prepared, outcomes


def _say(text: str) -> None:
    from rebuno_cli.render.escape import escape

    sys.stderr.write(f"verify: {escape(text)}\n")
