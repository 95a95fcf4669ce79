"""The handler's view of the execution that it runs in."""

from rebuno.sdk.context import ExecutionContext, required


def execution() -> ExecutionContext:
    """The running execution: its `id`, `agent_id` and `input`.

    Raises:
        RuntimeError: outside an execution.
    """
    return required("execution()")
