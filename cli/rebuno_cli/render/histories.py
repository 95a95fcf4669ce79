"""Shows the content of a file with one execution."""

from rebuno.kernel import Recording
from rebuno_cli.render.show import show


def summary(recording: Recording, file: str, *, as_json: bool) -> None:
    """Says which execution was written or read, how much there is of it, and its newest hash."""
    execution = recording.execution
    head = execution.head_hash.hex()
    data = {
        "execution_id": execution.id,
        "status": execution.status.value,
        "file": file,
        "events": len(recording.events),
        "steps": len(recording.steps),
        "head": head,
    }
    counts = f"{len(recording.events)} events, {len(recording.steps)} steps"
    said = [f"execution {execution.id}, {execution.status.value}: {counts}", f"head {head}"]
    show(as_json, lambda: data, lambda: said)
