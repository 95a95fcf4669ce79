"""The names that `find` and `git ls-files` give to other commands: what is read, and what programs are given."""

import shutil
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from rebuno.policy.facets.path.facets import pattern
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.shell.effects.expansion import WordValue, values_of
from rebuno.policy.facets.shell.effects.facets import effects_of
from rebuno.policy.facets.shell.effects.readings import FolderReading
from rebuno.policy.facets.shell.script import read_shell
from rebuno.policy.syntax.tree import Op

SURE = (
    "find src -name '*.py' -exec stub {} +",
    "find src ./docs -type f -exec stub -x {} \\;",
    "find . \\( -name '*.py' -o -iname '*.TXT' \\) -exec stub {} +",
    "find . -name src -prune -o -name '*.py' -exec stub {} +",
    "find . ! -name '*.py' -name '*.*' -exec stub {} +",
    "find . -type f \\( -name 'a*' -exec stub {} + -o -name 'b*' -exec stub {} \\; \\)",
    "find src -print0 | xargs -0 stub",
    "find . -name '*.py' -print0 2>/dev/null | xargs -0 -n1 stub",
    "find src docs -name '*.py' -print0 | xargs -0 -I{} stub x {}",
    "find . -name '*.txt' -print0 -o -name '*.py' -print0 | xargs -0 -r stub > out",
    "git ls-files -z | xargs -0 stub",
    "git ls-files -z '*.py' 'src/*.txt' | xargs -0 stub",
    "git ls-files -z -co --exclude-standard | xargs -0 stub",
    "git ls-files -z --others src docs | xargs -0 -r stub",
    "for d in src docs; do find \"$d\" -name '*.py' -exec stub {} +; done",
)
UNSURE = (
    "find . | xargs stub",
    "find . -print0 | xargs stub",
    "find . -print | xargs -0 stub",
    "find . -printf '%p\\0' -print0 | xargs -0 stub",
    "find . -print0 | sort -z | xargs -0 stub",
    "find . -print0 |& xargs -0 stub",
    "find . -print0 2>&1 | xargs -0 stub",
    "find . -print0 | xargs -0 stub < list",
    "find . -print0 | xargs -0 stub <<< list",
    "find . -print0 | xargs -0 stub << END\nlist\nEND",
    "find . -print0 > list | xargs -0 stub",
    "find . -print0 | xargs -0 -d '\\n' stub",
    "find . -print0 | xargs -0 -a list stub",
    "find . -print0 | xargs -0 -I% stub %",
    "find . -print0 | { xargs -0 stub; }",
    "find . -exec cat {} + -print0 | xargs -0 stub",
    "find . -fprint0 /dev/stdout -print0 | xargs -0 stub",
    "find . -files0-from list -print0 | xargs -0 stub",
    "find . -files0-from list -exec stub {} +",
    "find \"$x\" -exec stub {} +",
    "find . -exec stub {}.bak \\;",
    "find . -execdir stub {} \\;",
    "HOME=/x find ~ -print0 | xargs -0 stub",
    "git ls-files | xargs -0 stub",
    "git ls-files -z -s | xargs -0 stub",
    "git ls-files -z ':!x' | xargs -0 stub",
    "git -C x ls-files -z | xargs -0 stub",
)  # fmt: skip
NAMES = ("a.py", "b c.txt", "-rf", "-x.py", ".env", "x\ny.py", "d.PY", "e'f\".txt", "$(id).py", "*", "a.TXT")


def _given(text: str) -> list[tuple[WordValue, ...] | None]:
    """What each word of each `stub` stands for that a text runs."""
    shell = read_shell(text)
    assert shell is not None
    return [
        values_of(word, simple.loops)
        for simple in shell.commands
        if simple.words[0].start == "stub"
        for word in simple.words[1:]
        if not word.known
    ]


@pytest.mark.parametrize("text", UNSURE)
def test_names_that_may_be_others_are_not_known(text: str) -> None:
    """Where the names may come from elsewhere, or more than names come."""
    assert None in _given(text)


@pytest.mark.parametrize("text", SURE)
def test_a_program_is_given_no_other_names(text: str, tmp_path: Path) -> None:
    """Every word lies below one of the folders that are read from the text, and fits one of the globs."""
    if not all(map(shutil.which, ("bash", "find", "xargs", "git"))):
        pytest.skip("bash, find, xargs or git is not on this machine")
    values = [value for each in _given(text) for value in each or (None,)]
    assert None not in values
    stub, log = tmp_path / "bin" / "stub", tmp_path / "log"
    stub.parent.mkdir()
    stub.write_text(f"#!/bin/sh\n[ $# = 0 ] || printf '%s\\0' \"$@\" >> {log}\n")
    stub.chmod(0o755)
    for folder in ("proj", "proj/src", "proj/docs", "proj/src/deep"):
        (tmp_path / folder).mkdir()
        for name in NAMES:
            (tmp_path / folder / name).write_text("x\n")
    path = f"{stub.parent}:/usr/local/bin:/usr/bin:/bin"
    setup = "git init -q . && git add src && " if text.startswith("git") else ""
    subprocess.run(
        ["bash", "-c", setup + text],
        cwd=tmp_path / "proj",
        env={"PATH": path, "HOME": str(tmp_path)},
        check=True,
        stdin=subprocess.DEVNULL,
    )
    words = [word for word in log.read_bytes().decode().split("\0")[:-1] if word not in ("x", "-x")]
    assert words
    for word in words:
        assert any(value is not None and _fits(word, value) for value in values), word


def _fits(word: str, value: WordValue) -> bool:
    inside = not value.text or word == value.text or word.startswith(f"{value.text}/")
    name = word.rpartition("/")[2].casefold()
    return inside and (not value.only or any(fnmatchcase(name, one.casefold()) for one in value.only))


@pytest.mark.parametrize(("line", "hidden"), [("find src -print0 | xargs -0 rg foo", True), ("rg foo src/*", False)])
def test_hidden_files_that_are_found_are_read(line: str, hidden: bool) -> None:
    """`rg` leaves hidden names out below a folder, but not those that it is given."""
    context = PathContext("/proj", "/h")
    secret = pattern("**/src/.secret", context)
    found = effects_of(line, context)
    assert found is not None
    assert not found.unread
    answers = [value.text_test(Op.LIKE, secret, False) for value, _ in found.values if isinstance(value, FolderReading)]
    assert any(one is not False for one in answers) is hidden
