"""`rebuno policy test`: runs the cases beside bundles."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from rebuno.errors import ValidationError
from rebuno_cli import options
from rebuno_cli.policy import backtest_input


@click.command("test")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", help="Bundles, case files, or folders of them.")
@options.layers
@click.option("--case", default="", metavar="TEXT", help="Only cases with this text in their name.")
@click.option(
    "--min-coverage",
    type=options.Number(min=0, max=100),
    metavar="PERCENT",
    help="What cases must exercise of a bundle.",
)
@click.option("--junit", default="", metavar="FILE", help="Write the results there too, as JUnit XML.")
@click.option("--watch", is_flag=True, help="Run again when a file changes, until Ctrl-C.")
@backtest_input.executions
@backtest_input.since
@click.option("--agent", default="", metavar="NAME", help="Ask the kernel, as if the bundle were this agent's.")
@options.db
@options.url
@options.as_json
def run(
    paths: tuple[str, ...],
    layer: tuple[str, ...],
    case: str,
    min_coverage: float | None,
    junit: str,
    watch: bool,
    execution: tuple[str, ...],
    since: str,
    agent: str,
    db: str | None,
    url: str | None,
    as_json: bool,
) -> int:
    """Ask each bundle about the cases in its `.policytest.yaml` file, and try its claims on them and on many steps that
    are made of them; with --execution or --since, ask one bundle about
    the steps that a store has recorded, and show which it would decide differently now. With --agent the kernel is
    asked about the cases and the executions, with the layers that it has.

    Exit code 0 when all come out as expected, 1 when one does not or too little is covered, 2 when a bundle or a case
    file has errors.
    """
    if agent:
        if len(paths) != 1 or layer or case or junit or watch or since or min_coverage is not None:
            raise ValidationError("with `--agent` one bundle is asked, with `--execution` and no other option")
        from rebuno_cli.policy.remote import test

        return test(paths[0], agent, execution, db, url, as_json=as_json)
    if url:
        raise ValidationError("a server judges for one of its agents; name it with `--agent NAME`")
    if execution or since:
        if len(paths) != 1 or case or junit or watch or min_coverage is not None:
            raise ValidationError("recorded steps are judged by one bundle, without the options about cases")
        return _backtest((*layer, *paths), execution, since, db, as_json=as_json)
    if case and min_coverage is not None:
        raise ValidationError("`--min-coverage` is about all cases of a bundle; leave out `--case`")

    def once() -> tuple[int, Iterable[str]]:
        return _once(paths, layer, case, min_coverage, junit, as_json=as_json, indent=None if watch else 2)

    if watch:
        from rebuno_cli.watch import watch as repeat

        return repeat(paths, once, as_json=as_json)
    return once()[0]


def _backtest(paths: Sequence[str], refs: Sequence[str], since: str, db: str | None, *, as_json: bool) -> int:
    from rebuno.policy import BacktestTally, backtest_against_record, compile_policy, read_source
    from rebuno_cli.render import backtest
    from rebuno_cli.render.show import show

    policy = compile_policy([read_source(path) for path in paths])
    tally = BacktestTally()
    count = backtest_input.each(refs, since, db, lambda steps: backtest_against_record(tally, policy, steps))
    result = tally.result()
    show(as_json, lambda: result.to_json(), lambda: backtest.backtest(result, executions=count))
    return int(bool(result.differing))


def _once(
    paths: Sequence[str],
    layers: Sequence[str],
    case: str,
    least: float | None,
    junit: str,
    *,
    as_json: bool,
    indent: int | None,
) -> tuple[int, Iterable[str]]:
    from rebuno.policy import find_bundles, read_source, run_suites
    from rebuno_cli.render import output, report
    from rebuno_cli.render.progress import progress
    from rebuno_cli.render.show import show

    suites = find_bundles(paths)
    sources = [read_source(path) for path in layers]
    with progress("testing bundles", len(suites)) as done:
        tested = run_suites(suites, case, layers=sources, done=done)
    if junit:
        from rebuno_cli.render.junit import junit as written

        Path(junit).write_text(written(tested), encoding="utf-8")
    show(
        as_json,
        lambda: report.report_json(tested),
        lambda: report.report(tested, output.width(sys.stdout), partial=bool(case), least=least),
        indent=indent,
    )
    uses = [path for one in tested for path in (*one.checked.uses, *one.checked.texts)]
    uses += layers
    if not all(one.checked.sound for one in tested):
        return 2, uses
    failed = any(one.failed for one in tested)
    return int(failed or (least is not None and any(one.covered < least for one in tested))), uses
