"""Fills the variables of configuration files from the environment."""

import re
from collections.abc import Mapping
from typing import Any, Final

from rebuno.errors import ValidationError

_VARIABLE: Final = re.compile(r"\$\{([^}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def filled(data: Any, environment: Mapping[str, str], file: str) -> Any:
    """The data of a `file` (its noun in messages) with every `${NAME}` in its texts replaced from the environment.

    Raises:
        ValidationError: a variable is not set, or has no name.
    """
    if isinstance(data, dict):
        return {name: filled(value, environment, file) for name, value in data.items()}
    if isinstance(data, list):
        return [filled(value, environment, file) for value in data]
    if not isinstance(data, str):
        return data
    return _VARIABLE.sub(lambda found: _value(found[1], environment, file), data)


def _value(name: str, environment: Mapping[str, str], file: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValidationError(f"the {file}'s `${{{name}}}` names no variable; write it like `${{AGENT_SECRET}}`")
    if name not in environment:
        raise ValidationError(f"the {file} needs the variable `{name}`, which is not set")
    return environment[name]
