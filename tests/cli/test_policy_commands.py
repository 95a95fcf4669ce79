"""`rebuno policy check`, `test` and `explain`: what they print, for people and for programs."""

import json
from pathlib import Path

import pytest

from tests.cli.support import CASES, payments, rebuno

TEN_MISTAKES = """\
bundle ten
default denny
let hosts = ["a", 1, true
known k = inpt
rule one { alow tool "x" }
rule two { allow tol "x" }
rule three { allow tool "x" when args.a === 1 }
rule four { deny tool "x" when every args.a under }
rule five { allow tool "x" when lenght of args.a > 1 }
rule six { allow tool "x" when args.a in nothing }
rule six { allow tool "y" when args.a == null }
rule seven { deny tool "x" quorum 2 }
rule eight { allow tool "x" when args.a matches "(" }
"""


def test_every_mistake_is_reported_with_its_line_and_a_mark(tmp_path: Path) -> None:
    """Ten and more in one go: file, line, column, a sentence, the line itself, a caret under the place."""
    (tmp_path / "ten.rbp").write_text(TEN_MISTAKES)
    ran = rebuno("policy", "check", "ten.rbp", within=tmp_path)
    assert ran.code == 2
    lines = ran.out.splitlines()
    heads = [line for line in lines if line.startswith("ten.rbp:")]
    assert sum(" error[" in head for head in heads) >= 10
    source = TEN_MISTAKES.splitlines()
    for number, head in enumerate(lines):
        if head in heads:
            line, column = map(int, head.split(":")[1:3])
            shown, mark = lines[number + 1 : number + 3]
            assert shown == f"{line:>5} | {source[line - 1]}"
            assert mark.index("^") == len("      | ") + column - 1
    errors = sum(" error[" in head for head in heads)
    assert lines[-1] == f"{errors} errors, {len(heads) - errors} warning in 1 file"


def test_findings_as_json(tmp_path: Path) -> None:
    """Counts, and every finding with its place."""
    (tmp_path / "ten.rbp").write_text(TEN_MISTAKES)
    ran = rebuno("policy", "check", "ten.rbp", "--json", within=tmp_path)
    data = json.loads(ran.out)
    assert (ran.code, data["files"]) == (2, 1)
    assert data["errors"] >= 10
    assert data["errors"] + data["warnings"] == len(data["diagnostics"])
    first = data["diagnostics"][0]
    assert (first["path"], first["line"], first["severity"]) == ("ten.rbp", 2, "error")
    assert list(first) == [
        "path",
        "line",
        "column",
        "end_line",
        "end_column",
        "severity",
        "code",
        "message",
        "help",
        "related",
    ]


def test_accepted_warnings_are_listed_and_never_fail(tmp_path: Path) -> None:
    """Each with its reason, in every form of the report."""
    rule = '# accept any-in-allow: one is enough\nrule r {\n  allow tool "t"\n  when any args.to[] == "x"\n}\n'
    (tmp_path / "a.rbp").write_text(f"bundle a\ndefault deny\n\n{rule}")
    ran = rebuno("policy", "check", "a.rbp", "--strict", within=tmp_path)
    assert ran.code == 0
    assert "accepted[any-in-allow]: one is enough: " in ran.out
    assert ran.out.splitlines()[-1] == "0 errors, 0 warnings, 1 accepted in 1 file"
    data = json.loads(rebuno("policy", "check", "a.rbp", "--json", within=tmp_path).out)
    assert (data["warnings"], data["accepted"], data["diagnostics"][0]["accepted"]) == (0, 1, "one is enough")
    sarif = json.loads(rebuno("policy", "check", "a.rbp", "--format", "sarif", within=tmp_path).out)
    (result,) = sarif["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "one is enough"}]
    assert rebuno("policy", "check", "a.rbp", "--format", "github", within=tmp_path).out.startswith("::notice ")


def test_warnings_alone_are_no_failure(tmp_path: Path) -> None:
    """They are shown and counted."""
    (tmp_path / "a.rbp").write_text('bundle a\ndefault deny\nrule r { deny tool "x" }\n')
    ran = rebuno("policy", "check", ".", within=tmp_path)
    assert ran.code == 0
    assert "a.rbp:3:6: warning[no-because]" in ran.out
    assert ran.out.endswith("0 errors, 1 warning in 1 file\n")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('let x = "' + "a" * 300 + '" oops', "…"),  # a long line is cut around the place
        ('let x = "日本" oops', '"日本" oops'),  # a character takes two columns
        ("let x = \u202e1", "let x = \\u202e1"),  # what turns the reading direction is written out
    ],
)
def test_the_mark_stands_under_the_place(tmp_path: Path, line: str, shown: str) -> None:
    """Whatever the line holds, and however long it is."""
    (tmp_path / "a.rbp").write_text(f"bundle a\ndefault deny\n{line}\n", encoding="utf-8")
    for columns in (None, 40):
        out = rebuno("policy", "check", "a.rbp", within=tmp_path, columns=columns).out
        [source] = [text for text in out.splitlines() if text.startswith("    3 | ")]
        mark = out.splitlines()[out.splitlines().index(source) + 1]
        wide = sum(char in "日本" for char in source)
        assert "^" in mark
        assert len(mark) <= len(source) + wide
        assert columns is None or len(source) + wide <= columns
        assert shown in source or columns is not None


