"""Shows what became of the claims of a bundle, and a step that breaks one as a case."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.policy import ClaimResult, Diagnostic, Severity, SuiteCheck, Violation
from rebuno_cli.render.diagnostics import counted, diagnostics
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import hanging

if TYPE_CHECKING:  # what these come from needs the solver
    from rebuno.policy import AllowedMore, Difference, ProofReport, ProofsReport

_STYLES: Final = {"proved": "green", "refuted": "bold red", "not shown": "bold yellow"}


def tried(results: Sequence[ClaimResult]) -> Iterator[RenderableType]:
    """A line for each claim, and under a broken one the step."""
    for result in results:
        sign, style = ("ok    ", "green") if result.passed else ("FAIL  ", "bold red")
        line = Text(f"{escape(result.claim.text, 200)} ", "")
        line.append(f"(line {result.claim.line}", "dim")
        line.append(f", tried on {result.tried:,} steps)" if result.passed else ")", "dim")
        yield hanging(sign, line, style=style)
        if result.violation is not None:
            yield from step(result.claim.text, result.violation)


def step(name: str, found: Violation) -> Iterator[RenderableType]:
    """The step that breaks a claim."""
    yield hanging("      ", Text(f"{broken(found)}; as a case:"))
    yield hanging("      ", Text(as_case(name, found)))


def broken(found: Violation) -> str:
    """What the policy decides on the step."""
    decision = found.decision
    return f"{decision.verdict.value.replace('_', ' ')} by {escape(decision.rule_id, 60)}"


def as_case(name: str, found: Violation) -> str:
    """The step as an element of `cases`, on one line. JSON is YAML too."""
    return f"- {json.dumps({'name': name, **found.to_json()}, ensure_ascii=True)}"


def proved(report: "ProofsReport", columns: int, silent: Sequence[str]) -> Iterator[RenderableType]:
    """The claims of each bundle, the errors of bundles with errors, the folders where nothing is claimed (`silent`),
    and the sums. One bundle alone has no head."""
    many = len(report.suites) > 1
    for suite in report.suites:
        if suite.report is None:
            yield from diagnostics(errors(suite.checked), suite.checked.texts, columns)
        elif suite.report.results:
            if many:
                yield Text(escape(suite.checked.path, None), "bold")
            yield from _proved(suite.report)
            if many:
                yield Text()
    for path in silent:
        yield Text(f"{escape(path, None)}: no bundle claims anything", "yellow")
    yield _sums(report)


def errors(checked: SuiteCheck) -> list[Diagnostic]:
    """The errors of a bundle and its case file, without the warnings."""
    return [one for one in checked.diagnostics if one.severity is Severity.ERROR]


def _proved(report: "ProofReport") -> Iterator[RenderableType]:
    """A line for each claim, and under a refuted one the step."""
    for result in report.results:
        said = result.proof.value
        line = Text(f"{escape(result.claim.text, 200)} ")
        line.append(f"(line {result.claim.line}, {result.seconds:.1f} s)", "dim")
        yield hanging(f"{said:<11}", line, style=_STYLES[said])
        if result.reason:
            yield hanging("      ", Text(result.reason))
        if result.violation is not None:
            yield from step(result.claim.text, result.violation)


def _sums(report: "ProofsReport") -> Text:
    data = report.to_json()
    parts = [f"{data[name.replace(' ', '_')]} {name}" for name in _STYLES]
    bundles = sum(bool(one.report and one.report.results) for one in report.suites)
    where = f" in {counted(bundles, 'bundle')}" if len(report.suites) > 1 else ""
    wrong = sum(len(errors(one.checked)) for one in report.suites if one.report is None)
    if wrong:
        parts.append(counted(wrong, "error"))
    said = f"{counted(len(data['claims']), 'claim')}{where}: {', '.join(parts)}"
    return Text(said, "bold green" if report.passed else "bold red")


def more(found: "AllowedMore") -> Iterator[RenderableType]:
    """What the new bundle allows that the old one does not, and the reverse."""
    yield from _difference("the new one allows", "the old one does not", found.wider, "WIDER ")
    yield from _difference("the old one allows", "the new one does not", found.narrower, "")


def _difference(who: str, other: str, found: "Difference", sign: str) -> Iterator[RenderableType]:
    if found.violation is not None:
        yield Text(f"{sign}{who} what {other}", "bold red")
        yield from step(f"{who} this", found.violation)
    elif found.reason:
        yield Text(f"whether {who} what {other} was not shown: {found.reason}", "bold yellow")
    else:
        yield Text(f"proved: {who} nothing that {other}", "green")
