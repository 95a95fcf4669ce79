"""What everybody who takes a shipped bundle may rely on: it is tested, it warns of nothing, and it can be opened."""

from pathlib import Path

import pytest

from rebuno.policy.compile import compile_bundle
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import read_source
from rebuno.policy.syntax.tree import Because, Rule
from rebuno.policy.testing import runner
from rebuno.policy.testing.discovery import find_bundles

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "policies"
# A file without rules is for other bundles to use.
BUNDLES = sorted(path for path in FOLDER.rglob("*.rbp") if "\nrule " in path.read_text("utf-8"))
# A layer stands above another bundle, which allows; itself it only asks and denies.
LAYERS = sorted((FOLDER / "coding").glob("*.rbp"))
STARTERS = sorted(path.stem for path in FOLDER.glob("*.rbp"))


def called(path: Path) -> str:
    """A bundle's name for test ids."""
    return str(path.relative_to(FOLDER).with_suffix(""))


@pytest.fixture(scope="module")
def tested() -> dict[str, runner.SuiteResult]:
    """Every shipped bundle with how its cases came out."""
    return {called(Path(one.checked.path)): one for one in runner.run_suites(find_bundles([FOLDER]))}


def test_there_is_a_bundle_for_each_kind_of_agent() -> None:
    """The starters and the suites of two benchmarks."""
    assert STARTERS == ["browsing", "coding", "database", "mail", "payments", "research", "retail"]
    assert sorted(path.stem for path in (FOLDER / "agentdojo").glob("*.rbp")) == [
        "banking",
        "slack",
        "travel",
        "workspace",
    ]
    assert sorted(path.stem for path in (FOLDER / "agentdyn").glob("*.rbp")) == [
        "dailylife",
        "github",
        "people",
        "shopping",
    ]


@pytest.mark.parametrize("path", BUNDLES, ids=called)
def test_nothing_is_found_in_a_shipped_bundle(path: Path, tested: dict[str, runner.SuiteResult]) -> None:
    """Neither an error nor a warning that no comment accepts, in the bundle, what it uses, or its cases."""
    assert [found for found in tested[called(path)].checked.diagnostics if not found.accepted] == []


@pytest.mark.parametrize("path", BUNDLES, ids=called)
def test_the_cases_pass_and_try_nearly_everything(path: Path, tested: dict[str, runner.SuiteResult]) -> None:
    """Every case says which rule decides and comes out so; hardly a rule or an answer is left untried."""
    one = tested[called(path)]
    assert one.report is not None
    assert one.report.failed == 0
    assert [result.case.name for result in one.report.results if not result.case.expect_rule] == []
    assert one.covered >= 95


@pytest.mark.parametrize("path", BUNDLES, ids=called)
def test_every_rule_says_why(path: Path) -> None:
    """The reason is what the agent, the person who is asked and the journal get to read."""
    bundle, _ = parse_bundle(read_source(path))
    rules = [statement for statement in bundle.statements if isinstance(statement, Rule)]
    silent = [rule.id.text for rule in rules if not any(isinstance(clause, Because) for clause in rule.clauses)]
    assert (len(rules) > 0, silent) == (True, [])


# What none of the shipped bundles may let through, whatever it is for.
HOSTILE = [
    # No rule is about it, and the default says no.
    ("tool_call", "a_tool_that_nobody_knows", {}),
    # A name with a blank behind, in capitals or with a Cyrillic letter is another tool.
    ("tool_call", "send_money ", {"recipient": "x", "amount": 1}),
    ("tool_call", "Send_mail", {"to": "x"}),
    ("tool_call", "get_bаlance", {}),
    # Arguments that are none of what the rules ask for.
    ("tool_call", "shell", None),
    ("tool_call", "fetch", []),
    ("tool_call", "query", "select 1 from orders"),
    ("tool_call", "send_email", 5),
    ("tool_call", "pay", {"to": {"account": "x"}, "amount": [1], "currency": ["EUR"]}),
    # Models are for a bundle of one's own to allow.
    ("llm_call", "some-model", {}),
]


@pytest.mark.parametrize(("kind", "target", "args"), HOSTILE)
@pytest.mark.parametrize("path", [path for path in BUNDLES if path not in LAYERS], ids=called)
def test_what_is_out_of_place_is_never_allowed(path: Path, kind: str, target: str, args: object) -> None:
    """Unknown tools, look-alike names and arguments of the wrong shape."""
    decision = compile_bundle(read_source(path)).decide(Facts(kind, target, args, agent="a", input=None))
    assert decision.verdict.value != "allow"


def test_the_page_on_policies_names_every_starter() -> None:
    """A reader who looks for a bundle finds it, and what it does not stop."""
    page = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert [name for name in STARTERS if f"## `{name}.rbp`" not in page] == []
