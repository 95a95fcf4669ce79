"""What a rule is told of a folder holds for every file that the folder stands for."""

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

import pytest

from rebuno.policy.facets.path import facets as paths
from rebuno.policy.facets.path.facets import PathReading
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.shell.effects.readings import FolderReading
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.globs import Glob
from rebuno.policy.values.json_values import Tri

_CONTEXT = PathContext("/w", "/h")
_NAMES = ("a", "src", "a.py", ".env", ".git", "b.PY", "x.env", ".x.py")
_GLOBS = ("*.py", "*", "a*", "?", "*.env", ".*", "x.[ep]*", "[a*].py", "*.p?", "s*c", "*[.]py", ".e*")
_PARTS = (*_NAMES, *_GLOBS, "**", "**")
_TEXTS = (
    "/",
    "/w",
    "/w/src",
    "/w/src/a",
    "/w/src/",
    "py",
    ".py",
    ".env",
    "*",
    "**",
    "/**",
    "/*",
    "a",
    "src/a",
    "s",
    "*.py",
)
_EXPRESSIONS = (r"^/w/src/[^.]*$", r"^/w/[^/]*$", r"\*", r"py$", r"^/w", r"^/w/src/", r"env", r"/\.", r".", r"^/x")
_TREE = [PathReading(True, 0, ("w", *names)) for count in range(1, 4) for names in product(_NAMES, repeat=count)]


def _files(folder: FolderReading) -> Iterator[PathReading]:
    start = folder.folder.segments
    for one in _TREE:
        names = one.segments[len(start) :]
        if one.segments[: len(start)] != start or not names or (folder.direct and len(names) > 1):
            continue
        if folder.only and not any(Glob(glob).matches(names[-1]) for glob in folder.only):
            continue
        shown = names[:-1] if folder.only and not folder.direct else names
        if folder.visible and any(name[0] == "." for name in shown):
            continue
        yield one


def _folder(random: Random) -> FolderReading:
    start = PathReading(True, 0, ("w", *random.choices(("src", "a", ".git"), k=random.randint(0, 2))))
    only = tuple(random.sample(_GLOBS, random.choice((0, 0, 1, 1, 2))))
    return FolderReading(start, only, random.random() < 0.4, random.random() < 0.3)


def _question(random: Random) -> tuple[str, object]:
    kind = random.choice(("like", "like", "like", "under", "equals", "contains", "starts", "ends", "matches"))
    if kind == "like":
        parts = random.choices(_PARTS, k=random.randint(1, 4))
        return kind, paths.pattern(random.choice(("/w/", "**/", "/")) + "/".join(parts), _CONTEXT)
    if kind in ("under", "equals"):
        return kind, PathReading(True, 0, ("w", *random.choices(_NAMES, k=random.randint(0, 3))))
    return kind, random.choice(_EXPRESSIONS if kind == "matches" else _TEXTS)


_OPS = {"like": Op.LIKE, "starts": Op.STARTS, "ends": Op.ENDS, "matches": Op.MATCHES}


def _answer(value: FolderReading | PathReading, kind: str, right: object, fold: bool) -> Tri:
    if kind == "under":
        return value.under(right)
    if kind == "equals":
        return value.equals(right, fold)
    if kind == "contains":
        return value.contains(right, fold)
    return value.text_test(_OPS[kind], right, fold)


def _wrong(answer: Tri, files: Sequence[Tri]) -> bool:
    if answer is True:
        return any(one is not True for one in files)
    return answer is False and any(one is not False for one in files)


@pytest.mark.parametrize("seed", range(20))
def test_a_sure_answer_about_a_folder_holds_for_each_file(seed: int) -> None:
    random = Random(seed)
    for _ in range(60):
        folder = _folder(random)
        files = [*_files(folder)]
        for _ in range(8):
            (kind, right), fold = _question(random), random.random() < 0.3
            if isinstance(right, str) and "*" in right and (kind != "matches" or r"\*" in right):
                # Asks how the value is written.
                continue
            answer = _answer(folder, kind, right, fold)
            if answer is not None:
                shown = (
                    f"{folder} visible={folder.visible} {kind} {getattr(right, '_names', right)} fold={fold}: {answer}"
                )
                bad = [str(one) for one in files if _wrong(answer, [_answer(one, kind, right, fold)])]
                assert not bad, f"{shown}, but {bad[:3]}"
