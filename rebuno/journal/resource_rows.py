"""Resources and checkpoints to rows and back; the columns stand in the order of the records' fields.

What comes from a row raises a `ValueError`, `TypeError` or `OverflowError` where the store was damaged.
"""

from dataclasses import asdict, replace
from typing import Any

from rebuno.errors import ValidationError
from rebuno.journal.json_lists import names_from, names_text
from rebuno.journal.resource_records import CheckpointRow, ResourceChanges, ResourceRow
from rebuno.journal.rows import Row
from rebuno.model import identity


def resource(row: Row) -> ResourceRow:
    """A row of the query `resources`."""
    for text in (row[3], row[10]):
        if text is not None:
            try:
                identity.scan(text)
            except ValidationError as error:
                raise ValueError(f"the resource `{row[1]}`: {error}") from None
    reuse, on_completion, covered = bool(row[4]), bool(row[6]), bool(row[13])
    fields: Row = (*row[:4], reuse, row[5], on_completion, *row[7:12], names_from(row[12]), covered)
    return ResourceRow(*fields)


def checkpoint(row: Row) -> CheckpointRow:
    """A row of the query `checkpoints`."""
    return CheckpointRow(*row)


def resource_object(row: ResourceRow, registered_seq: int, invalidated_seq: int = 0) -> dict[str, Any]:
    """The columns of a resource by name, and with `invalidated` the event that ends its checkpoints' coverage."""
    return {
        "execution_id": row.execution_id,
        "key": row.key,
        "driver_id": row.driver_id,
        "configuration": row.configuration,
        "coverage_reuse": row.coverage_reuse,
        "every_steps": row.every_steps,
        "on_completion": row.on_completion,
        "registered_seq": registered_seq,
        "generation": row.generation,
        "counted": row.count,
        "binding": row.binding,
        "checkpoint_ref": row.checkpoint_ref,
        "writers": names_text(row.writers),
        "invalidated": invalidated_seq,
    }


def checkpoint_object(row: CheckpointRow) -> dict[str, Any]:
    """The columns of a checkpoint by name."""
    return asdict(row)


def change_objects(changes: ResourceChanges, first_seq: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The resources and the checkpoints of a batch whose first event has this number."""
    resources = [
        resource_object(
            write.row,
            write.row.registered_seq if write.registered is None else first_seq + write.registered,
            0 if write.invalidated is None else first_seq + write.invalidated,
        )
        for write in changes.resources
    ]
    checkpoints = [
        checkpoint_object(replace(write.row, covered_seq=first_seq + write.covered)) for write in changes.checkpoints
    ]
    return resources, checkpoints
