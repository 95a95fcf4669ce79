"""Writes the results of policy tests as JUnit XML for CI systems."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from rebuno.policy import CaseResult, ClaimResult, Severity, SuiteResult
from rebuno_cli.render.claims import as_case, broken
from rebuno_cli.render.console import plain
from rebuno_cli.render.diagnostics import diagnostics
from rebuno_cli.render.escape import escape
from rebuno_cli.render.trace import trace


def junit(tested: Sequence[SuiteResult]) -> str:
    """A `testsuite` for each bundle and a `testcase` for each case and each claim. A bundle with errors has one test
    case that is an error, a bundle without cases one that is skipped. What XML cannot hold appears as `\\uXXXX`."""
    root = Element("testsuites", {"name": "rebuno policy test"})
    for one in tested:
        root.append(_suite(one))
    for kind in ("tests", "failures", "errors", "skipped"):
        root.set(kind, str(sum(int(suite.get(kind, "0")) for suite in root)))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(one: SuiteResult) -> Element:
    path = escape(one.checked.path, None)
    suite = Element("testsuite", {"name": path, "file": path})
    if not one.checked.sound:
        errors = [d for d in one.checked.diagnostics if d.severity is Severity.ERROR]
        broken = SubElement(suite, "testcase", {"name": "check", "classname": path, "file": path})
        error = SubElement(broken, "error", {"message": escape(errors[0].message), "type": str(errors[0].code)})
        error.text = plain(diagnostics(errors, one.checked.texts))
    elif one.report is None and not one.claims:
        idle = SubElement(suite, "testcase", {"name": "cases", "classname": path, "file": path})
        SubElement(idle, "skipped", {"message": "there is no case file beside it"})
    else:
        for result in one.report.results if one.report else ():
            suite.append(_case(result, path, escape(one.checked.cases_path, None)))
        for claim in one.claims:
            suite.append(_claim(claim, path))
    for kind, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(sum(1 for _ in suite.iter(tag))))
    return suite


def _claim(result: ClaimResult, path: str) -> Element:
    name, line = escape(result.claim.text), str(result.claim.line)
    case = Element("testcase", {"name": name, "classname": path, "file": path, "line": line})
    if result.violation is not None:
        failure = SubElement(case, "failure", {"message": escape(broken(result.violation)), "type": "claim"})
        failure.text = escape(as_case(result.claim.text, result.violation), None)
    return case


def _case(result: CaseResult, classname: str, file: str) -> Element:
    case = Element(
        "testcase",
        {"name": escape(result.case.name), "classname": classname, "file": file, "line": str(result.case.line)},
    )
    if result.trace is not None:
        failure = SubElement(case, "failure", {"message": escape(result.failure), "type": "verdict"})
        failure.text = plain(trace(result.trace))
    return case
