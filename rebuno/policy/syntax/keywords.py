"""The keywords of the language: reserved words, roots of paths, types, and names of facets."""

from typing import Final

from rebuno.model.decision import DEFAULT, LOCAL, PERMISSIVE

STATEMENT_WORDS: Final = ("bundle", "default", "let", "use", "workdir", "home", "known", "condition", "rule")
HEAD_WORDS: Final = ("allow", "deny", "require")
CLAUSE_WORDS: Final = (
    *("when", "unless", "because", "limit", "budget", "approvers", "quorum", "expires", "message", "edits"),
)
KIND_WORDS: Final = ("tool", "llm", "local")
ROOT_WORDS: Final = ("args", "input", "target", "agent", "it", "item", "result", "this")
# Words of the second edition. A bundle may use them as names; then they mean what it defines.
SOFT_ROOTS: Final = ("turns", "parent", "definition", "error", "outer")
SOFT_STATEMENTS: Final = ("zone", "effects", "never", "secret")
SOFT_CLAUSES: Final = frozenset({"edits"})
TYPE_WORDS: Final = ("string", "number", "integer", "boolean", "list", "object", "null")

# The built-in facets, each with its module in `facets/`.
FACET_MODULES: Final = {
    "path": "path.facets", "name": "path.facets", "extension": "path.facets",
    "host": "url.facets", "scheme": "url.facets", "port": "url.facets", "address": "url.facets", "link": "url.facets",
    "domain": "mail", "email": "mail", "mailbox": "mail",
    "command": "shell.facets", "program": "shell.facets", "redirect": "shell.facets",
    "option": "shell.options",
    **dict.fromkeys(
        ("read_path", "written_path", "removed_path", "contacted_host", "executed", "unread"), "shell.effects.facets"
    ),
    "statement": "sql.facets", "table": "sql.facets", "written_table": "sql.facets", "function": "sql.facets",
    "date": "date.facets",
    "number": "number", "amount": "amount",
    "text": "text", "size": "text", "word": "words", "key": "keys",
}  # fmt: skip
# Facets of the second edition. Their names are no reserved words: a bundle may define a name of its own alike.
SOFT_FACETS: Final = frozenset(
    {
        "mailbox", "amount", "word", "key", "option",
        "read_path", "written_path", "removed_path", "contacted_host", "executed", "unread",
    }
)  # fmt: skip

_REST: Final = (
    "version", "file", "require", "approval", "for", "step", "per", "execution", "tokens", "each", "all", "agents",
    "together", "else", "wait", "up", "to", "if", "unavailable", "and", "or", "not", "any", "every", "no", "in", "like",
    "matches", "contains", "starts", "ends", "with", "under", "given", "missing", "is", "has", "ignoring", "case",
    "after", "count", "during", "where", "of", "at", "approved", "true", "false", "null",
)  # fmt: skip


RESERVED_WORDS: Final = frozenset(
    {*STATEMENT_WORDS, *HEAD_WORDS, *CLAUSE_WORDS, *KIND_WORDS, *ROOT_WORDS, *TYPE_WORDS, *_REST, *FACET_MODULES}
    - SOFT_FACETS
    - SOFT_CLAUSES
)

# Ids of decisions that no rule made.
FIXED_IDS: Final = frozenset({DEFAULT, LOCAL, PERMISSIVE, "bundle-error"})


def suggestion(word: str, candidates: "frozenset[str] | tuple[str, ...] | list[str]", cutoff: float = 0.6) -> str:
    """The candidate that `word` was probably meant to be, else an empty string."""
    from difflib import get_close_matches

    close = get_close_matches(word, sorted(candidates), n=1, cutoff=cutoff)
    return close[0] if close else ""


def did_you_mean(word: str, candidates: "frozenset[str] | tuple[str, ...] | list[str]") -> str:
    """The hint `did you mean …`, or an empty string if no candidate is close."""
    close = suggestion(word, candidates)
    return f"did you mean `{close}`?" if close else ""
