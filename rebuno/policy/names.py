"""The words of the language: what is reserved, where paths may start, which facets and types there are."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from rebuno.model.decision import DEFAULT, LOCAL, PERMISSIVE

STATEMENTS: Final = ("bundle", "default", "let", "use", "workdir", "home", "known", "condition", "rule")
HEADS: Final = ("allow", "deny", "require")
CLAUSES: Final = ("when", "unless", "because", "limit", "budget", "approvers", "quorum", "expires", "message")
KINDS: Final = ("tool", "llm", "local")
ROOTS: Final = ("args", "input", "target", "agent", "it", "item", "result", "this")
TYPES: Final = ("string", "number", "integer", "boolean", "list", "object", "null")

_REST: Final = (
    "version", "file", "require", "approval", "for", "step", "per", "execution", "tokens", "each", "all", "agents",
    "together", "else", "wait", "up", "to", "if", "unavailable", "and", "or", "not", "any", "every", "no", "in", "like",
    "matches", "contains", "starts", "ends", "with", "under", "given", "missing", "is", "has", "ignoring", "case",
    "after", "count", "during", "where", "of", "at", "approved", "true", "false", "null",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facet:
    """A reading of a value. `many` tells whether it gives a set, `value` is the type of what it gives."""

    name: str
    value: str
    doc: str
    many: bool = False


FACETS: Final = {
    facet.name: facet
    for facet in (
        Facet("path", "string", "a path after resolving `.`, `..`, `workdir` and `home`"),
        Facet("name", "string", "a path's last segment"),
        Facet("extension", "string", "a path's extension with its dot, lower case"),
        Facet("host", "string", "a URL's host"),
        Facet("scheme", "string", "a URL's scheme"),
        Facet("port", "number", "a URL's port, or its scheme's default"),
        Facet("address", "string", "a URL's host where it is an IP address"),
        Facet("domain", "string", "the domain of exactly one e-mail address"),
        Facet("link", "string", "the URLs in a text", many=True),
        Facet("email", "string", "the e-mail addresses in a text", many=True),
        Facet("command", "list", "the simple commands of a shell text, each a list of words", many=True),
        Facet("program", "string", "the programs that a shell text runs", many=True),
        Facet("redirect", "string", "the files that a shell text's output goes to", many=True),
        Facet("statement", "string", "the types of the statements of an SQL text", many=True),
        Facet("table", "string", "the tables that an SQL text names", many=True),
        Facet("date", "date", "a calendar day"),
        Facet("number", "number", "the number in a text"),
        Facet("text", "string", "a scalar's text, or the texts of all scalars and keys"),
        Facet("size", "number", "the length of a string, list or object"),
    )
}

RESERVED: Final = frozenset({*STATEMENTS, *HEADS, *CLAUSES, *KINDS, *ROOTS, *TYPES, *_REST, *FACETS})

# Ids that name what decided where no rule did.
FIXED_IDS: Final = frozenset({DEFAULT, LOCAL, PERMISSIVE, "bundle-error"})


def suggestion(word: str, candidates: "frozenset[str] | tuple[str, ...] | list[str]", cutoff: float = 0.6) -> str:
    """The candidate that `word` was probably meant to be, else an empty string."""
    close = get_close_matches(word, sorted(candidates), n=1, cutoff=cutoff)
    return close[0] if close else ""


def did_you_mean(word: str, candidates: "frozenset[str] | tuple[str, ...] | list[str]") -> str:
    """A hint (`did you mean …`), or an empty string where nothing comes close."""
    close = suggestion(word, candidates)
    return f"did you mean `{close}`?" if close else ""
