"""Case files: what is read, what is refused and where, and how a run is judged."""

from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import BundleError, ValidationError
from rebuno.model.decision import Verdict
from rebuno.model.step import Kind, StepStatus
from rebuno.policy.compile import compile_text
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.yaml import read_yaml
from rebuno.policy.testing.cases import CaseFile, CaseReport, run_cases
from rebuno.policy.testing.discovery import BundleSuite, find_bundles
from rebuno.policy.testing.reader import read_cases, read_submission
from rebuno.policy.testing.runner import check_suite, run_suites

BUNDLE = """\
bundle pay
default deny because "not listed"

known payees = result of tool "list_*" at [].iban
           or approved tool "send" at to

rule free { allow tool "get_*" }
rule known { allow tool "send" when args.to in payees }
rule ask { require approval for tool "send" because "unknown payee" }
rule never { deny tool "burn" because "no" }
"""


def _read(text: str) -> CaseFile:
    return read_cases(Source(text, "x.policytest.yaml"))


def _plain(text: str) -> Any:
    return read_yaml(Source(text)).plain()


def _run(text: str) -> CaseReport:
    return run_cases(compile_text(BUNDLE), _read(text).cases)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),  # YAML 1.1 reads false
        ("on", "on"),
        ("012", "012"),  # YAML 1.1 reads ten
        ("2020-01-01", "2020-01-01"),  # YAML 1.1 reads a date
        ("1_000", "1_000"),
        ("0x1f", "0x1f"),
        ("1:30", "1:30"),  # YAML 1.1 reads ninety
        ("~", "~"),  # a home folder, not null
        (".5", ".5"),
        ("True", "True"),
        ("true", True),
        ("null", None),
        ('""', ""),
        ("'5'", "5"),
        ("-5", -5),
        ("9007199254740993", 9007199254740993),
        ("1e3", 1000.0),
        ("[1, [x, {a: b}]]", [1, ["x", {"a": "b"}]]),
        ("{a: , b: 1}", {"a": None, "b": 1}),
        ("{a: &it [1], b: *it}", {"a": [1], "b": [1]}),
    ],
)
def test_yaml_is_read_as_its_json_schema_says(text: str, value: object) -> None:
    """Only what JSON writes without quotes is anything but text."""
    read = _plain(text)
    assert read == value
    assert type(read) is type(value)


NINES = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the key `a` appears twice"),
        ("a:\n  1: x\n", 2, "the key `1` is not text"),
        ("[a]: x\n", 1, "is not text"),
        ("a: [1\n", 2, "not YAML"),
        ("a: *b\n", 1, "`*b` names no earlier anchor"),
        ("&a [*a]\n", 1, "names no earlier anchor"),  # a value that holds itself
        ("a: !!python/name:os.system x\n", 1, "tag"),
        ("a\n---\nb\n", 3, "a second document"),
        ("", 1, "the file is empty"),
        ("a: 1e999\n", 1, "too large"),
        ("a: x\nb: \x00\n", 2, "a control character"),
        (NINES, 5, "more than 200,000 values"),
        ("[" * 200 + "]" * 200, 1, "128 levels"),
        ("#" * (1 << 20) + "\na: 1\n", 1, "larger than 1 MiB"),
    ],
    ids=lambda value: value[:20].split("\n")[0] if isinstance(value, str) else None,
)
def test_yaml_that_is_no_data_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    """Whatever a test file would silently lose, or could blow up, is an error at its place."""
    with pytest.raises(BundleError) as caught:
        _plain(text)
    [found] = caught.value.diagnostics
    assert found.span.line == line
    assert said in found.message


def test_a_whole_case_is_read() -> None:
    """Every key of the format arrives, short kinds too."""
    file = _read(
        """\
agent_id: clerk
cases:
  - name: one
    kind: llm
    target: model
    args: {a: no}
    input: {request: hi}
    history:
      - {target: read, result: [1], approved: true}
      - {kind: local, target: now, status: failed, args: {x: 1}}
    expect: require_approval
    expect_rule: r
  - target: send
    agent_id: other
    expect: deny
"""
    )
    first, second = file.cases
    assert (first.name, first.line, first.expect, first.expect_rule) == ("one", 3, Verdict.APPROVAL, "r")
    asked = first.submission
    assert (asked.kind, asked.target, asked.args) == (Kind.LLM, "model", {"a": "no"})
    assert (asked.agent_id, asked.input) == ("clerk", {"request": "hi"})
    read, now = asked.history
    assert (read.kind, read.result, read.approved, read.status) == (Kind.TOOL, [1], True, StepStatus.SUCCEEDED)
    assert (now.kind, now.args, now.status) == (Kind.LOCAL, {"x": 1}, StepStatus.FAILED)
    assert (second.name, second.submission.agent_id, second.submission.args) == ("send (line 13)", "other", {})
    assert file.warnings == ()


