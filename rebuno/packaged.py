"""Finds the grammar and the starter policies, in an installed wheel or in a checkout."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from rebuno.errors import RebunoError


def _root(folder: str) -> Traversable:
    shipped = files("rebuno") / "_data" / folder
    if shipped.is_dir():
        return shipped
    checkout = Path(__file__).resolve().parent.parent
    # A folder beside the package counts only in a checkout: in site-packages it would be somebody else's.
    if (checkout / "pyproject.toml").is_file() and (checkout / folder).is_dir():
        return checkout / folder
    raise RebunoError(f"the folder `{folder}` is missing from this installation of rebuno-kernel; install it again")


def grammar() -> str:
    """The text of the rule language's grammar.

    Raises:
        RebunoError: the installation is damaged.
    """
    return (_root("grammar") / "rbp.lark").read_text(encoding="utf-8")


def policies() -> Traversable:
    """The folder of starter bundles.

    Raises:
        RebunoError: the installation is damaged.
    """
    return _root("policies")
