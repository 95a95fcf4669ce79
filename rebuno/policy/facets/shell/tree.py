"""The parser's tree of a shell text, and the checks that hold its reading to bash's own where the two may differ."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from rebuno.policy.facets.shell.words import (
    Expansions,
    UncertainShellError,
    Word,
    check_body,
    check_operand,
    plain_word,
    read_word,
)

MAX_SHELL_BYTES: Final = 64 * 1024
MAX_PIPES: Final = 1000
_CHUNK: Final = 1024
_MAX_READS: Final = 4000

EXPANSIONS: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
STATEMENTS: Final = frozenset(
    {
        "program", "list", "pipeline", "negated_command", "subshell", "compound_statement", "if_statement",
        "elif_clause", "else_clause", "while_statement", "for_statement", "c_style_for_statement", "case_statement",
        "case_item", "do_group", "redirected_statement", "command", "declaration_command", "unset_command",
        "test_command", "variable_assignment", "variable_assignments",
    }
)  # fmt: skip
# A keyword that stands where a command may begin, so that something must have ended the command before it.
_CLOSING: Final = frozenset({"then", "do", "done", "fi", "else", "elif", "esac", "}"})
_CLAUSES: Final = frozenset({"do_group", "elif_clause", "else_clause"})

_LANGUAGE: Final = Language(tree_sitter_bash.language())
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PIPE: Final = re.compile(rb"(?<!\|)\|(?!\|)")
_NEVER_GLUED: Final = (b"", b" ", b"\t", b"-", b"&")
_LOOK_BACK: Final = 64
# The parser loses the word `-` before a redirect of this kind.
_DASH_BEFORE_TEXT: Final = re.compile(rb"(?<=[ \t])-(?=[ \t]*<<)")
_DIGITS: Final = re.compile(rb"(?:^|[\s;&|()<>])[0-9]+\Z")
_SECOND: Final = re.compile(rb"(?:\\\n)*\(")
_SPACE: Final = re.compile(rb"[ \t\n]*")
_METACHARACTERS: Final = b";&|()<>\n"
_VARIABLE: Final = re.compile(rb"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
_BRACED: Final = re.compile(
    rb"\$\{#?(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*])(?:\[(?:[0-9]+|[@*])\])?"
    rb"(?P<operation>:[0-9]+(?::[0-9]+)?(?=\})|:?[-=+?]|##?|%%?|//?|\^\^?|,,?)?"
)
_SUM: Final = re.compile(rb"[0-9\s+\-*/%<>=!&|^~?:,()]*")
_VARIABLES_TOO: Final = re.compile(rb"[\w\s+\-*/%<>=!&|^~?:;,()$#]*")
_DELIMITER: Final = re.compile(rb"\\?([A-Za-z_][A-Za-z0-9_]*)|'([A-Za-z0-9_]+)'|\"([A-Za-z0-9_]+)\"")
_REST_OF_LINE: Final = re.compile(rb"[^'`()\\#\"\n]*(?:\"[^'`()\\#\"\n]*\"[^'`()\\#\"\n]*)*")


def _parse(data: bytes) -> Node:
    # The tree, given up at the first error, and where the parser goes over the text again and again.
    reads = 0

    def read(offset: int, _: object) -> bytes:
        nonlocal reads
        reads += 1
        return data[offset : offset + _CHUNK] if reads <= _MAX_READS else b""

    def stop(_: int, error: bool) -> bool:
        return error

    try:
        root = Parser(_LANGUAGE).parse(read, progress_callback=stop).root_node
    except ValueError:
        raise UncertainShellError from None
    if root.has_error or reads > _MAX_READS:
        raise UncertainShellError
    return root


class ShellSource:
    """A text and its tree; every method raises `UncertainShellError` where bash may read the place otherwise."""

    __slots__ = ("data", "root")

    def __init__(self, text: str) -> None:
        if len(text) > MAX_SHELL_BYTES or _CONTROL.search(text):
            raise UncertainShellError
        try:
            self.data = text.encode()
        except UnicodeEncodeError:
            raise UncertainShellError from None
        if len(self.data) > MAX_SHELL_BYTES:
            raise UncertainShellError
        # The parser's way out of an error can take quadratic time where pipes have piled up before it.
        if len(_PIPE.findall(self.data)) > MAX_PIPES:
            raise UncertainShellError
        # INVARIANT: the tree is that of a text of the same length, and all words are taken from `data`.
        self.root = _parse(_DASH_BEFORE_TEXT.sub(b"_", self.data))

    def text(self, node: Node) -> bytes:
        """What stands at a node."""
        return self.data[node.start_byte : node.end_byte]

    # ------------------------------------------------------------ what stands between nodes

    def tile(self, nodes: Sequence[Node], start: int, end: int, *, lines: bool) -> None:
        """Check that the nodes and blanks make up the text from `start` to `end`; `lines`: line breaks too."""
        at, before = start, None
        for node in nodes:
            self._gap(before, node, at, node.start_byte, lines)
            at, before = node.end_byte, node
        if end > at:
            self._gap(before, None, at, end, lines)

    def _gap(self, before: Node | None, after: Node | None, start: int, end: int, lines: bool) -> None:
        if not lines and self.data[start:end] == b" ":
            return
        gap = self.data[start:end].replace(b"\\\n", b"")
        broken = b"\n" in gap
        if not _SPACE.fullmatch(gap) or (broken and not lines):
            raise UncertainShellError
        if before is None or after is None:
            return
        if not gap and not self._parts(before, after, self.data[start - 1], self.data[end]):
            raise UncertainShellError
        ended = broken or self.data[start - 1] in b";&"
        if lines and before.is_named and not ended and before.type != "comment":
            # Nothing ends the command before it, so bash takes what follows for its arguments.
            commands = before.type in STATEMENTS and before.type != "case_item" and after.type in STATEMENTS
            if commands or after.type in _CLOSING or after.type in _CLAUSES:
                raise UncertainShellError

    def _parts(self, before: Node, after: Node, last: int, first: int) -> bool:
        # Whether what stands side by side is parted by an operator; two words would be one to bash.
        if not before.is_named and (last in _METACHARACTERS or before.type in ("`", "<<-")):
            return True
        if after.is_named:
            return after.type.endswith("_redirect") and first in b"<>&"
        return first in _METACHARACTERS or after.type == "`"

    def comment(self, node: Node) -> None:
        """Check that a comment ends with its line. In backticks it ends before, with them."""
        text = self.text(node)
        if b"`" in text or self.data[node.end_byte : node.end_byte + 1] not in (b"", b"\n"):
            raise UncertainShellError

    # ------------------------------------------------------------ words and what expands in them

    def expansions(self, nodes: Iterable[Node]) -> Iterator[tuple[Node, bool]]:
        """The outermost expansions at or below these nodes, each with whether it stands in double quotes."""
        stack = [(node, False) for node in nodes]
        while stack:
            node, quoted = stack.pop()
            if node.type in EXPANSIONS:
                yield node, quoted
            else:
                quoted = quoted or node.type == "string"
                stack.extend((child, quoted) for child in node.children)

    def places(self, found: Iterable[tuple[Node, bool]]) -> Expansions:
        """Where expansions begin and end. The parser counts blanks before one in quotes to it."""
        places: dict[int, tuple[int, bool]] = {}
        for node, _ in found:
            text = self.text(node)
            start = node.end_byte - len(text.lstrip(b" \t\n"))
            places[start] = (node.end_byte, node.type != "process_substitution")
        return places

    def word(self, node: Node) -> tuple[Word, list[tuple[Node, bool]]]:
        """The word at a node, and the expansions in it."""
        plain = plain_word(self.data, node.start_byte, node.end_byte)
        if plain is not None:
            return plain, []
        found = list(self.expansions([node]))
        return read_word(self.data, node.start_byte, node.end_byte, self.places(found)), found

    def variable(self, node: Node) -> None:
        """Check `$name`."""
        if not _VARIABLE.fullmatch(self.text(node).lstrip(b" \t\n")):
            raise UncertainShellError

    def braced(self, node: Node) -> tuple[str | None, list[tuple[Node, bool]]]:
        """Check `${…}`: the name that it assigns, or None, and the expansions in it.

        Whatever evaluates an index or a text as code is doubtful: `${!x}`, `${x@P}`, `${x[i]}`, `${x:i}`.
        """
        text = self.text(node)
        start = node.end_byte - len(text.lstrip(b" \t\n"))
        head = _BRACED.match(self.data, start, node.end_byte)
        if head is None or (head["operation"] is None and head.end() != node.end_byte - 1):
            raise UncertainShellError
        found = list(self.expansions(node.children))
        check_operand(self.data, head.end(), node.end_byte - 1, self.places(found))
        return (head["name"].decode() if (head["operation"] or b"").endswith(b"=") else None), found

    def no_descriptor(self, redirect: Node) -> None:
        """Check that no word is glued to a redirect that bash takes for its descriptor: `2>f` and `{name}>f` are one
        redirect each, also where the parser has seen a word and a redirect."""
        start = redirect.start_byte
        if self.data[start - 1 : start] in _NEVER_GLUED:
            return
        before = self.data[max(0, start - _LOOK_BACK) : start].replace(b"\\\n", b"")
        if before.endswith(b"}") or _DIGITS.search(before):
            raise UncertainShellError

    def no_sum(self, opening: Node) -> None:
        """Check that a bracket is not the first of two side by side, in which bash sees a sum first."""
        if _SECOND.match(self.data, opening.end_byte):
            raise UncertainShellError

    def arithmetic(self, nodes: Sequence[Node], start: int, end: int) -> tuple[bool, list[tuple[Node, bool]]]:
        """Check a sum: whether it holds variables (what they hold is evaluated, and can run a command), and the
        commands that it runs."""
        found = [(node, quoted) for node, quoted in self.expansions(nodes) if node.type != "simple_expansion"]
        parts: list[bytes] = []
        at = start
        for node, _ in sorted(found, key=lambda one: one[0].start_byte):
            parts.append(self.data[at : node.start_byte])
            at = node.end_byte
        parts.append(self.data[at:end])
        outside = b" ".join(parts)
        if outside.count(b"(") != outside.count(b")") or not _VARIABLES_TOO.fullmatch(outside):
            raise UncertainShellError
        return not _SUM.fullmatch(outside) or bool(found), found

    # ------------------------------------------------------------ here-documents

    def here_document(self, node: Node) -> tuple[list[Node], list[tuple[Node, bool]]]:
        """Check `<<END …`: what else stands on its line, and the expansions in its body."""
        children = node.children
        if len(children) < 3 or children[1].type != "heredoc_start" or children[-1].type != "heredoc_end":
            raise UncertainShellError
        operator, opening, closing = children[0], children[1], children[-1]
        if operator.type not in ("<<", "<<-"):
            raise UncertainShellError
        self.tile([operator, opening], operator.start_byte, opening.end_byte, lines=False)
        delimiter = _DELIMITER.fullmatch(self.text(opening))
        line_end = self.data.find(b"\n", opening.end_byte)
        rest = self.data[opening.end_byte : line_end]
        if delimiter is None or line_end < 0 or b"<<" in rest or not _REST_OF_LINE.fullmatch(rest):
            raise UncertainShellError
        body_end, last_end = self._body(line_end + 1, delimiter[delimiter.lastindex or 1], operator.type == "<<-")
        if last_end != closing.end_byte:
            raise UncertainShellError
        same_line = [child for child in children[2:-1] if child.type != "heredoc_body"]
        self.tile([opening, *same_line], opening.start_byte, line_end, lines=False)
        if self.text(opening)[:1] in b"'\"\\":
            return same_line, []
        found = list(self.expansions(child for child in children[2:-1] if child.type == "heredoc_body"))
        check_body(self.data, line_end + 1, body_end, self.places(found))
        return same_line, [(expansion, True) for expansion, _ in found]

    def _body(self, start: int, delimiter: bytes, tabs: bool) -> tuple[int, int]:
        # Where the body ends, and where the line that closes it does.
        at = start
        while at <= len(self.data):
            end = self.data.find(b"\n", at)
            end = len(self.data) if end < 0 else end
            line = self.data[at:end]
            if (line.lstrip(b"\t") if tabs else line) == delimiter:
                return at, end
            at = end + 1
        raise UncertainShellError