@pytest.mark.parametrize(
    ("case", "message", "help"),
    [
        ("targt: x", "unknown key `targt`", "did you mean `target`?"),
        ("target: x, expect: alow", "`expect` is `alow`", "did you mean `allow`?"),
        ("target: x, expect: approval", "`expect` is `approval`", "did you mean `require_approval`?"),
        ("target: x, expect: true", "`expect` is a truth value", "one of deny, require_approval, allow"),
        ("target: x, kind: tol", "`kind` is `tol`", "did you mean `tool`?"),
        ("target: x, at: noon", "`at` is `noon`, which is no time", "write it like 2026-01-31T08:30:00Z"),
        ("name: x", "`target` is missing", "name the tool, the model or the local step"),
        ('target: ""', "`target` is empty", "name the tool, the model or the local step"),
        ("target: 5", "`target` is a number, not text", "put it in quotes"),
        ("target: x, history: {}", "`history` is a mapping, not a list", "begin each element with `-`"),
        ("target: x, history: [{target: y, result: 1, statsu: failed}]", "unknown key `statsu`", "`status`"),
        ("target: x, history: [{target: y, status: ok}]", "`status` is `ok`", "one of proposed"),
        ("target: x, history: [{target: y, approved: yes}]", "`approved` is neither true nor false", ""),
        ("target: x, history: [y]", "an earlier step is a mapping, this is text", "its keys: kind"),
    ],
)
def test_a_mistake_in_a_case_is_an_error_with_a_hint(case: str, message: str, help: str) -> None:
    """A case that says something else than its author meant must not run."""
    with pytest.raises(BundleError) as caught:
        _read(f"cases:\n  - {{{case}}}\n")
    found = {one.message: one for one in caught.value.diagnostics}[message]
    assert (found.span.line, found.path) == (2, "x.policytest.yaml")
    assert help in found.help


@pytest.mark.parametrize(
    ("case", "at"),
    [
        ("at: 2026-01-31T08:30:00Z", 1769848200.0),
        ("at: 2026-01-31t09:30:00.5+01:00", 1769848200.5),
        ("at: null", None),  # no clock for this case, whatever the file says
        ("name: x", 1769904000.0),  # the file's
    ],
)
def test_a_case_may_say_when_it_is_asked(case: str, at: float | None) -> None:
    """The time is a fact of the submission; without one there is no clock."""
    [one] = _read(f"at: 2026-02-01T00:00:00Z\ncases:\n  - {{target: x, {case}}}\n").cases
    assert one.submission.at == at
    assert one.submission.facts().now == at
    assert ("at" in one.submission.to_json()) == (at is not None)


@pytest.mark.parametrize(
    "at",
    [
        '""',
        "2026-01-31",
        "2026-01-31T08:30:00",  # where?
        "2026-01-31T08:30Z",
        "2026-02-30T08:30:00Z",
        "2026-01-31T25:30:00Z",
        "2026-W05-6T08:30:00Z",
        "٢٠26-01-31T08:30:00Z",
    ],
)
def test_a_time_that_can_be_misread_is_refused(at: str) -> None:
    """Only RFC 3339 is read."""
    with pytest.raises(BundleError, match="which is no time"):
        _read(f"cases:\n  - {{target: x, at: {at}}}\n")


def test_all_mistakes_of_a_file_are_reported() -> None:
    """Nobody has to fix a file one error at a time."""
    with pytest.raises(BundleError) as caught:
        _read("agnt: x\ncases:\n  - {target: a, expct: deny}\n  - {expect: deny}\n")
    assert [found.span.line for found in caught.value.diagnostics] == [1, 3, 4]


def test_a_case_that_asserts_nothing_is_a_warning() -> None:
    """It runs, and is pointed out."""
    [warning] = _read("cases:\n  - {name: idle, target: x}\n").warnings
    assert warning.message == "the case `idle` asserts nothing"


@pytest.mark.parametrize(
    ("text", "warned"), [("cases: []\n", 1), ("cases:\n", 1), ("cases: [{target: x, expect: deny}]\n", 0)]
)
def test_a_file_without_a_case_is_a_warning(text: str, warned: int) -> None:
    """Nothing is asserted, and the run would look like a success."""
    warnings = _read(text).warnings
    assert [warning.message for warning in warnings] == ["the file asserts nothing: `cases` is empty"] * warned


def test_results_count_where_a_step_succeeded_and_arguments_where_it_was_approved() -> None:
    """The history of a case is what the rules take it for."""
    report = _run(
        """\
cases:
  - target: send
    args: {to: DE1}
    history: [{target: list_payees, result: [{iban: DE1}]}]
    expect_rule: known
  - target: send
    args: {to: DE1}
    history: [{target: list_payees, result: [{iban: DE1}], status: failed}]
    expect_rule: ask
  - target: send
    args: {to: DE1}
    history: [{target: send, args: {to: DE1}, approved: true, status: failed}]
    expect_rule: known
  - target: send
    args: {to: DE1}
    history: [{target: send, args: {to: DE1}}]
    expect_rule: ask
"""
    )
    assert [result.failure for result in report.results] == [""] * 4


