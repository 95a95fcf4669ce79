"""Checks bundles and runs their cases. Several processes share a large amount of work."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from rebuno.errors import BundleError, ValidationError
from rebuno.policy.analysis.tool_schemas import ToolSchema
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.check.layers import check_layers
from rebuno.policy.check.sound import sound
from rebuno.policy.check.tools import check_tools
from rebuno.policy.compile import compile_policy, from_trees
from rebuno.policy.syntax.diagnostics import Diagnostic, Severity, ordered
from rebuno.policy.syntax.keywords import FIXED_IDS
from rebuno.policy.syntax.link import close
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import NO_SPAN, Source, read_source
from rebuno.policy.syntax.tree import Bundle, FileValue, Let, Rule, Use
from rebuno.policy.syntax.yaml import CODE
from rebuno.policy.testing.cases import Case, CaseFile, CaseReport, run_cases
from rebuno.policy.testing.claims import ClaimResult, compile_claims, try_claims
from rebuno.policy.testing.discovery import BundleSuite
from rebuno.policy.testing.reader import read_cases
from rebuno.policy.testing.tries import steps_to_try

# A process takes a third of a second to start. This process handles so many bytes in that time.
_WORTH: Final = 300_000  # bytes of bundles and cases for each process


@dataclass(frozen=True, slots=True)
class SuiteCheck:
    """A suite with the diagnostics of its bundle and its case file. `texts` maps paths to the texts that were read.
    `uses` are the paths of the files that the bundle names, also of missing ones. `source` and `cases` are None if they
    could not be read. `tree` is the linked bundle, None without a bundle."""

    path: str
    cases_path: str | None
    source: Source | None
    cases: CaseFile | None
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    uses: tuple[str, ...] = ()
    tree: Bundle | None = None

    @property
    def sound(self) -> bool:
        """Whether there is no error."""
        return all(d.severity is not Severity.ERROR for d in self.diagnostics)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """A checked bundle, the report of its cases, and what became of its claims. `report` is None if the bundle has
    errors or no cases; `claims` are empty if it has errors, or if only some of the cases were run."""

    checked: SuiteCheck
    report: CaseReport | None
    claims: tuple[ClaimResult, ...] = ()

    @property
    def failed(self) -> int:
        """The number of cases with an unexpected decision, and of claims that a step broke."""
        return (self.report.failed if self.report else 0) + sum(not claim.passed for claim in self.claims)

    @property
    def covered(self) -> float:
        """The coverage of the bundle in percent; 0 if no case was run."""
        return self.report.coverage.percent if self.report else 0.0

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data, with the bundle's path; `results` are empty where nothing was run. `failed` counts
        broken claims too."""
        empty: dict[str, Any] = {"results": [], "failed": 0, "unexercised_rules": [], "coverage": None}
        return {
            "bundle": self.checked.path,
            "cases": self.checked.cases_path,
            **(self.report.to_json() if self.report else empty),
            "failed": self.failed,
            "claims": [claim.to_json() for claim in self.claims],
        }


def check_suite(suite: BundleSuite, *, tools: Sequence[ToolSchema] = (), layers: Sequence[Bundle] = ()) -> SuiteCheck:
    """Reads and checks a bundle and its case file. `tools` are the schemas of the tools, if known. `layers` are the
    linked trees of the outer layers."""
    found: list[Diagnostic] = []
    texts: dict[str, str] = {}
    source = _text(suite.bundle, found, texts) if suite.bundle else None
    checked = SuiteCheck(str(suite.path), None, None, None, tuple(found), texts)
    if source is not None:
        checked = replace(check_source(source, tools=tools, layers=layers), path=str(suite.path), texts=texts)
        found += checked.diagnostics
        closed = checked.tree
        assert closed is not None
        texts.update((file.path, file.text) for file in closed.files)
    cases = None
    cases_source = _text(suite.cases, found, texts) if suite.cases else None
    if cases_source is not None:
        try:
            cases = read_cases(cases_source, rules=_rules(checked.tree, layers))
            found += cases.warnings
        except BundleError as error:
            found += error.diagnostics
    if suite.bundle is None:
        message = f"there is no bundle `{suite.path.name}` beside these cases"
        found.append(Diagnostic(CODE, message, NO_SPAN, str(suite.cases), "name both alike"))
    cases_path = str(suite.cases) if suite.cases else None
    return replace(checked, cases_path=cases_path, cases=cases, diagnostics=tuple(found))


