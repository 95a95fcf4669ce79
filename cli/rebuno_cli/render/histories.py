"""Shows the content of a file with one execution."""

from rebuno.kernel.history.archive import Recording
from rebuno_cli.render.output import write_json, write_text


def summary(recording: Recording, file: str, *, as_json: bool) -> None:
    """Says which execution was written or read, how much there is of it, and its newest hash."""
    execution = recording.execution
    head = execution.head_hash.hex()
    if as_json:
        data = {
            "execution_id": execution.id,
            "status": execution.status.value,
            "file": file,
            "events": len(recording.events),
            "steps": len(recording.steps),
            "head": head,
        }
        write_json(data)
        return
    counts = f"{len(recording.events)} events, {len(recording.steps)} steps"
    write_text(f"execution {execution.id}, {execution.status.value}: {counts}")
    write_text(f"head {head}")