def test_a_failing_case_is_explained_and_unexercised_rules_are_named(tmp_path: Path) -> None:
    """Expected, got, the deciding rule with its line, and the test that the expected rule failed on."""
    payments(tmp_path)
    ran = rebuno("policy", "test", ".", within=tmp_path)
    assert ran.code == 1
    assert "FAIL too much (line 9): expected allow, got require_approval" in ran.out
    assert "pay.rbp:18: rule ask {" in ran.out
    assert "args.amount <= 2500" in ran.out
    assert "no case reaches: no-shell" in ran.out
    assert ran.out.endswith("3 cases, 1 failed\n")


def test_bundles_without_cases_are_listed_as_untested(tmp_path: Path) -> None:
    """They are checked all the same."""
    payments(tmp_path, CASES.replace("9000", "9"))
    (tmp_path / "other.rbp").write_text("bundle other\ndefault deny\n")
    ran = rebuno("policy", "test", ".", within=tmp_path)
    assert ran.code == 0
    assert "other.rbp\n  untested" in ran.out
    assert ran.out.endswith("3 cases, 0 failed, 1 bundle untested\n")


def test_the_report_as_json(tmp_path: Path) -> None:
    """A bundle an entry, a trace for each failure only."""
    payments(tmp_path)
    data = json.loads(rebuno("policy", "test", ".", "--json", within=tmp_path).out)
    [bundle] = data["bundles"]
    assert (bundle["bundle"], bundle["cases"]) == ("pay.rbp", "pay.policytest.yaml")
    assert (bundle["failed"], bundle["unexercised_rules"], bundle["diagnostics"]) == (1, ["no-shell"], [])
    assert ["trace" in result for result in bundle["results"]] == [False, False, True]


def test_one_case_by_name(tmp_path: Path) -> None:
    """Rules that other cases reach are not called unexercised then."""
    payments(tmp_path)
    ran = rebuno("policy", "test", ".", "--case", "reads", within=tmp_path)
    assert ran.out.endswith("1 case, 0 failed\n")
    assert "no case reaches" not in ran.out


# ---------------------------------------------------------------- explain


@pytest.mark.parametrize(
    ("at", "code"),
    [
        ("2026-01-30T10:00:00Z", 0),  # a Friday
        ("2026-01-31T10:00:00Z", 1),  # a Saturday
        ("", 1),  # no clock, and an allow rule takes no maybe
        ("noon", 2),
    ],
)
def test_a_step_is_explained_at_a_time(at: str, code: int, tmp_path: Path) -> None:
    """Rules about the time can be asked without waiting for it."""
    rule = 'rule r {\n  allow tool "t"\n  when during "Mon-Fri 09:00-17:00 UTC"\n}\n'
    (tmp_path / "a.rbp").write_text(rule)
    clock = ("--at", at) if at else ()
    ran = rebuno("policy", "explain", "a.rbp", "--target", "t", "--expect", "allow", *clock, within=tmp_path)
    assert ran.code == code, ran.out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ('{"amount": "9"}', "r (line 3, deny tool `t`): fired on maybe, because of `args.amount > 5`"),
        ('{"amount": 9}', "r (line 3, deny tool `t`): decided, its conditions came to yes"),
        ('{"amount": 1}', "r (line 3, deny tool `t`): no match, its conditions came to no"),
    ],
)
def test_a_rule_that_fired_on_doubt_says_so(args: str, words: str, tmp_path: Path) -> None:
    """With the test that was maybe."""
    rule = 'rule r {\n  deny tool "t"\n  when args.x missing and args.amount > 5\n}\n'
    (tmp_path / "a.rbp").write_text("bundle a\ndefault allow\n" + rule)
    ran = rebuno("policy", "explain", "a.rbp", "--target", "t", "--args", args, within=tmp_path)
    assert words.replace("`t`", '"t"') in ran.out


def test_one_step_is_explained_as_json(tmp_path: Path) -> None:
    """The trace in its documented form, with the step that was asked about."""
    payments(tmp_path)
    ran = rebuno(
        "policy",
        "explain",
        "pay.rbp",
        "--target=send_money",
        '--args={"to": "DE1", "amount": 5}',
        '--input={"request": "pay DE1"}',
        "--agent=banker",
        "--json",
        within=tmp_path,
    )
    data = json.loads(ran.out)
    assert (data["version"], data["decision"], data["rule"], data["line"]) == (1, "allow", "known-payee", 12)
    assert data["submission"] == {
        "kind": "tool_call",
        "target": "send_money",
        "args": {"to": "DE1", "amount": 5},
        "agent_id": "banker",
        "input": {"request": "pay DE1"},
    }


