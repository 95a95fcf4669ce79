"""Checks bundles and runs the cases beside them, a report for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rebuno.errors import BundleError, ValidationError
from rebuno.policy.cases import Case, CaseFile, Report, run_cases
from rebuno.policy.cases_find import Suite
from rebuno.policy.cases_read import read_cases
from rebuno.policy.cases_yaml import CODE
from rebuno.policy.check import check
from rebuno.policy.compile import compile_bundle
from rebuno.policy.diagnostics import Diagnostic, Severity, ordered
from rebuno.policy.parse import parse
from rebuno.policy.source import NOWHERE, Source, read


@dataclass(frozen=True, slots=True)
class Checked:
    """A bundle, or where one should be, with everything found in it and in its case file. `texts` holds the texts that
    were read by path; `source` and `cases` are None where they could not be read."""

    path: str
    cases_path: str | None
    source: Source | None
    cases: CaseFile | None
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]

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

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data, with the bundle's path; `results` are empty where nothing was run."""
        empty: dict[str, Any] = {"results": [], "failed": 0, "unexercised_rules": [], "coverage": None}
        return {
            "bundle": self.checked.path,
            "cases": self.checked.cases_path,
            **(self.report.to_json() if self.report else empty),
        }


def check_suite(suite: Suite) -> Checked:
    """Reads a bundle and its case file and collects what is wrong with them."""
    found: list[Diagnostic] = []
    texts: dict[str, str] = {}
    source = _text(suite.bundle, found, texts) if suite.bundle else None
    if source is not None:
        bundle, mistakes = parse(source)
        found += ordered([*mistakes, *check(bundle)])
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
    return Checked(str(suite.path), str(suite.cases) if suite.cases else None, source, cases, tuple(found), texts)


def run_suites(suites: Sequence[Suite], only: str = "") -> list[Tested]:
    """Runs the cases of every suite, or those whose name contains `only`.

    Raises:
        ValidationError: no case has such a name.
    """
    tested = [_run(check_suite(suite), only) for suite in suites]
    if only and all(t.checked.sound for t in tested) and not any(t.report and t.report.results for t in tested):
        raise ValidationError(f"no case has `{only}` in its name")
    return tested


def _run(checked: Checked, only: str) -> Tested:
    if not checked.sound or checked.source is None or checked.cases is None:
        return Tested(checked, None)
    cases: list[Case] = [case for case in checked.cases.cases if only in case.name]
    return Tested(checked, run_cases(compile_bundle(checked.source), cases))


def _text(path: Path, found: list[Diagnostic], texts: dict[str, str]) -> Source | None:
    try:
        source = read(path)
    except BundleError as error:
        found += error.diagnostics
        return None
    texts[source.path] = source.text
    return source
