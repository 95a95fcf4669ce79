"""Blocks of rules of the second edition say what stands beside them (`second.yaml`)."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from rebuno.policy import compile_policy, explain_decision, read_source, read_submission
from tests.cases.playing import HERE

CASES: Final = yaml.safe_load((HERE / "second.yaml").read_text(encoding="utf-8"))["cases"]
# What a step says beside its submission.
EXPECTED: Final = ("rule", "verdict")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_a_block_says_what_stands_beside_it(case: dict[str, Any], tmp_path: Path) -> None:
    """Every step by the named rule or with the named verdict, and by the same one in `explain`."""
    for name, text in case.get("files", {}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / case.get("file", "bundle.rbp")
    path.write_text(case["bundle"], encoding="utf-8")
    policy = compile_policy([read_source(path)])
    shared = {key: case[key] for key in ("input", "history", "at") if key in case}
    for name, step in case["steps"].items():
        given = {key: value for key, value in {**shared, **step}.items() if key not in EXPECTED and value is not None}
        submission = read_submission(given)
        decision = policy.decide(submission.facts())
        said = {"rule": decision.rule_id, "verdict": decision.verdict.value}
        assert {key: said[key] for key in EXPECTED if key in step} == {
            key: step[key] for key in EXPECTED if key in step
        }, name
        assert explain_decision(policy, submission.facts()).decision.rule_id == decision.rule_id, name