def test_a_failure_says_what_was_expected_and_explains_what_came() -> None:
    """Both the verdict and the rule are compared, and the trace is that of the same submission."""
    report = _run(
        """\
cases:
  - {target: send, args: {to: DE9}, expect: allow, expect_rule: known}
  - {target: get_x, expect: allow, expect_rule: free}
"""
    )
    wrong, right = report.results
    assert wrong.failure == "expected allow, got require_approval; expected rule `known`, `ask` decided"
    assert wrong.trace is not None
    assert wrong.trace.decision.rule_id == "ask"
    assert (right.passed, right.trace) == (True, None)
    assert report.failed == 1


def test_rules_that_decide_no_case_are_named() -> None:
    """In the order of the bundle, whether or not cases fail."""
    report = _run("cases:\n  - {target: send, args: {to: x}, expect: allow}\n  - {target: burn, expect: deny}\n")
    assert report.coverage.unexercised == ("free", "known")


def test_the_report_as_json_keeps_the_case_and_adds_the_answer() -> None:
    """The shape that the protocol names, with ours beside it."""
    data = _run("agent_id: a\ncases:\n  - {name: n, target: burn, args: {x: 1}, expect: allow}\n").to_json()
    assert data["failed"] == 1
    assert data["unexercised_rules"] == ["free", "known", "ask"]
    [result] = data["results"]
    assert result.pop("trace")["version"] == 1
    assert result == {
        "name": "n",
        "line": 3,
        "kind": "tool_call",
        "target": "burn",
        "args": {"x": 1},
        "agent_id": "a",
        "expect": "allow",
        "decision": "deny",
        "rule_id": "never",
        "reason": "no",
        "pass": False,
        "failure": "expected allow, got deny",
    }


def test_a_step_given_as_json_data_is_read_like_a_case() -> None:
    """With `agent` in the place of `agent_id`, and every mistake in one sentence."""
    step = read_submission({"target": "t", "kind": "local", "args": [1], "agent": "me"})
    assert (step.kind, step.args, step.agent_id) == (Kind.LOCAL, [1], "me")
    with pytest.raises(
        ValidationError, match=r"^line 7: unknown key `arg` \(did you mean `args`\?\); `target` is miss"
    ):
        read_submission({"arg": 1}, "line 7")


# ---------------------------------------------------------------- files


def _folder(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(BUNDLE if name.endswith(".rbp") else "cases: [{target: get_a, expect: allow}]\n")
    return tmp_path


def test_bundles_are_found_with_their_cases(tmp_path: Path) -> None:
    """Below a folder, hidden ones left out, each once however it is named."""
    _folder(tmp_path, "a.rbp", "a.policytest.yaml", "sub/b.rbp", "sub/c.policytest.yaml", ".hidden/d.rbp")
    a = BundleSuite(tmp_path / "a.rbp", tmp_path / "a.rbp", tmp_path / "a.policytest.yaml")
    b = BundleSuite(tmp_path / "sub/b.rbp", tmp_path / "sub/b.rbp", None)
    c = BundleSuite(tmp_path / "sub/c.rbp", None, tmp_path / "sub/c.policytest.yaml")
    assert find_bundles([tmp_path]) == [a, b, c]
    assert find_bundles([tmp_path / "a.policytest.yaml", tmp_path / "a.rbp", tmp_path / "sub" / ".." / "a.rbp"]) == [a]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty", "holds no `.rbp` or `.policytest.yaml` file"),
        ("nowhere", "does not exist"),
        ("notes.txt", "is neither a bundle (`.rbp`) nor a file of cases"),
    ],
)
def test_a_path_with_nothing_in_it_is_refused(tmp_path: Path, name: str, said: str) -> None:
    """A green run over nothing would be a lie."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ValidationError) as caught:
        find_bundles([tmp_path / name])
    assert said in str(caught.value)


def test_cases_without_a_bundle_are_an_error(tmp_path: Path) -> None:
    """They would test nothing."""
    [suite] = find_bundles([_folder(tmp_path, "a.policytest.yaml")])
    checked = check_suite(suite)
    assert not checked.sound
    assert "there is no bundle `a.rbp` beside these cases" in checked.diagnostics[-1].message


def test_errors_in_either_file_are_found_together_and_nothing_is_run(tmp_path: Path) -> None:
    """A bundle with errors gives no policy to ask."""
    folder = _folder(tmp_path, "a.rbp", "a.policytest.yaml")
    (folder / "a.rbp").write_text('bundle a\ndefault deny\nrule r { alow tool "x" }\n')
    (folder / "a.policytest.yaml").write_text("cases:\n  - {target: x, expct: deny}\n")
    [tested] = run_suites(find_bundles([folder]))
    assert {found.path for found in tested.checked.diagnostics} == {
        str(folder / "a.rbp"),
        str(folder / "a.policytest.yaml"),
    }
    assert tested.report is None
    assert tested.to_json()["results"] == []


def test_only_the_cases_with_a_name_are_run(tmp_path: Path) -> None:
    """A name that no case has is a mistake, not a success."""
    folder = _folder(tmp_path, "a.rbp", "a.policytest.yaml")
    [tested] = run_suites(find_bundles([folder]), "get_a")
    assert tested.report is not None
    assert len(tested.report.results) == 1
    with pytest.raises(ValidationError, match="no case has `zebra` in its name"):
        run_suites(find_bundles([folder]), "zebra")
