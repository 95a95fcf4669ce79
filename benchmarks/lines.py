"""How many lines of code the library and the command have: no blank lines, no comments, no docstrings.

A line counts if a token of code stands on it, so a statement over three lines counts as three. Prints JSON:
the sum, and a number for each folder of `rebuno/` and `cli/`.
"""

import argparse
import ast
import io
import json
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("rebuno", "cli")
_NO_CODE: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(text: str) -> int:
    """The number of lines of a module's text that hold code.

    Raises:
        SyntaxError: the text is not Python.
    """
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - _docstring_lines(ast.parse(text)))


def _docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _Documented) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            found.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return found


def modules(root: Path) -> Iterator[Path]:
    """The Python files below a root, relative to it."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            yield path.relative_to(root)


def count(root: Path) -> dict[str, object]:
    """The report: `code` lines in all, the number of `modules`, and `folders` with the lines below each."""
    folders: Counter[str] = Counter()
    number = 0
    for path in modules(root):
        number += 1
        lines = code_lines((root / path).read_text(encoding="utf-8"))
        parts = path.parent.parts
        for depth in range(1, len(parts) + 1):
            folders["/".join(parts[:depth])] += lines
    return {"code": sum(folders[name] for name in FOLDERS), "modules": number, "folders": dict(sorted(folders.items()))}


def main() -> None:
    """Counts the checkout that this file belongs to, or another one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout to count")
    print(json.dumps(count(parser.parse_args().root), indent=2))


if __name__ == "__main__":
    main()
