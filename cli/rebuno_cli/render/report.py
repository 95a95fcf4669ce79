"""Shows the results of policy tests: a table of cases, a trace of each failure, the rules that no case reached."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from rebuno.policy import CaseReport, CaseResult, Severity, SuiteResult
from rebuno_cli.render.claims import tried
from rebuno_cli.render.coverage import coverage
from rebuno_cli.render.diagnostics import counted, diagnostic_json, diagnostics
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows
from rebuno_cli.render.trace import VERDICT_STYLE, trace


def report(
    tested: Sequence[SuiteResult], columns: int, *, partial: bool = False, least: float | None = None
) -> Iterator[RenderableType]:
    """Everything about every bundle, then the sums. After a `partial` run nothing is said of what no case exercises;
    `least` is the percentage of each bundle that cases must."""
    for one in tested:
        yield Text(escape(one.checked.path, None), "bold")
        yield from diagnostics(one.checked.diagnostics, one.checked.texts, columns)
        if one.report is not None:
            yield from _cases(one.report, partial)
        elif one.checked.sound and not one.claims:
            yield Padding(Text("untested: there is no case file beside it", "yellow"), (0, 0, 0, 2))
        for line in tried(one.claims):
            yield Padding(line, (0, 0, 0, 2))
        if one.checked.sound and least is not None and one.covered < least:
            said = f"too little is covered: {one.covered:.1f} %, and {least:g} % are asked for"
            yield Padding(Text(said, "bold red"), (0, 0, 0, 2))
        yield Text()
    yield _sums(tested)


def report_json(tested: Sequence[SuiteResult]) -> dict[str, Any]:
    """`{"bundles": [{"bundle", "cases", "diagnostics", "results", "failed", "unexercised_rules", "coverage",
    "claims"}, …]}`."""
    return {
        "bundles": [
            {**one.to_json(), "diagnostics": [diagnostic_json(d) for d in one.checked.diagnostics]} for one in tested
        ]
    }


def _cases(ran: CaseReport, partial: bool) -> Iterator[RenderableType]:
    if ran.results:
        yield Padding(Rows(("result", "case", "verdict", "rule"), map(_row, ran.results)), (0, 0, 0, 2))
    for result in ran.results:
        if result.trace is not None:
            yield Text()
            head = Text(f"FAIL {escape(result.case.name)}", "bold red")
            head.append(f" (line {result.case.line}): {escape(result.failure)}", "not bold default")
            yield Padding(head, (0, 0, 0, 2))
            for line in trace(result.trace):
                yield Padding(line, (0, 0, 0, 4))
    if not partial:
        for line in coverage(ran.coverage):
            yield Padding(line, (0, 0, 0, 2))


def _row(result: CaseResult) -> tuple[str | Text, ...]:
    verdict = result.decision.verdict
    return (
        _result(result),
        escape(result.case.name, 100),
        Text(verdict.value, VERDICT_STYLE[verdict]).append(_takes(result), "not bold default"),
        escape(result.decision.rule_id, 60),
    )


def _takes(result: CaseResult) -> str:
    """What the limits measure of the step."""
    takes = [f"takes {one.amount or 'no amount'} of {escape(name, 60)}" for name, one in result.takes]
    return f", {', '.join(takes)}" if takes else ""


def _result(result: CaseResult) -> Text:
    if not result.passed:
        return Text("FAIL", "bold red")
    asserted = result.case.expect is not None or result.case.expect_rule is not None
    return Text("ok", "green") if asserted else Text("-", "yellow")


def _sums(tested: Sequence[SuiteResult]) -> Text:
    failed = sum(one.failed for one in tested)
    claims = sum(len(one.claims) for one in tested)
    total = sum(len(one.report.results) for one in tested if one.report)
    parts = [counted(total, "case"), *([counted(claims, "claim")] if claims else []), f"{failed} failed"]
    errors = sum(d.severity is Severity.ERROR for one in tested for d in one.checked.diagnostics)
    if errors:
        parts.append(counted(errors, "error"))
    untested = sum(one.checked.sound and one.report is None and not one.claims for one in tested)
    if untested:
        parts.append(f"{counted(untested, 'bundle')} untested")
    return Text(", ".join(parts), "bold red" if failed or errors else "bold green")
