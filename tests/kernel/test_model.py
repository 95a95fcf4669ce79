"""The kernel against a plain model of what it promises: whatever is submitted, answered, changed or killed."""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.kernel.model_machine import Machine
from tests.kernel.support import Opener

# How many random lives of executions are tried on each store, and how long each of them is.
LIVES = int(os.environ.get("REBUNO_TEST_LIVES", "25"))
LENGTH = int(os.environ.get("REBUNO_TEST_LENGTH", "30"))


def test_the_kernel_does_what_the_model_says(opener: Opener) -> None:
    """Every answer, every row and every log is the one that the decision table demands, on each store."""

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
