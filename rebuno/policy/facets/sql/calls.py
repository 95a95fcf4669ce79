"""The functions that a text of SQL calls, as its tokens tell.

Trees have lost how a function was written (`len` and `char_length` are one node), so the tokens are asked: a name
before a bracket is a call, unless the language itself puts a bracket there. A name too many is safe where rules list
what may run; a call that is not seen is not. So each exception below is a place where no server reads a call.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from rebuno.policy.facets.sql.names import LONGEST, Name, UnclearError


def words(text: str) -> frozenset[str]:
    """The words of a text, for a list that people read."""
    return frozenset(text.split())


# Words that are reserved where a bracket may follow them, in every server that matters.
_RESERVED: Final = words(
    "all and as between case cast check default distinct else exists except from group having in intersect lateral "
    "limit not on or references returning select table then union unique using values when where with"
)
# Words that are operators after a value, and names of functions elsewhere.
_OPERATORS: Final = words(
    "against div escape glob ilike is join like match mod offset over filter regexp rlike set xor"
)
# After these a bracket holds no arguments: `as materialized (`, `on conflict (`, `then insert (`, `primary key (`.
_AFTER: Final = {
    "materialized": ("as", "not"),
    "conflict": ("on",),
    "key": ("primary", "foreign", "unique", "duplicate"),
    "insert": ("then",),
    "set": ("update",),
    "sets": ("grouping",),
    "join": ("left", "right", "full", "inner", "outer", "cross", "natural"),
}
# Called without brackets.
_BARE: Final = words(
    "current_catalog current_date current_role current_schema current_time current_timestamp current_user localtime "
    "localtimestamp session_user system_user sysdate systimestamp utc_date utc_time utc_timestamp"
)
# Types with a size, in the columns of a new table.
_SIZED: Final = words(
    "bit char character dec decimal double enum float int integer nchar numeric nvarchar bigint smallint tinyint set "
    "time timestamp timestamptz varbinary varbit varchar varying binary datetime number"
)
_QUERY: Final = frozenset({"select", "with", "("})
_VALUE_ENDS: Final = frozenset({
    TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER, TokenType.VAR,
    TokenType.PLACEHOLDER, TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.END,
})  # fmt: skip
# Names to the tokenizer that are operators to some server: a call may follow.
_MORE_OPERATORS: Final = words(
    "binary div document first last member mod next of only passing return separator symmetric to value xor zone"
)
_OF_INDEX: Final = words("bitmap clustered fulltext nonclustered spatial unique")
_SOURCES: Final = frozenset({"from", "join"})


class Calls:
    """Finds the calls in the tokens of one text.

    `columned` are the names, in lower case, of `with` parts and aliases that list their columns: `t(a, b)`.
    """

    def __init__(self, tokens: Sequence[Token], columned: Collection[str]) -> None:
        self._tokens = tokens
        self._columned = columned
        self._words = [None if token.token_type is TokenType.STRING else token.text.lower() for token in tokens]
        self._begin = 0  # where the statement begins
        self._opening: dict[int, int] = {}  # of each closing bracket
        opened: list[int] = []
        for at, token in enumerate(tokens):
            if token.token_type is TokenType.L_PAREN:
                opened.append(at)
            elif token.token_type is TokenType.R_PAREN and opened:
                self._opening[at] = opened.pop()

    def found(self) -> Iterator[Name]:
        """Each call's name, as lower-case parts."""
        fresh = True
        for at, token in enumerate(self._tokens):
            if token.token_type is TokenType.SEMICOLON:
                fresh = True
                continue
            if fresh:
                self._begin, fresh = at, False
            if token.token_type is TokenType.L_PAREN:
                if at and self._is_name(at - 1):
                    start = self._start(at - 1)
                    if not self._no_call(start, at):
                        yield self._named(start, at)
            elif self._bare(at):
                yield (self._words[at] or "",)

    def _named(self, start: int, at: int) -> Name:
        name = tuple(self._words[part] or "" for part in range(start, at, 2))
        if any(len(part.encode()) > LONGEST for part in name):
            raise UnclearError("a name that PostgreSQL shortens")
        return name

    def _word(self, at: int) -> str:
        return self._words[at] or "" if 0 <= at < len(self._words) else ""

    def _quoted(self, at: int) -> bool:
        return self._tokens[at].token_type is TokenType.IDENTIFIER

    def _is_name(self, at: int) -> bool:
        if at < 0:
            return False
        if self._quoted(at):
            return True
        word = self._word(at)
        # The words of `GROUP BY` and their like are one token.
        return bool(word) and (word[0].isalpha() or word[0] in "_$" or not word.isascii()) and " " not in word

    def _start(self, at: int) -> int:
        while at >= 2 and self._tokens[at - 1].token_type is TokenType.DOT and self._is_name(at - 2):
            at -= 2
        return at

    def _bare(self, at: int) -> bool:
        return (
            self._word(at) in _BARE
            and not self._quoted(at)
            and self._word(at + 1) not in ("(", ".")
            and self._word(at - 1) not in (".", "as")
        )

    def _no_call(self, start: int, at: int) -> bool:
        # Whether the language itself puts the bracket at `at` after the name that begins at `start`.
        defines = self._word(self._begin) in ("create", "alter")
        before = self._word(start - 1) if start and not self._quoted(start - 1) else ""
        if start == at - 1 and not self._quoted(start):
            word = self._word(start)
            if word in _RESERVED or (word == "copy" and start == self._begin) or before in _AFTER.get(word, ()):
                return True
            if word in _OPERATORS and self._after_a_value(start):
                return True
            if word in ("any", "some") and self._word(at + 1) in ("select", "with", "values"):
                return True
            if defines and word in _SIZED and self._sized(start, at):
                return True
        elif start == at - 1:
            word = self._word(start)
        else:
            word = ""
        if before in ("as", "::"):  # a type, or an alias with columns
            return True
        plain = self._names_only(at)
        if before in ("into", "insert") and plain:  # the columns of `insert into t (…)`
            return True
        if defines and before in ("table", "exists", "view", "references"):
            return True
        if defines and before == "on" and self._of_index():
            return True
        if not plain or word not in self._columned:
            return False
        if before in ("with", "recursive", ","):
            return self._begins_query(self._after_bracket(at))
        return self._follows_source(start)

    def _of_index(self) -> bool:
        second = self._word(self._begin + 1)
        return second == "index" or (second in _OF_INDEX and self._word(self._begin + 2) == "index")

    def _after_a_value(self, at: int) -> bool:
        if self._word(at - 1) == "not" and not self._quoted(at - 1):
            at -= 1
        if at and self._tokens[at - 1].token_type in _VALUE_ENDS:
            return self._quoted(at - 1) or self._word(at - 1) not in _MORE_OPERATORS
        return False

    def _sized(self, start: int, at: int) -> bool:
        end = self._after_bracket(at) - 1
        literal = (TokenType.NUMBER, TokenType.STRING, TokenType.COMMA)
        return self._is_name(start - 1) and all(token.token_type in literal for token in self._tokens[at + 1 : end])

    def _names_only(self, at: int) -> bool:
        # Whether the bracket holds names and nothing else: a list of columns.
        for inner in range(at + 1, len(self._tokens)):
            kind = self._tokens[inner].token_type
            if kind is TokenType.R_PAREN:
                return inner > at + 1
            if kind is not TokenType.COMMA and not self._is_name(inner):
                return False
        return False

    def _after_bracket(self, at: int) -> int:
        depth = 0
        for inner in range(at, len(self._tokens)):
            kind = self._tokens[inner].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if not depth:
                return inner + 1
        return len(self._tokens)

    def _begins_query(self, at: int) -> bool:
        # `t(a) as (select`, where `f(x) as (a int)` is a function with the types of its columns.
        if self._word(at) != "as":
            return False
        at += 1
        while self._word(at) in ("not", "materialized"):
            at += 1
        return self._word(at) == "(" and (
            self._word(at + 1) in _QUERY
            or (self._word(at + 1), self._word(at + 2)) in (("values", "("), ("insert", "into"), ("delete", "from"))
        )

    def _follows_source(self, start: int) -> bool:
        # `from (…) t(a)`, `from g(…) t(a)` and `from people t(a)`. No call stands there, but after `distinct on (…)`.
        at = start - 1
        if at >= 0 and self._tokens[at].token_type is TokenType.R_PAREN:
            at = self._opening.get(at, 0) - 1
            if not self._is_name(at) or self._word(at) in _SOURCES:
                return self._word(at) in _SOURCES
        elif at < 0 or self._tokens[at].token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            return False
        return self._word(self._start(at) - 1) in _SOURCES
