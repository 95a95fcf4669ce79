"""The commands that help where an execution waits for a person."""

from collections.abc import Iterable

from rebuno.types import BlockedOn
from rebuno_cli.render.escape import escape


def command_to_answer(approval_id: str) -> str:
    """The command that lets a question's step run."""
    return f"`rebuno approval grant {escape(approval_id)}`"


def questions(waits: Iterable[BlockedOn]) -> list[str]:
    """The ids of the questions among what an execution waits for."""
    return [one.id for one in waits if one.type == "approval"]
