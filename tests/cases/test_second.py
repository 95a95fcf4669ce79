"""Blocks of rules of the second edition say what stands beside them (`second.yaml`)."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import rebuno
from rebuno.policy import compile_policy, compile_text, explain_decision, read_source, read_submission
from rebuno.testing import memory_kernel
from tests.cases.playing import HERE
from tests.embedded.support import in_loop

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


@pytest.mark.parametrize(("query", "bought"), [("lamps", "bought"), ("desks", None)])
@in_loop
async def test_what_a_person_let_in_makes_nothing_known(query: str, bought: str | None) -> None:
    """The block on who let it in, in a run: a person grants a harmless search, and buying what it found asks again."""
    (block,) = (case for case in CASES if case["id"] == "who let it in")
    search = rebuno.tool("search")(lambda query: [{"id": "I1"}])
    show_basket = rebuno.tool("show_basket")(lambda: "shown")
    buy = rebuno.tool("buy", idempotency="at_most_once")(lambda id: "bought")

    async def handler(request: str) -> str:
        await search(query=query)
        await show_basket()
        return str(await buy(id="I1"))

    async with memory_kernel(compile_text(block["bundle"])) as kernel:
        asked: list[str] = []
        for _ in range(3):
            ended = await kernel.run(handler, {"request": "find lamps"}, id="run")
            if ended.status == "completed":
                break
            (question,) = ended.approvals
            asked.append(question.target)
            await kernel.operator.grant(question.id, decided_by="ana")
        assert asked == (["show_basket"] if bought else ["search", "show_basket", "buy"])
        assert ended.output == bought
