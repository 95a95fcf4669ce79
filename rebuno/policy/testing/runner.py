"""Checks bundles and runs the cases beside them, a report for each; much work is shared among processes."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from rebuno.errors import BundleError, ValidationError
from rebuno.policy.analysis.tool_schemas import Tool
from rebuno.policy.check.bundle import check
from rebuno.policy.check.layers import check_layers
from rebuno.policy.check.tools import check_tools
from rebuno.policy.compile import compile_policy, from_trees
from rebuno.policy.syntax.diagnostics import Diagnostic, Severity, ordered
from rebuno.policy.syntax.link import close
from rebuno.policy.syntax.parse import parse
from rebuno.policy.syntax.source import NOWHERE, Source, read
from rebuno.policy.syntax.tree import Bundle, FileValue, Let, Use
from rebuno.policy.syntax.yaml import CODE
from rebuno.policy.testing.cases import Case, CaseFile, Report, run_cases
from rebuno.policy.testing.discovery import Suite
from rebuno.policy.testing.reader import read_cases

# A process of its own takes a third of a second to start, in which this much is read and run here.
_WORTH: Final = 300_000  # bytes of bundles and cases for each process


@dataclass(frozen=True, slots=True)
class Checked:
    """A bundle, or where one should be, with everything found in it and in its case file. `texts` holds the texts that
    were read by path, `uses` the paths of the files that the bundle names, whether they are there or not; `source` and
    `cases` are None where they could not be read. `tree` is the bundle with what it uses, where there is a bundle."""

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
class Tested:
    """A checked bundle and how its cases came out; `report` is None where errors leave no policy to ask, or where
    there are no cases."""

    checked: Checked
    report: Report | None

    @property
    def covered(self) -> float:
        """The percentage of the bundle that its cases exercise; 0 where none were run."""
        return self.report.coverage.percent if self.report else 0.0

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data, with the bundle's path; `results` are empty where nothing was run."""
        empty: dict[str, Any] = {"results": [], "failed": 0, "unexercised_rules": [], "coverage": None}
        return {
            "bundle": self.checked.path,
            "cases": self.checked.cases_path,
            **(self.report.to_json() if self.report else empty),
        }


def check_suite(suite: Suite, *, tools: Sequence[Tool] = (), layers: Sequence[Bundle] = ()) -> Checked:
    """Reads a bundle and its case file and collects what is wrong with them. `tools` are those that the bundle is
    about, where they are known, and `layers` the linked trees that stand before it."""
    found: list[Diagnostic] = []
    texts: dict[str, str] = {}
    uses: tuple[str, ...] = ()
    closed: Bundle | None = None
    source = _text(suite.bundle, found, texts) if suite.bundle else None
    if source is not None:
        bundle, mistakes = parse(source)
        uses = _uses(bundle, suite.path.parent)
        closed, more = close(bundle, source.folder)
        texts.update((file.path, file.text) for file in closed.files)
        mine = [*mistakes, *more, *check(closed)]
        if all(d.severity is not Severity.ERROR for d in mine):
            mine += check_tools(closed, tools) if tools else []
            mine += check_layers(closed, layers)
        found += ordered(mine)
    cases = None
    cases_source = _text(suite.cases, found, texts) if suite.cases else None
    if cases_source is not None:
        try:
            cases = read_cases(cases_source)
            found += cases.warnings
        except BundleError as error:
            found += error.diagnostics
    if suite.bundle is None:
        message = f"there is no bundle `{suite.path.name}` beside these cases"
        found.append(Diagnostic(CODE, message, NOWHERE, str(suite.cases), "name both alike"))
    cases_path = str(suite.cases) if suite.cases else None
    return Checked(str(suite.path), cases_path, source, cases, tuple(found), texts, uses, closed)


def run_suites(
    suites: Sequence[Suite],
    only: str = "",
    *,
    layers: Sequence[Source] = (),
    jobs: int = 0,
    done: Callable[[], None] | None = None,
) -> list[Tested]:
    """Runs the cases of every suite, or those whose name contains `only`; the reports come in the order of the suites.

    `layers` stand before every bundle, and are part of the policy that is asked. `jobs` is the number of processes, 0
    for as many as pay; `done` is called after each suite.

    Raises:
        ValidationError: no case has such a name.
        BundleError: a layer has errors.
    """
    if layers:
        compile_policy(layers)
    tested: list[Tested] = []
    for one in _tested(suites, partial(_test, only=only, layers=tuple(layers)), jobs or _paying(suites)):
        tested.append(one)
        if done:
            done()
    if only and all(t.checked.sound for t in tested) and not any(t.report and t.report.results for t in tested):
        raise ValidationError(f"no case has `{only}` in its name")
    return tested


def _tested(suites: Sequence[Suite], test: Callable[[Suite], Tested], jobs: int) -> Iterator[Tested]:
    came = 0
    if jobs > 1 and len(suites) > 1:
        # Started afresh: a copy of this process would share its threads' locks.
        pool = ProcessPoolExecutor(min(jobs, len(suites)), get_context("spawn"), _leave_interrupts)
        try:
            for one in pool.map(test, suites):
                came += 1
                yield one
        except (BrokenProcessPool, OSError):
            pass  # processes cannot be had here, or one was killed: the rest is run in this one
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    yield from map(test, suites[came:])


def _leave_interrupts() -> None:
    # The process that started the workers ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _paying(suites: Sequence[Suite]) -> int:
    files = [path for suite in suites for path in (suite.bundle, suite.cases) if path and path.is_file()]
    return min(os.cpu_count() or 1, sum(path.stat().st_size for path in files) // _WORTH)


def _test(suite: Suite, only: str, layers: Sequence[Source]) -> Tested:
    return _run(check_suite(suite), only, layers)


def _run(checked: Checked, only: str, layers: Sequence[Source]) -> Tested:
    if not checked.sound or checked.source is None or checked.tree is None or checked.cases is None:
        return Tested(checked, None)
    cases: list[Case] = [case for case in checked.cases.cases if only in case.name]
    try:
        alone = [(checked.tree, checked.source)]
        policy = compile_policy([*layers, checked.source]) if layers else from_trees(alone)
    except BundleError as error:  # what only shows beside the layers, as a name that two of them have
        return Tested(replace(checked, diagnostics=(*checked.diagnostics, *error.diagnostics)), None)
    return Tested(checked, run_cases(policy, cases))


def _uses(bundle: Bundle, folder: Path) -> tuple[str, ...]:
    named = [line.path for line in bundle.statements if isinstance(line, Use)]
    named += [
        line.value.path for line in bundle.statements if isinstance(line, Let) and isinstance(line.value, FileValue)
    ]
    return tuple(str(folder / str(path.value)) for path in named)


def _text(path: Path, found: list[Diagnostic], texts: dict[str, str]) -> Source | None:
    try:
        source = read(path)
    except BundleError as error:
        found += error.diagnostics
        return None
    texts[source.path] = source.text
    return source
