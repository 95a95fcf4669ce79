"""`rebuno policy shadow`: shows what a bundle that was tried would have done."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import options
from rebuno_cli.policy import backtest_input

if TYPE_CHECKING:
    from rebuno.kernel import Operator


@click.command("shadow")
@click.argument("new", metavar="NEW", help="The bundle that was tried as a shadow.")
@backtest_input.executions
@backtest_input.since
@options.db
@options.as_json
def shadow(new: str, execution: tuple[str, ...], since: str, db: str | None, as_json: bool) -> int:
    """Show by rule what a bundle that was tried beside the policy would have done: what it would have let through more
    (WIDER), asked about and stopped, how often, and on doubt. Without --execution and --since all executions count.

    Exit code 0, or 1 where it would have let through more.
    """
    from rebuno.policy import ShadowTally, compile_bundle, read_source
    from rebuno_cli.render import shadowed
    from rebuno_cli.render.show import show

    policy = compile_bundle(read_source(new))
    tally = ShadowTally(policy.name, policy.digest)

    async def take(operator: "Operator", ref: str) -> None:
        for step in await operator.shadowed(ref):
            tally.add(step)

    count = backtest_input.each_execution(execution, since, db, take)
    result = tally.result()
    show(as_json, lambda: result.to_json(), lambda: shadowed.shadowed(result, executions=count))
    return int(result.wider > 0)
