"""Where the lines of a statement or clause may break: at its connectives, its lists and its commas."""

from collections.abc import Sequence
from typing import Final

from rebuno.policy.format.layout import STEP, Item, LineBreak, TokenGroup
from rebuno.policy.format.tokens import SourceToken
from rebuno.policy.syntax.keywords import KIND_WORDS

_CONNECTIVES: Final = ("and", "or")
_PARTS: Final = (
    "at",
    "where",
    "since",
    "within",
    "else",
    "if",
    "because",
)  # what a long test, source or clause goes on with


def group(
    tokens: Sequence[SourceToken],
    lead: int = 0,
    *,
    of_kinds: bool = False,
    each_line: bool = False,
    list_of: bool = False,
) -> TokenGroup:
    """The tokens of one statement or clause.

    What follows the first `lead` tokens stands aligned at the column where it begins. With `of_kinds` an `or` parts
    the kinds of a subject, else the tests or sources; with `each_line` each of these takes a line. `list_of` says that
    commas part what is aligned.
    """
    if not lead:
        return TokenGroup(tokens) if len(tokens) < 2 else _body(tokens, of_kinds, each_line, list_of, hung=False)
    return TokenGroup([*tokens[:lead], _body(tokens[lead:], of_kinds, each_line, list_of, hung=True)])


class _GroupFrame:
    """What stands between two parentheses, or outside of all: sections, parted by connectives."""

    def __init__(self, comma: int) -> None:
        # How far what follows a comma is moved in; below the first path after an `at` in parentheses.
        self.comma = comma
        self.parts: list[Item] = []
        self.section: list[Item] = []

    def next_section(self, connective: SourceToken, offset: int, hard: bool) -> None:
        self.parts += [TokenGroup(self.section), LineBreak(offset, hard), connective]
        self.section = []

    def done(self, hung: bool) -> TokenGroup:
        return (
            TokenGroup([*self.parts, TokenGroup(self.section)], hung=hung)
            if self.parts
            else TokenGroup(self.section, hung=hung)
        )


def _body(tokens: Sequence[SourceToken], of_kinds: bool, each_line: bool, list_of: bool, hung: bool) -> TokenGroup:
    frames = [_GroupFrame(0 if list_of else STEP)]
    at = 0
    while at < len(tokens):
        token, frame = tokens[at], frames[-1]
        begin, at = at, at + 1
        following = tokens[at].text if at < len(tokens) else ""
        if token.shape:
            while at < len(tokens) and tokens[at].start < token.ends:
                at += 1
            frame.section += _SHAPES[token.shape](tokens[begin:at])
        elif token.text == "(":
            frame.section.append(token)
            frames.append(_GroupFrame(0))
        elif token.text == ")" and len(frames) > 1:
            inner = frames.pop().done(hung=True)
            frames[-1].section += [inner, token]
        elif token.text in _CONNECTIVES and (of_kinds or following not in KIND_WORDS):
            outer = len(frames) == 1
            # Outside of parentheses the operands stand below each other, inside the connectives do.
            offset = -len(token.text) - 1 if outer and hung else 0
            frame.next_section(token, offset, each_line and outer)
        elif token.text == ",":
            frame.section += [token, LineBreak(frame.comma)]
        elif token.text in _PARTS and frame.section and not each_line:
            frame.section += [LineBreak(STEP), token]
            if len(frames) > 1:
                frame.comma = STEP + len("at ") if token.text == "at" else 0
        else:
            frame.section.append(token)
    return frames[0].done(hung)


def _path(tokens: Sequence[SourceToken]) -> list[Item]:
    return [*tokens]


def _list(tokens: Sequence[SourceToken]) -> list[Item]:
    opened, *items, closed = tokens
    if not items:
        return [opened, closed]
    parts: list[Item] = [opened, LineBreak(STEP)]
    for token in items:
        parts += [token, LineBreak(STEP)] if token.text == "," else [token]
    if closed.comments:
        # They belong to the items.
        parts += [LineBreak(STEP), SourceToken("", closed.start, closed.before, tight=True)]
    return [TokenGroup([*parts, LineBreak(), closed.bare()])]


def _kind(tokens: Sequence[SourceToken]) -> list[Item]:
    parts: list[Item] = []
    for token in tokens[1:]:
        parts += [token, LineBreak()] if token.text == "," else [token]
    return [tokens[0], TokenGroup(parts, hung=True)]


_SHAPES: Final = {"path": _path, "list": _list, "kind": _kind}
