"""Reads the program texts of `jq` and `yq`."""

import re
from typing import Final

from rebuno.policy.facets.shell.effects.code_effects import ENVIRONMENT, CodeEffects

_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\r\n]+)
    |(?P<comment>\#[^\n\\]*(?=\n|\Z))
    |(?P<format>@[A-Za-z0-9_]+)
    |(?P<variable>\$[A-Za-z_][A-Za-z0-9_]*)
    |(?P<field>\.[A-Za-z_][A-Za-z0-9_]*)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?!::))
    |(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)
    |(?P<quote>")
    |(?P<open>[({\[])
    |(?P<close>[)}\]])
    |(?P<sign>\.\.|[.|,:;=<>!+*/%?-])""",
    re.VERBOSE,
)
_STRING: Final = re.compile(r'(?:[^"\\]|\\["\\/bfnrtu])*')
# The first operand of `yq`, if it is a file.
_FILE: Final = re.compile(r"[\w./-]+\.(?:ya?ml|json|toml|xml)")
_PAIRS: Final = {")": "(", "}": "{", "]": "["}
# Names that load other texts.
_LOADS: Final = frozenset({"import", "include", "modulemeta", "module"})
_YQ: Final = frozenset(
    {
        "select", "map", "map_values", "keys", "length", "has", "sort", "sort_by", "sort_keys", "group_by", "unique",
        "unique_by", "to_entries", "from_entries", "with_entries", "del", "delpaths", "type", "tag", "kind", "not",
        "and", "or", "any", "all", "first", "last", "tostring", "tonumber", "join", "split", "test", "match", "capture",
        "contains", "add", "flatten", "reverse", "min", "max", "values", "recurse", "paths", "path", "empty", "true",
        "false", "null", "if", "then", "elif", "else", "end", "reduce", "as", "sub", "gsub", "upcase", "downcase",
        "ascii_downcase", "ascii_upcase", "explode", "style", "anchor", "alias", "comments", "head_comment",
        "line_comment", "foot_comment", "document_index", "di", "tojson", "fromjson", "to_yaml", "from_yaml", "to_json",
        "from_json", "startswith", "endswith", "ltrimstr", "rtrimstr", "range", "limit", "index", "trim", "pick",
    }
)  # fmt: skip


def _names(text: str) -> list[tuple[str, bool]] | None:
    # All names of functions and variables outside strings, each with whether it is the key of an object; None where
    # the text is no plain sequence of tokens.
    found: list[tuple[str, bool]] = []
    # What is still open; a `"` is a string that goes on behind the `)` above it.
    opened: list[str] = []
    at, before = 0, ""
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        at, kind, one = token.end(), token.lastgroup, token[0]
        if kind in ("blank", "comment"):
            continue
        if kind in ("name", "variable"):
            key = opened[-1:] == ["{"] and before in ("{", ",") and text[at:].lstrip(" \t\n")[:1] == ":"
            found.append((one, key))
        elif kind == "open":
            opened.append(one)
        elif kind == "close":
            if opened[-1:] != [_PAIRS[one]]:
                return None
            opened.pop()
        string = kind == "quote" or (kind == "close" and one == ")" and opened[-1:] == ['"'])
        if string:
            end = _in_string(text, at)
            if end is None:
                return None
            at, closed = end
            if kind == "quote" and not closed:
                opened.append('"')
            elif kind == "close" and closed:
                opened.pop()
            if not closed:
                opened.append("(")
        before = one
    return None if opened else found


def _in_string(text: str, at: int) -> tuple[int, bool] | None:
    # Where a string ends, or an expression in it begins.
    found = _STRING.match(text, at)
    at = found.end() if found else at
    if text[at : at + 1] == '"':
        return at + 1, True
    return (at + 2, False) if text[at : at + 2] == "\\(" else None


def read_jq(text: str) -> CodeEffects | None:
    """What a program text of `jq` reads besides its input; None where it is not of a known form."""
    names = _names(text)
    if names is None or any(name in _LOADS for name, _ in names):
        return None
    environment = any(name == "$ENV" or (name == "env" and not key) for name, key in names)
    return CodeEffects((ENVIRONMENT,) if environment else ())


def read_yq(text: str) -> CodeEffects | None:
    """The same of `yq`, in the part of its language in which the programs of that name agree with `jq`."""
    if _FILE.fullmatch(text):
        return CodeEffects()
    names = _names(text)
    if names is None or not all(name in _YQ or (name[:1] == "$" and name != "$ENV") for name, _ in names):
        return None
    return CodeEffects()
