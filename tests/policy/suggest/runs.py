"""Recorded runs for tests of suggestions, made of plain calls, and questions to the bundles that come out."""

from collections.abc import Sequence
from typing import Any

from rebuno.model.decision import Verdict
from rebuno.model.step import Kind, StepStatus
from rebuno.policy import (
    Evidence,
    Facts,
    History,
    RecordedStep,
    Source,
    Suggestion,
    check_bundle,
    compile_text,
    format_bundle,
    link_bundle,
    read_cases,
    run_cases,
    suggest_bundle,
)

# A tool, its arguments, and its result if it has one.
Call = tuple[Any, ...]
NEVER_RAN = object()


def run(request: str | None, *calls: Call, workdir: str = "", turns: Sequence[str] = ()) -> list[RecordedStep]:
    """One execution as a store tells it. A call whose result is `NEVER_RAN` was denied."""
    history = History()
    steps = []
    for number, (tool, args, *result) in enumerate(calls):
        submitted = 2 * number + 1
        never = bool(result) and result[0] is NEVER_RAN
        facts = Facts(
            Kind.TOOL.value,
            tool,
            args,
            agent="assistant",
            input=None if request is None else {"request": request},
            history=history,
            as_of=submitted,
            workdir=workdir,
            turns=list(turns) or None,
        )
        if not never:
            found = result[0] if result else None
            history.append(Evidence(submitted + 1, Kind.TOOL.value, tool, args, found, let_in="", submitted=submitted))
        steps.append(RecordedStep(facts, Verdict.DENY if never else Verdict.ALLOW, "observed", f"step {number}"))
    return steps


def verdict(bundle: str, request: str | None, tool: str, args: Any, *earlier: Call, workdir: str = "") -> Verdict:
    """What a bundle says of a call after earlier ones, which it let in itself."""
    history = History(
        [
            Evidence(n, Kind.TOOL.value, one[0], one[1], one[2], status=StepStatus.SUCCEEDED, let_in="allowed")
            for n, one in enumerate(earlier)
        ]
    )
    facts = Facts(
        Kind.TOOL.value,
        tool,
        args,
        agent="assistant",
        input=None if request is None else {"request": request},
        history=history,
        workdir=workdir,
    )
    return compile_text(bundle).decide(facts).verdict


def suggested(*runs: list[RecordedStep], **options: Any) -> Suggestion:
    """The suggestion, whose files are found sound: no warning, formatted, every case as it says, no step denied."""
    found = suggest_bundle(runs, **options)
    source = Source(found.bundle, stem="suggested")
    bundle, mistakes = link_bundle(source)
    assert [*mistakes, *check_bundle(bundle)] == []
    assert format_bundle(source) == found.bundle
    report = run_cases(compile_text(found.bundle), read_cases(Source(found.cases)).cases)
    assert [result for result in report.results if not result.passed] == []
    assert all(result.decision.verdict is not Verdict.DENY for result in report.results)
    return found
