"""`rebuno policy diff`: compares two policies by their rules and their decisions."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebuno_cli import options
from rebuno_cli.policy import backtest_input

if TYPE_CHECKING:
    from rebuno.policy import AllowedMore, Facts, Policy, RecordedStep


@click.command("diff")
@click.argument("old", metavar="OLD", help="The bundle as it was.")
@click.argument("new", metavar="NEW", help="The bundle as it must become.")
@options.layers
@backtest_input.executions
@backtest_input.since
@click.option("--prove", is_flag=True, help="Ask for every step what only one of them allows; the extra `prove`.")
@options.db
@options.as_json
def diff(
    old: str,
    new: str,
    layer: tuple[str, ...],
    execution: tuple[str, ...],
    since: str,
    prove: bool,
    db: str | None,
    as_json: bool,
) -> int:
    """Show which rules differ between two bundles, and which steps they decide differently: those that a store has
    recorded, or without --execution and --since those of the cases beside the two.

    Exit code 0, or 1 where a step is decided differently; without a store also where a rule differs. With --prove
    also 1 where it is not proved that the two allow the same.
    """
    from rebuno.policy import BacktestTally, backtest_against_policy, compile_policy, diff_bundles, read_source
    from rebuno_cli.render import backtest, claims
    from rebuno_cli.render.show import show

    before = [read_source(path) for path in layer]
    then, now = compile_policy([*before, read_source(old)]), compile_policy([*before, read_source(new)])
    found = diff_bundles(then.bundles[-1], now.bundles[-1])
    tally = BacktestTally()
    count: int | None = None
    if execution or since:

        def take(steps: "list[RecordedStep]") -> None:
            backtest_against_policy(tally, then, now, ((step.where, step.facts) for step in steps))

        count = backtest_input.each(execution, since, db, take)
    else:
        backtest_against_policy(tally, then, now, _cases(old, new))
    result = tally.result()
    more = _allowed_more(then, now, old, new) if prove else None
    show(
        as_json,
        lambda: {
            "bundle": found.to_json(),
            **result.to_json(),
            **({} if more is None else {"allowed": more.to_json()}),
        },
        lambda: [
            *backtest.changes(found),
            *backtest.backtest(result, executions=count),
            *(() if more is None else claims.more(more)),
        ],
    )
    return int(bool(result.differing) or (count is None and bool(found)) or bool(more))


def _allowed_more(then: "Policy", now: "Policy", old: str, new: str) -> "AllowedMore":
    from rebuno.packaged import needing
    from rebuno_cli.policy.prove import cases_beside
    from rebuno_cli.render.progress import progress

    with needing("prove", "a proof"):
        from rebuno.policy import compare_allowed
    with progress("comparing for every step", 2) as done:
        return compare_allowed(then, now, cases_beside(old, new), done=done)


def _cases(*bundles: str) -> "Iterator[tuple[str, Facts]]":
    """What the cases beside the bundles ask, each question once."""
    from rebuno.model.identity import canonical
    from rebuno.policy import CASES_SUFFIX, read_cases, read_source

    asked: set[str] = set()
    for bundle in map(Path, bundles):
        file = bundle.with_name(bundle.stem + CASES_SUFFIX)
        if not file.exists():
            continue
        for case in read_cases(read_source(file)).cases:
            question = canonical(case.submission.to_json())
            if question not in asked:
                asked.add(question)
                yield case.name, case.submission.facts()
