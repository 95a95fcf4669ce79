"""What handlers and kernels say to each other about resources: state outside the journal that an execution works on."""

import re
from dataclasses import dataclass
from typing import Final

from rebuno.errors import ValidationError

_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_LARGEST: Final = 2**31


@dataclass(frozen=True, slots=True)
class StepResource:
    """A resource that a step may change: the generation that it begins, and whether a checkpoint is due after it."""

    key: str
    generation: int
    due: bool = False


@dataclass(frozen=True, slots=True)
class Registration:
    """What a handler says of a resource. `configuration` is canonical JSON. With `coverage_reuse` a step that has not
    declared the resource leaves it as it is. A checkpoint is due after every `every_steps` steps that declared it (0:
    there are none), and with `on_completion` at the end of the handler."""

    key: str
    driver_id: str
    configuration: str = "null"
    coverage_reuse: bool = False
    every_steps: int = 0
    on_completion: bool = True

    def check(self) -> None:
        """Raises `ValidationError` where it is malformed."""
        if not _KEY.fullmatch(self.key):
            raise ValidationError(
                "the key of a resource has 1 to 128 characters, each an ASCII letter, a digit, `_`, `.` or `-`"
            )
        if not self.driver_id:
            raise ValidationError(f"the driver_id of the resource `{self.key}` is empty")
        if not 0 <= self.every_steps < _LARGEST:
            raise ValidationError(f"`every_steps` of the resource `{self.key}` is not from 0 to {_LARGEST - 1}")

    @property
    def captures_last(self) -> bool:
        """Whether a checkpoint is due at the end of the handler."""
        return self.every_steps > 0 and self.on_completion


@dataclass(frozen=True, slots=True)
class RegisteredResource:
    """A resource as its execution knows it: its policy as it stands, `binding` as canonical JSON (None: it has to be
    created, from `checkpoint_ref` where that is not empty), and whether a checkpoint of its `generation` covers it.
    `count` are the steps that declared it and have ended."""

    registration: Registration
    registered_seq: int
    generation: int
    count: int
    binding: str | None = None
    checkpoint_ref: str = ""
    covered: bool = False


@dataclass(frozen=True, slots=True)
class Capture:
    """A checkpoint that a driver has made of a generation of a resource."""

    key: str
    generation: int
    checkpoint_ref: str


@dataclass(frozen=True, slots=True)
class CaptureFailure:
    """Why a driver could make none."""

    key: str
    generation: int
    error: str


@dataclass(frozen=True, slots=True)
class Captured:
    """The checkpoints that were made, and those that were not."""

    captures: tuple[Capture, ...] = ()
    failures: tuple[CaptureFailure, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.captures or self.failures)


NOTHING_CAPTURED: Final = Captured()
