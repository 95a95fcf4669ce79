"""What the options of a command say of the names that it reads and writes."""

import re
from collections.abc import Iterable
from typing import Final

from rebuno.policy.facets.shell.effects.arguments import Argument

_NAME_GLOB: Final = re.compile(r"[\w.*?+@-]+")
# The types of files of `rg`, in all of its releases; what is not here may be any file.
_TYPES: Final = {
    "py": ("*.py", "*.pyi"),
    "python": ("*.py", "*.pyi"),
    "js": ("*.js", "*.jsx", "*.vue", "*.cjs", "*.mjs"),
    "ts": ("*.ts", "*.tsx", "*.cts", "*.mts"),
    "typescript": ("*.ts", "*.tsx", "*.cts", "*.mts"),
    "rust": ("*.rs",),
    "go": ("*.go",),
    "java": ("*.java", "*.jsp", "*.jspx", "*.properties"),
    "md": ("*.md", "*.mdx", "*.markdown", "*.mdown", "*.mdwn", "*.mkd", "*.mkdn", "*.mkdown"),
    "markdown": ("*.md", "*.mdx", "*.markdown", "*.mdown", "*.mdwn", "*.mkd", "*.mkdn", "*.mkdown"),
    "yaml": ("*.yaml", "*.yml"),
    "css": ("*.css", "*.scss"),
    "sql": ("*.sql", "*.psql"),
    "swift": ("*.swift",),
    "kotlin": ("*.kt", "*.kts"),
}
_LIST: Final = re.compile(r"([^{}]*)\{([^{}]*)\}([^{}]*)")


def suffix_of(arguments: Iterable[Argument]) -> str:
    """The suffix of the files that are kept, empty if there is none."""
    suffixes = [value.text for each in arguments if each.slot.kinds == ("suffix",) for value in each.values or ()]
    return suffixes[-1] if suffixes else ""


def only_of(arguments: Iterable[Argument]) -> tuple[str, ...]:
    """The globs that the names must fit that are read below folders; none where that may be any."""
    found: list[str] = []
    for each in arguments:
        if "all" in each.slot.kinds:
            return ()
        if "file-type" in each.slot.kinds:
            types = [_TYPES.get(value.text, ()) for value in each.values or ()]
            if not all(types):
                return ()
            found += (glob for globs in types for glob in globs)
        if "only" not in each.slot.kinds:
            continue
        for value in each.values or ():
            if value.text[:1] == "!":
                continue
            globs = _globs(value.text)
            if globs is None:
                return ()
            found += globs
    return tuple(dict.fromkeys(found))


def _globs(text: str) -> list[str] | None:
    # Programs expand the lists in it or do not, look for the name alone or for a path that ends with it.
    name = text.rpartition("/")[2]
    listed = _LIST.fullmatch(name)
    one = [f"{listed[1]}{each}{listed[3]}" for each in listed[2].split(",")] if listed else [name]
    return one if all(_NAME_GLOB.fullmatch(each) and "**" not in each for each in one) else None
