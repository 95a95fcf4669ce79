"""Shows a step's arguments and outcome in brief: a result, a model's answer, an exception."""

import os
from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.model import identity
from rebuno.model.dialogue import answered
from rebuno.model.dialogue import asked as last_message
from rebuno.model.step import Kind
from rebuno.types import Failure, Step
from rebuno_cli.render.escape import escape, stored
from rebuno_cli.render.layout import hanging

_ARGS: Final = 80
_RESULT: Final = 120
_ERROR: Final = 200


def asked(kind: str, args: str, limit: int = _ARGS) -> str:
    """The arguments, canonical JSON; of a model call its last message."""
    message = last_message(identity.parse(args)) if kind == Kind.LLM else ""
    return f'"{escape(message, limit)}"' if message else stored(args, limit)


def returned(kind: str, result: str | None, limit: int = _RESULT) -> str:
    """The result, canonical JSON; of a model call how the answer begins. Empty where there is none."""
    if result is None:
        return ""
    answer = answered(identity.parse(result)) if kind == Kind.LLM else ""
    return f'"{escape(answer, limit)}"' if answer else stored(result, limit)


def outcome(step: Step, limit: int = _RESULT) -> str:
    """What a recorded step came to: its result, why it failed or was denied, the tokens that it used."""
    if (error := step.error) is not None:
        message = error.get("message") or error.get("reason") if isinstance(error, dict) else None
        return escape(message, _ERROR) if isinstance(message, str) else stored(step.raw("error"), _ERROR)
    said = returned(step.kind, step.raw("result") if step.status == "succeeded" else None, limit)
    if step.input_tokens is not None:
        said += f" ({step.input_tokens:,} and {step.output_tokens or 0:,} tokens)"
    return said or escape((step.reason or "") if step.status == "denied" else "")


def raised(failure: Failure | None, margin: int) -> Iterator[RenderableType]:
    """An exception with the lines of code that it came through, the newest last."""
    if failure is None:
        return
    where = f" at {escape(os.path.basename(failure.file))}:{failure.line}" if failure.file else ""
    message = f": {escape(failure.message, _ERROR)}" if failure.message else ""
    yield hanging("", Text(f"{escape(failure.type)}{where}{message}", "red"), margin=margin)
    for frame in failure.traceback or ():
        said = f"{escape(frame.file, 300)}:{frame.line or 0} in {escape(frame.function or '')}"
        yield hanging("", Text(said, "dim"), margin=margin + 2)
        if frame.source:
            yield hanging("", Text(escape(frame.source), "dim"), margin=margin + 4)
