"""Public models as the wire has them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from rebuno import types
from rebuno.model import identity
from rebuno.server.wire.writing import model

ODD = ("plain", "", "<&>", 'a "quote"', "back\\slash", "line\nfeed", "é 😀", "\u2028", "\0", "x" * 300, "a'b")


@pytest.mark.parametrize("text", ODD)
def test_a_text_is_written_as_canonical_json_has_it(text: str) -> None:
    """Whatever is in it, the quick way and the other give one text."""
    said = model(types.Delta(step_id=text, seq=0, data=text))
    assert said == f'{{"step_id":{identity.canonical(text)},"seq":0,"data":{identity.canonical(text)}}}'


def test_what_is_not_there_is_said_as_the_protocol_says_it() -> None:
    """Empty, null, or left out; and what only a store knows is never sent."""
    said = json.loads(model(types.Execution(id="e", attempt=3, digest="d", approvals=[types.Approval(id="a")])))
    assert (said["session"], said["forked_from"], said["deadline_at"], said["output"]) == ("", None, None, None)
    assert not {"attempt", "digest", "approvals", "replayed"} & said.keys()
    assert not {"timeout_at", "decided_at", "cause"} & json.loads(model(types.Approval(id="a"))).keys()
    assert json.loads(model(types.Agent(id="a", lease_timeout_seconds=60.0)))["lease_timeout_seconds"] == 60


def test_a_recorded_text_is_sent_as_it_is_and_read_when_somebody_looks() -> None:
    """A number that no float holds survives; what a reader gets is a value."""
    text = types.RawJson('{"big":123456789012345678901234567890,"real":1.0}')
    step = types.Step(step_id="s", args=text, started_at=1700000000.25)
    assert text in model(step)
    assert step.args == {"big": 123456789012345678901234567890, "real": 1.0}
    assert step.started_at == datetime.fromtimestamp(1700000000.25, UTC)
    assert model(step) == model(types.Step(step_id="s", args=text, started_at=step.started_at))


@pytest.mark.parametrize(
    "said", [{}, {"id": 1}, {"id": "x", "created_at": "yesterday"}, {"id": "x", "status": "odd"}, []]
)
def test_what_is_no_execution_is_refused(said: Any) -> None:
    """By an error of pydantic, which the client turns into its own."""
    with pytest.raises(ValueError, match="Execution"):
        types.Execution.model_validate(said)
