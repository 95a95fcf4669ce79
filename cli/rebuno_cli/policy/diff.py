"""`rebuno policy diff`: compares two policies by their rules and their decisions."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rebuno_cli import options
from rebuno_cli.policy import backtest_input

if TYPE_CHECKING:
    from rebuno.policy.matcher.facts import Facts
    from rebuno.policy.testing.backtest import Judged


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The bundle as it was.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new bundle.")],
    layer: options.Layers = None,
    execution: backtest_input.Executions = None,
    since: backtest_input.Since = "",
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """Show which rules differ between two bundles, and which steps they decide differently: those that a store has
    recorded, or without --execution and --since those of the cases beside the two.

    Exit code 0, or 1 where a step is decided differently; without a store also where a rule differs.
    """
    from rebuno.policy.compile import compile_policy
    from rebuno.policy.interop.diff import differences
    from rebuno.policy.syntax.source import read
    from rebuno.policy.testing.backtest import Tally, against_policy
    from rebuno_cli.render import backtest, console, output

    before = [read(path) for path in layer or ()]
    then, now = compile_policy([*before, read(old)]), compile_policy([*before, read(new)])
    found = differences(then.bundles[-1], now.bundles[-1])
    tally = Tally()
    count: int | None = None
    if execution or since:

        def take(steps: "list[Judged]") -> None:
            against_policy(tally, then, now, ((step.where, step.facts) for step in steps))

        count = backtest_input.each(execution or [], since, db, take)
    else:
        against_policy(tally, then, now, _cases(old, new))
    result = tally.result()
    if as_json:
        output.write_json({"bundle": found.to_json(), **result.to_json()})
    else:
        console.write([*backtest.changes(found), *backtest.backtest(result, executions=count)])
    return int(bool(result.differing) or (count is None and bool(found)))


def _cases(*bundles: str) -> "Iterator[tuple[str, Facts]]":
    """What the cases beside the bundles ask, each question once."""
    from rebuno.model.identity import canonical
    from rebuno.policy.syntax.source import read
    from rebuno.policy.testing.discovery import CASES
    from rebuno.policy.testing.reader import read_cases

    asked: set[str] = set()
    for bundle in map(Path, bundles):
        file = bundle.with_name(bundle.stem + CASES)
        if not file.exists():
            continue
        for case in read_cases(read(file)).cases:
            question = canonical(case.submission.to_json())
            if question not in asked:
                asked.add(question)
                yield case.name, case.submission.facts()
