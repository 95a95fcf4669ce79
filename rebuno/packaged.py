"""Finds the files that come along, in an installed wheel or in a checkout; and says what an extra needs."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rebuno.errors import RebunoError

DISTRIBUTION: Final = "rebuno-kernel"
_OF_EXTRA: Final = re.compile(r"\s*;\s*extra\s*==\s*['\"]([^'\"]+)['\"]\s*\Z")


def _root(folder: str) -> Path:
    shipped = Path(__file__).resolve().parent / "_data" / folder
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


def grammar_tables() -> str:
    """The tables that were computed of the grammar, or an empty text where there are none."""
    file = _root("grammar") / "rbp.tables.jsonl"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def policies() -> Path:
    """The folder of starter bundles.

    Raises:
        RebunoError: the installation is damaged.
    """
    return _root("policies")


def examples() -> Path:
    """The folder of the files that `rebuno init` writes.

    Raises:
        RebunoError: the installation is damaged.
    """
    return _root("examples/init")


def diagnostics() -> str:
    """The page of all diagnostics, in Markdown.

    Raises:
        RebunoError: the installation is damaged.
    """
    return (_root("docs") / "diagnostics.md").read_text(encoding="utf-8")


def install(extra: str) -> str:
    """The command that installs what an extra needs. It names the packages themselves: so it works for a checkout, for
    a wheel and for what an index has, whether this distribution is on one or not."""
    needed = [_OF_EXTRA.sub("", one) for one in _requirements() if (of := _OF_EXTRA.search(one)) and of[1] == extra]
    if needed:
        return f"pip install {' '.join(repr(one) for one in needed)}"
    # There is no metadata where the sources are merely on the path.
    return f"pip install '.[{extra}]' in a checkout of rebuno"


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Around imports that `what` needs the extra for.

    Raises:
        RebunoError: one of its packages is not installed; the message has the command that installs them.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "rebuno":
            raise  # a fault of ours, which no extra repairs
        raise RebunoError(f"{what} needs the extra `{extra}`: {install(extra)}") from None


def _requirements() -> list[str]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        return requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
