"""Finds bundles and the case files beside them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rebuno.errors import ValidationError

BUNDLE_SUFFIX: Final = ".rbp"
CASES_SUFFIX: Final = ".policytest.yaml"


@dataclass(frozen=True, slots=True)
class BundleSuite:
    """A bundle and its case file. One of them may be missing. `path` is the path of the bundle."""

    path: Path
    bundle: Path | None
    cases: Path | None


def find_bundles(paths: Sequence[str | Path]) -> list[BundleSuite]:
    """The suites of the given files and folders, each once. Folders are searched recursively, without hidden folders.

    A path with the suffix of a bundle or of a case file counts as one; a broken link or a pipe is reported when it is
    read.

    Raises:
        ValidationError: a path does not exist, is no bundle or case file, or is a folder without any.
    """
    found: dict[tuple[str, str], BundleSuite] = {}
    for path in map(Path, paths):
        for bundle in _bundles(path):
            cases = bundle.with_name(bundle.stem + CASES_SUFFIX)
            # Two links to one bundle may have cases of their own.
            found.setdefault(
                (os.path.realpath(bundle), os.path.realpath(cases)),
                BundleSuite(
                    bundle, bundle if os.path.lexists(bundle) else None, cases if os.path.lexists(cases) else None
                ),
            )
    return list(found.values())


def _bundles(path: Path) -> list[Path]:
    if path.is_dir():
        below = sorted({_bundle_of(file) for file in _files(path)})
        if not below:
            raise ValidationError(f"`{path}` holds no `{BUNDLE_SUFFIX}` or `{CASES_SUFFIX}` file")
        return below
    if not path.exists():
        raise ValidationError(f"`{path}` does not exist")
    if not path.name.endswith((BUNDLE_SUFFIX, CASES_SUFFIX)):
        raise ValidationError(
            f"`{path}` is neither a bundle (`{BUNDLE_SUFFIX}`) nor a file of cases (`{CASES_SUFFIX}`);"
            " a YAML bundle is converted first: `rebuno policy convert`"
        )
    return [_bundle_of(path)]


def _bundle_of(path: Path) -> Path:
    return (
        path.with_name(path.name.removesuffix(CASES_SUFFIX) + BUNDLE_SUFFIX)
        if path.name.endswith(CASES_SUFFIX)
        else path
    )


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _files(entry)
        elif entry.name.endswith((BUNDLE_SUFFIX, CASES_SUFFIX)) and not entry.is_dir():
            yield entry
