"""The kernel against a plain model of what it promises: whatever is submitted, answered, changed or killed."""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from rebuno.kernel.core import attempt
from tests.kernel.model_machine import Machine
from tests.kernel.support import Opener

# How many random lives of executions are tried on each store, and how long each of them is.
LIVES = int(os.environ.get("REBUNO_TEST_LIVES", "25"))
LENGTH = int(os.environ.get("REBUNO_TEST_LENGTH", "30"))


def test_the_kernel_does_what_the_model_says(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer, every row and every log is the one that the decision table demands, on each store."""
    # A life that is lived twice must not depend on what the clock has let be written meanwhile.
    monkeypatch.setattr(attempt, "HOLD", 3600.0)

    class OnThisStore(Machine):
        def __init__(self) -> None:
            super().__init__(opener)

    run_state_machine_as_test(
        OnThisStore,
        settings=settings(
            max_examples=LIVES,
            stateful_step_count=LENGTH,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
