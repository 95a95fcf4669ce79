"""Imports the modules of agents that a command is told of."""

import os
import sys
from importlib import import_module
from types import ModuleType

from rebuno.errors import ValidationError, text_of


def load(named: str, option: str) -> ModuleType:
    """The module of this name, looked for in this folder too; `option` is what the error says was given.

    Raises:
        ValidationError: it cannot be imported, or ends the interpreter.
    """
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return import_module(named)
    except (Exception, SystemExit) as error:
        # It is a program of others: anything may come out of it.
        raise cannot(option, error) from None


def cannot(option: str, error: BaseException) -> ValidationError:
    """The error for a module that fails while it is read."""
    return ValidationError(f"`{option}` cannot be loaded: {type(error).__name__}: {text_of(error)}")
