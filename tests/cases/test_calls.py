"""Every call of the cases gets a verdict that will do, under a bundle written the way the pages recommend."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import BundleError, NotJSON, ValidationError
from rebuno.policy import Facts, check_bundle, compile_text, explain_decision, link_bundle, read_source
from rebuno.sdk.context import required
from rebuno.testing import memory_kernel
from tests.cases.playing import BUNDLES, HERE, Call, layered, more, policy, published, verdict
from tests.embedded.support import in_loop

# Refused by `check`, because their second rule can never decide.
REFUSED = {"P27 f2": ("everything", "no-rm"), "P27 f3": ("git", "status")}
PUBLISHED = [call for call in published() if call.policy in BUNDLES]
MORE = list(more())


@pytest.mark.parametrize("call", [call for call in PUBLISHED if call.policy not in REFUSED], ids=str)
def test_a_published_call_is_judged_as_it_should_be(call: Call) -> None:
    """Both evaluators give a verdict that the case accepts."""
    assert verdict(policy(call.policy), call) in call.accepted


@pytest.mark.parametrize("call", MORE, ids=str)
def test_a_call_of_the_same_kind_is_judged_as_it_should_be(call: Call) -> None:
    """What was published is one example of a kind; other examples are judged alike."""
    assert verdict(policy(call.policy), call) in call.accepted


def test_every_policy_case_is_played() -> None:
    """No call falls out: those of P28 are about a person's standing grant, which no policy holds."""
    numbers = Counter(call.case for call in published())
    assert sorted(numbers) == sorted({key.split()[0] for key in BUNDLES if key.startswith("P")})
    assert len(PUBLISHED) == sum(numbers.values()) == 182
    assert min(Counter(call.case for call in MORE).values()) >= 3
    assert len(MORE) >= 700


@pytest.mark.parametrize(("key", "rules"), REFUSED.items(), ids=list(REFUSED))
def test_a_rule_that_can_never_decide_is_refused(key: str, rules: tuple[str, str]) -> None:
    """The refusal names the rule that hides and the one that is hidden."""
    with pytest.raises(BundleError) as caught:
        policy(key)
    (found,) = caught.value.diagnostics
    assert all(f"`{rule}`" in str(found) for rule in rules)


@pytest.mark.parametrize("path", sorted((HERE / "bundles").glob("*.rbp")), ids=lambda path: path.stem)
def test_bundles_are_free_of_errors(path: Path) -> None:
    """A bundle that is not meant to be refused has no error."""
    bundle, found = link_bundle(read_source(path))
    errors = [d for d in (*found, *check_bundle(bundle)) if d.severity == "error"]
    assert bool(errors) == (path.stem in {"rm-last", "git-asked-first"})


def test_the_order_of_layers_is_all_one() -> None:
    """Two halves of a policy decide alike whichever stands first."""
    for call in [call for call in (*PUBLISHED, *MORE) if call.policy == "P27 f5"]:
        halves = BUNDLES["P27 f5"]
        assert verdict(layered(*halves), call) == verdict(layered(*reversed(halves)), call)


def test_the_trace_names_the_deciding_rule_and_those_that_did_not_decide() -> None:
    """Rules behind the deciding one are listed, as not reached."""
    trace = explain_decision(layered("git-asked-last"), Facts("tool_call", "shell", {"command": "git status"}))
    assert trace.decision.rule_id == "status"
    assert [rule.rule_id for rule in trace.rules] == ["status", "git"]


def test_a_trace_of_a_path_says_that_links_are_not_followed() -> None:
    """Who reads a trace is told what the rule did not see."""
    trace = explain_decision(layered("below-out"), Facts("tool_call", "write_file", {"path": "/proj/out/../x"}))
    assert "symbolic links" in str(trace.to_json())


def test_a_deny_over_shell_text_is_called_a_tripwire() -> None:
    """The pages say that no list of wrappers is complete, and that an allow list is the guard."""
    text = (HERE.parents[1] / "docs" / "recipes.md").read_text(encoding="utf-8")
    assert "tripwire" in text
    assert "complete" in text


@in_loop
async def test_what_is_no_step_is_refused_before_any_rule() -> None:
    """An empty name, one that is no Unicode, arguments that no JSON text can hold: the kernel refuses them all."""
    cyclic: dict[str, Any] = {}
    cyclic["a"] = cyclic
    refused = []

    async def handler() -> None:
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("", {}),
            ("a\ud800", {}),
            ("a", {"x": "\ud800"}),
            ("a", cyclic),
            ("a", {"x": float("nan")}),
        ]
        for target, args in wrong:
            try:
                await required("x").invoke("tool_call", target, args, lambda: None, idempotency="safe_to_retry")
            except (NotJSON, ValidationError) as error:
                refused.append(str(error))

    async with memory_kernel(compile_text("default allow")) as kernel:
        assert (await kernel.run(handler)).status == "completed"
    assert len(refused) == 5
