"""Turns a parser error into a diagnostic: the expected tokens, the token that was found, and a hint."""

import re
from typing import Final

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import Token

from rebuno.policy.syntax.diagnostics import Code, Diagnostic
from rebuno.policy.syntax.keywords import (
    CLAUSE_WORDS,
    HEAD_WORDS,
    KIND_WORDS,
    SOFT_STATEMENTS,
    STATEMENT_WORDS,
    did_you_mean,
)
from rebuno.policy.syntax.recovery import Piece, opened, significant
from rebuno.policy.syntax.spellings import spelling_hint, total_hint
from rebuno.policy.syntax.text import Lines

_END: Final = "$END"
_LAST_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"\Z|\w+\Z|[=!<>]+\Z|.\Z', re.DOTALL)
_HEAD: Final = re.compile(r"[{\n]\s*(allow|deny|require)\b")
_STATEMENTS: Final = frozenset(f"_{word.upper()}" for word in (*STATEMENT_WORDS, *SOFT_STATEMENTS, "limit"))
_KINDS: Final = frozenset(word.upper() for word in KIND_WORDS)
# Names for groups of terminals, the largest group first.
_GROUPS: Final = (
    (_STATEMENTS, "a statement"),
    (frozenset(f"_{word.upper()}" for word in CLAUSE_WORDS), "a clause"),
    (frozenset({"NOT", "ANY", "EVERY", "NO", "_AFTER", "_COUNT", "_SUM", "_DURING", "NAME", "LPAR"}), "a test"),
    (frozenset({"SIGN", "IN", "LIKE", "MATCHES", "CONTAINS", "STARTS", "ENDS", "UNDER", "GIVEN", "MISSING", "IS", "HAS",
                "NOT"}), "a predicate (`==`, `in`, `like`, …)"),
    (frozenset({"STRING", "NUMBER", "TRUE", "FALSE", "NULL"}), "a value"),
    (frozenset({"ALLOW", "DENY", "_REQUIRE"}), "`allow`, `deny` or `require approval for`"),
)  # fmt: skip
_WORDS: Final = {
    "STRING": "a string", "NUMBER": "a number", "DURATION": "a duration", "NAME": "a name", "ID": "an id",
    "KEY": "`.name`", "SIGN": "a comparison", "EQUAL": "`=`", "COMMA": "`,`", "LBRACE": "`{`", "RBRACE": "`}`",
    "LPAR": "`(`", "RPAR": "`)`", "LSQB": "`[`", "RSQB": "`]`", "_OR_KIND": "`or`", "FILLED": "an `f\"…\"`",
    "VALUES": "`.*`", "EACH_VALUE": "`*`", "PLUS": "`+`", _END: "the end",
}  # fmt: skip
_CHARACTERS: Final = {
    "'": "write strings in double quotes",
    "“": "write strings in straight double quotes",
    "”": "write strings in straight double quotes",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    ";": "statements and clauses end without a sign",
    ":": "write `=` after a name, nothing after a keyword",
    "-": "a name consists of letters, digits and `_`; only ids of bundles and rules may contain `-`",
    "/": "comments begin with `#`; write strings and patterns in double quotes",
    "*": "write patterns in double quotes",
    ".": "a path starts at `args`, `input`, `target` or `agent`",
    "\\": "a backslash is allowed in strings only",
}


def explain_syntax_error(
    error: UnexpectedInput, text: str, lines: Lines, path: str, piece: Piece, outer: int
) -> Diagnostic:
    """The diagnostic for an error in the `piece` of the text.

    The search for open brackets begins at the offset `outer`.
    """
    start, end = piece
    if isinstance(error, UnexpectedCharacters):
        offset: int = vars(error)["pos_in_stream"]  # declared as None, always set
        return _character(text, lines, path, start + offset)
    assert isinstance(error, UnexpectedToken)
    token = error.token
    # `expected` contains look-aheads that fail one step later; `accepts` has tried each of them.
    accepts = frozenset(error.accepts or error.expected)
    if token.type == _END:
        return _ended(accepts, text, lines, path, piece, outer)
    if _END in accepts and "_WHEN" not in accepts:
        accepts |= _STATEMENTS  # another statement may follow a piece that may end here
    at = start + (token.start_pos or 0)
    if text.startswith('r"', at):
        return _character(text, lines, path, at)
    span = lines.span(at, at + len(token))
    shown = f"`{_shorten(token)}`"
    if _mixes(token, accepts, text[start:end]):
        message = "`and` and `or` are mixed without parentheses"
        return Diagnostic(
            Code.MIXED_AND_OR, message, span, path, "put parentheses around the part that belongs together"
        )
    wanted = _phrase(accepts)
    if accepts >= _KINDS and token.type in ("NAME", "ID"):
        help = total_hint(_before(text, at)) or did_you_mean(token, KIND_WORDS)
        help = help or "a subject is `tool`, `llm`, `local` with patterns, or `any step`"
        return Diagnostic(Code.UNKNOWN_KIND, f"there is no kind {shown}", span, path, help)
    return Diagnostic(
        Code.SYNTAX, f"expected {wanted}, found {shown}", span, path, _hint(token, accepts, text, lines, outer, at)
    )


