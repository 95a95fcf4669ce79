"""The layers of the coding bundle: they stop what tools run on their own, and nothing of a day's work."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from benchmarks.coding import BUNDLE, CORPUS, decide, read_corpus
from rebuno.policy import compile_policy, read_source

LAYERS: Final = sorted(BUNDLE.parent.glob("coding/*.rbp"))
# The everyday calls that a layer may ask about, of 101.
MOST_ASKED: Final = 4
STRICT: Final[Mapping[str, int]] = {"allow": 0, "ask": 1, "deny": 2}
CALLS: Final = read_corpus(CORPUS)


def called(path: Path) -> str:
    """A layer's name for test ids."""
    return path.stem


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    """What the bundle without a layer answers, by the id of the call."""
    policy = compile_policy([read_source(BUNDLE)])
    return {call.id: decide(policy, call)[0] for call in CALLS}


def test_there_is_a_layer_for_each_language() -> None:
    """Each is short enough to be read in one go, and has its cases beside it."""
    assert [path.stem for path in LAYERS] == ["go", "javascript", "python", "rust"]
    assert [path.stem for path in LAYERS if len(path.read_text("utf-8").splitlines()) >= 60] == []
    assert [path.stem for path in LAYERS if not path.with_suffix(".policytest.yaml").exists()] == []


@pytest.mark.parametrize("path", LAYERS, ids=called)
def test_a_layer_leaves_a_day_alone_and_weakens_nothing(path: Path, alone: Mapping[str, str]) -> None:
    """Above the bundle hardly an everyday call is asked about, and no call of any kind gets a milder answer."""
    policy = compile_policy([read_source(path), read_source(BUNDLE)])
    answers = {call.id: decide(policy, call)[0] for call in CALLS}
    asked = [call.id for call in CALLS if call.kind == "everyday" and answers[call.id] != "allow"]
    assert len(asked) <= MOST_ASKED, asked
    assert [call.id for call in CALLS if STRICT[answers[call.id]] < STRICT[alone[call.id]]] == []


def test_all_layers_together_leave_a_day_alone() -> None:
    """A repository of several languages may have all four."""
    policy = compile_policy([read_source(path) for path in (*LAYERS, BUNDLE)])
    asked = [call.id for call in CALLS if call.kind == "everyday" and decide(policy, call)[0] != "allow"]
    assert len(asked) <= MOST_ASKED, asked
    assert [call.id for call in CALLS if call.kind == "consent" and decide(policy, call)[0] == "allow"] == []