def check_source(source: Source, *, tools: Sequence[ToolSchema] = (), layers: Sequence[Bundle] = ()) -> SuiteCheck:
    """Checks one bundle that has no case file, such as one that is no file."""
    bundle, mistakes = parse_bundle(source)
    folder = source.folder or Path()
    closed, more = close(bundle, source.folder)
    mine = [*mistakes, *more, *check_bundle(closed)]
    # A statement with an error hides no finding about another one.
    failed = any(d.severity is Severity.ERROR for d in mine)
    whole = sound(closed, mine) if failed else closed
    mine += check_tools(whole, tools) if tools else []
    mine += check_layers(whole, layers)
    texts = {source.path: source.text, **{file.path: file.text for file in closed.files}}
    return SuiteCheck(source.path, None, source, None, tuple(ordered(mine)), texts, _uses(bundle, folder), closed)


def _rules(bundle: Bundle | None, layers: Sequence[Bundle]) -> frozenset[str] | None:
    """What a case may name as the rule that decides; None where not every rule could be read."""
    if bundle is None or not bundle.whole:
        return None
    own = (s.id.text for one in (bundle, *layers) for s in one.statements if isinstance(s, Rule))
    return frozenset(own) | FIXED_IDS


def run_suites(
    suites: Sequence[BundleSuite],
    only: str = "",
    *,
    layers: Sequence[Source] = (),
    jobs: int = 0,
    done: Callable[[], None] | None = None,
) -> list[SuiteResult]:
    """Runs the cases of every suite, or those whose name contains `only`. The results are in the order of the suites.

    `layers` are the outer layers of every policy. `jobs` is the number of processes; 0 means as many as are useful.
    `done` is called after each suite.

    Raises:
        ValidationError: no case has such a name.
        BundleError: a layer has errors.
    """
    if layers:
        compile_policy(layers)
    tested: list[SuiteResult] = []
    for one in _tested(suites, partial(_test, only=only, layers=tuple(layers)), jobs or _paying(suites)):
        tested.append(one)
        if done:
            done()
    if only and all(t.checked.sound for t in tested) and not any(t.report and t.report.results for t in tested):
        raise ValidationError(f"no case has `{only}` in its name")
    return tested


def _tested(
    suites: Sequence[BundleSuite], test: Callable[[BundleSuite], SuiteResult], jobs: int
) -> Iterator[SuiteResult]:
    came = 0
    if jobs > 1 and len(suites) > 1:
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        # Started afresh: a copy of this process would share its threads' locks.
        pool = ProcessPoolExecutor(min(jobs, len(suites)), get_context("spawn"), _leave_interrupts)
        try:
            for one in pool.map(test, suites):
                came += 1
                yield one
        except (BrokenProcessPool, OSError):
            pass  # no process could be started, or one was killed: this process runs the rest
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    yield from map(test, suites[came:])


def _leave_interrupts() -> None:
    # The parent process ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _paying(suites: Sequence[BundleSuite]) -> int:
    files = [path for suite in suites for path in (suite.bundle, suite.cases) if path and path.is_file()]
    return min(os.cpu_count() or 1, sum(path.stat().st_size for path in files) // _WORTH)


def _test(suite: BundleSuite, only: str, layers: Sequence[Source]) -> SuiteResult:
    return _run(check_suite(suite), only, layers)


def _run(checked: SuiteCheck, only: str, layers: Sequence[Source]) -> SuiteResult:
    if not checked.sound or checked.source is None or checked.tree is None:
        return SuiteResult(checked, None)
    claims = () if only else compile_claims(checked.tree)
    if checked.cases is None and not claims:
        return SuiteResult(checked, None)
    try:
        alone = [(checked.tree, checked.source)]
        policy = compile_policy([*layers, checked.source]) if layers else from_trees(alone)
    except BundleError as error:  # an error of the layers together, such as a name that two of them have
        return SuiteResult(replace(checked, diagnostics=(*checked.diagnostics, *error.diagnostics)), None)
    cases: list[Case] = [case for case in checked.cases.cases if only in case.name] if checked.cases else []
    tried = steps_to_try(checked.tree, [case.submission for case in cases]) if claims else ()
    results = tuple(try_claims(policy, claims, tried))
    return SuiteResult(checked, run_cases(policy, cases) if checked.cases else None, results)


def _uses(bundle: Bundle, folder: Path) -> tuple[str, ...]:
    named = [line.path for line in bundle.statements if isinstance(line, Use)]
    named += [
        line.value.path for line in bundle.statements if isinstance(line, Let) and isinstance(line.value, FileValue)
    ]
    return tuple(str(folder / str(path.value)) for path in named)


def _text(path: Path, found: list[Diagnostic], texts: dict[str, str]) -> Source | None:
    try:
        source = read_source(path)
    except BundleError as error:
        found += error.diagnostics
        return None
    texts[source.path] = source.text
    return source