def _character(text: str, lines: Lines, path: str, at: int) -> Diagnostic:
    rest = text[at : at + 2]
    if rest[0] == '"' or rest == 'r"':
        end = text.find("\n", at)
        span = lines.span(at, len(text.rstrip("\r\n")) if end < 0 else len(text[:end].rstrip("\r")))
        message = "the string is never closed"
        return Diagnostic(
            Code.NOT_CLOSED, message, span, path, 'end it with `"` on the same line; inside it write `\\"`'
        )
    word = re.compile(r"[0-9][\w.]*|\w+|.", re.DOTALL).match(text, at)
    found = word[0] if word else rest[0]
    help = _CHARACTERS.get(found[0], "")
    if found[0].isascii() and found[0].isdigit():
        help = "write a number (`1_000`, `2.5`) or a duration (`1h30m`)"
    elif found[0].isalpha() or (found == "." and text[at + 1 : at + 2].isalnum()):
        help = 'names are ASCII letters, digits and `_`; other keys are written `["…"]`'
    return Diagnostic(Code.SYNTAX, f"cannot read `{found[:40]}` here", lines.span(at, at + len(found)), path, help)


def _ended(accepts: frozenset[str], text: str, lines: Lines, path: str, piece: Piece, outer: int) -> Diagnostic:
    last = significant(text, *piece) or piece[1]
    word = _LAST_TOKEN.search(text[piece[0] : last].rsplit("\n", 1)[-1])
    first = last - len(word[0]) if word else last
    span = lines.span(first, last)
    bracket = opened(text, outer, last)
    if bracket is not None and accepts & {"RBRACE", "RPAR", "RSQB"}:
        where = lines.span(bracket, bracket + 1)
        message = f"the `{text[bracket]}` of line {where.line}, column {where.column} is never closed"
        return Diagnostic(Code.NOT_CLOSED, message, span, path, f"expected {_phrase(accepts)}")
    found = f" after `{_shorten(word[0])}`" if word else ""
    return Diagnostic(Code.SYNTAX, f"expected {_phrase(accepts)}{found}", span, path)


def _mixes(token: Token, accepts: frozenset[str], text: str) -> bool:
    if text.startswith("known") and "RPAR" not in accepts:
        return False
    return (token.type, "_OR" in accepts, "_AND" in accepts) in (("_AND", True, False), ("_OR", False, True))


def _hint(token: Token, accepts: frozenset[str], text: str, lines: Lines, outer: int, at: int) -> str:
    if token.type == "EQUAL" and at and text[at - 1] == "=":
        return "write a single `=` to define"
    if token.type == "EQUAL" and "SIGN" in accepts:
        return "write `==` to compare"
    if hint := spelling_hint(token, accepts, _before(text, at)):
        return hint
    if token.type == "NUMBER" and "DURATION" in accepts:
        return f"write the unit: `{token}s`, `{token}m`, `{token}h` or `{token}d`"
    if at and text[at - 1] == '"':
        return 'a quote inside a string is written `\\"`'
    if token.type in ("ALLOW", "DENY", "_REQUIRE") and "_WHEN" in accepts:
        bracket = opened(text, outer, at)
        first = _HEAD.search(text, outer if bracket is None else bracket, at)
        earlier = f", that of line {lines.span(first.start(1), first.end()).line}" if first else ""
        return f"a rule has one verdict{earlier}; begin another `rule`"
    if "_RULE" in accepts and token in (*CLAUSE_WORDS, *HEAD_WORDS):
        return "write verdicts and clauses inside `rule ID { … }`"
    if token.type == "STRING" and accepts >= {"LPAR", "NAME"}:
        return "a test begins with a path, a condition's name or `(`"
    if "RPAR" in accepts or "RSQB" in accepts:
        bracket = opened(text, outer, at)
        if bracket is not None and text[bracket] != "{":
            where = lines.span(bracket, bracket + 1)
            return f"the `{text[bracket]}` of line {where.line}, column {where.column} is still open"
    if token[:1].isalpha():
        words = [name.strip("_").lower() for name in accepts if name not in _WORDS]
        return did_you_mean(token.lower(), words)
    return ""


def _before(text: str, at: int) -> str:
    """The line up to the offset `at`."""
    return text[text.rfind("\n", 0, at) + 1 : at]


def _phrase(accepts: frozenset[str]) -> str:
    left = set(accepts) - {_END} or set(accepts)
    phrases: list[str] = []
    for group, phrase in _GROUPS:
        if group <= left:
            phrases.append(phrase)
            left -= group
    left -= {"_OR_KIND"} if "_OR" in left else set()
    phrases += sorted(_WORDS.get(name, f"`{name.strip('_').lower()}`") for name in left)
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