def test_steps_are_read_from_standard_input(tmp_path: Path) -> None:
    """A JSON object a line gives a trace a line; empty lines are passed over; history counts."""
    payments(tmp_path)
    lines = [
        {"target": "get_x"},
        {"target": "send_money", "args": {"to": "A", "amount": 1}, "input": "to A"},
        {
            "target": "send_money",
            "args": {"to": "B", "amount": 1},
            "history": [{"target": "list_payees", "result": [{"iban": "B"}]}],
        },
        {"kind": "local", "target": "now"},
        {"kind": "llm", "target": "now", "agent": "me"},
    ]
    stdin = b"\n\n".join(json.dumps(line).encode() for line in lines)
    ran = rebuno("policy", "explain", "pay.rbp", "--json", within=tmp_path, stdin=stdin)
    traces = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 0
    assert [trace["rule"] for trace in traces] == ["reads", "known-payee", "known-payee", "local", "default"]
    ran = rebuno("policy", "explain", "pay.rbp", "--expect", "allow", within=tmp_path, stdin=stdin)
    assert ran.code == 1
    assert ran.out.count(" by ") >= len(lines)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "line 2: not JSON"),
        (b'{"target": "a", "target": "b"}', "line 2: the key `target` is repeated"),
        (b'{"target": "a", "args": NaN}', "line 2: `NaN` is not JSON"),
        (b'{"target": "\xff"}', "line 2: not UTF-8"),
        (b'{"targt": "a"}', "line 2: unknown key `targt` (did you mean `target`?)"),
        (b'{"target": "a", "kind": "tol"}', "line 2: `kind` is `tol` (did you mean `tool`?)"),
        (b"[]", "line 2: a step is a mapping, this is a list"),
        (b"[" * 5000, "line 2: JSON nested more than 128"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_line_that_is_no_step_gives_no_verdict(tmp_path: Path, line: bytes, said: str) -> None:
    """Not even for the lines before it; one sentence names the line."""
    payments(tmp_path)
    ran = rebuno("policy", "explain", "pay.rbp", within=tmp_path, stdin=b'{"target": "get_x"}\n' + line)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {said}")
    assert ran.err.count("\n") == 1


def test_arguments_come_from_a_file_or_standard_input_too(tmp_path: Path) -> None:
    """`@FILE` and `-`."""
    payments(tmp_path)
    (tmp_path / "args.json").write_text('{"to": "A", "amount": 1}')
    asked = ("policy", "explain", "pay.rbp", "--target", "send_money", "--input", '"A"', "--expect", "allow")
    assert rebuno(*asked, "--args", "@args.json", within=tmp_path).code == 0
    assert rebuno(*asked, "--args", "-", within=tmp_path, stdin=b'{"to": "A", "amount": 1}').code == 0


def test_rules_about_other_steps_are_summed_up_unless_asked_for(tmp_path: Path) -> None:
    """A bundle of a hundred rules still fits on a screen."""
    rules = "".join(f'rule r{number} {{ allow tool "t{number}" }}\n' for number in range(100))
    (tmp_path / "a.rbp").write_text(f"bundle a\ndefault deny\n{rules}")
    asked = ("policy", "explain", "a.rbp", "--target", "t50")
    short = rebuno(*asked, within=tmp_path).out
    assert "50 rules about other steps (lines 3 to 52)" in short
    assert "49 rules not reached (lines 54 to 102)" in short
    assert len(short.splitlines()) < 15
    assert len(rebuno(*asked, "--all", within=tmp_path).out.splitlines()) > 100


def test_a_thousand_steps_take_little_time(tmp_path: Path) -> None:
    """Nothing is run, recorded or looked up while they are judged."""
    payments(tmp_path)
    stdin = b'{"target": "send_money", "args": {"to": "A", "amount": 1}}\n' * 1000
    before = sorted(tmp_path.iterdir())
    ran = rebuno("policy", "explain", "pay.rbp", "--json", within=tmp_path, stdin=stdin)
    assert len(ran.out.splitlines()) == 1000
    assert sorted(tmp_path.iterdir()) == before


def test_a_step_is_explained_in_a_folder(tmp_path: Path) -> None:
    """`--workdir` is the folder of the session; a step on standard input has it as a key."""
    (tmp_path / "w.rbp").write_text('default deny\nworkdir session\nrule w { allow tool "w" when args.p under "." }\n')
    step = ("policy", "explain", "w.rbp", "--target", "w", "--args", '{"p": "/work/app/a"}')
    for more, code in (("/work/app", 0), ("/work/b", 1), ("/", 1)):
        assert rebuno(*step, "--workdir", more, "--expect", "allow", within=tmp_path).code == code
    assert rebuno(*step, "--expect", "allow", within=tmp_path).code == 1
    refused = rebuno(*step, "--workdir", "work", within=tmp_path)
    assert (refused.code, "no absolute path" in refused.err) == (2, True)
    (tmp_path / "w.policytest.yaml").write_text(
        'cases:\n  - target: w\n    args: {"p": "/work/app/a"}\n    workdir: /work/app\n    expect: allow\n'
        '  - target: w\n    args: {"p": "/work/app/a"}\n    expect: deny\n'
    )
    assert rebuno("policy", "test", "w.rbp", within=tmp_path).code == 0
