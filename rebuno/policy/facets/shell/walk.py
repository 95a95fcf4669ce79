"""Walks the tree of one shell text, without recursion, and collects the simple commands and redirects in it."""

import re
from collections.abc import Iterable
from dataclasses import field, replace
from typing import Final

from tree_sitter import Node

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path.placed import START, Places
from rebuno.policy.facets.shell.pipes import pipes_of
from rebuno.policy.facets.shell.tree import EXPANSIONS, STATEMENTS, ShellSource
from rebuno.policy.facets.shell.variables import ENVIRONMENT, given, may_be_inherited, variables_in
from rebuno.policy.facets.shell.words import UncertainShellError, Word, WordKind, home_path

MAX_DEPTH: Final = 8
MAX_COMMANDS: Final = 10_000

_NESTING: Final = frozenset(
    {
        "subshell", "compound_statement", "if_statement", "while_statement", "for_statement", "c_style_for_statement",
        "case_statement",
    }
)  # fmt: skip
_TOKENS: Final = frozenset(
    {
        ";", "&", "&&", "||", "|", "|&", "(", ")", "{", "}", "!", ";;", ";&", ";;&", "if", "then", "else", "elif", "fi",
        "while", "until", "do", "done", "for", "select", "in", "case", "esac", "$(", "`", "<(", ">(",
    }
)  # fmt: skip
_RESERVED: Final = frozenset(
    {
        b"if", b"then", b"else", b"elif", b"fi", b"do", b"done", b"case", b"esac", b"while", b"until", b"for",
        b"select", b"in", b"function", b"coproc", b"{", b"}", b"!", b"[[", b"]]",
    }
)  # fmt: skip
_ARITHMETIC_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_NAME: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_PATTERN: Final = re.compile(rb"[^\s\\'\"`$<>;&#]+")
_TARGET: Final = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)(?:\[[0-9]+\])?")
_OUTPUT: Final = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_DIGIT: Final = re.compile(rb"[0-9]")
_BOTH: Final = frozenset({"&>", "&>>"})
_CLOSES: Final = frozenset({">&-", "<&-"})
_DESCRIPTOR: Final = re.compile(r"[0-9]+-?")
_TWICE_THE_SAME: Final = re.compile(rb"[A-Za-z0-9_./,:@%+][A-Za-z0-9_./,:@%+-]*")
_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that a redirect opens: for writing if it `writes`, else for reading."""

    writes: bool
    file: Word


Loops = tuple[tuple[str, tuple[Word, ...]], ...]
"""The variables of the `for` loops around a command, each with the words that it stands for in turn."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One simple command: its words (never none), whether its output is redirected to a file, the names that are
    assigned just before it, where it begins in its text, and the directories that it may stand in.

    `redirects` are the files that it, or a compound command around it, is redirected to and from. `loops` are those
    around it, the innermost last. With `home`, `~` and `$HOME` in it are the user's home directory. `variables` are the
    names that are given a value anywhere in the text for more than one command, `drawn` those in their values. `fed`
    are the words of the command whose output, and nothing else, is its input, if that is known.
    """

    words: tuple[Word, ...]
    redirected: bool = False
    assigned: tuple[str, ...] = ()
    at: int = 0
    places: Places = START
    redirects: tuple[Redirect, ...] = ()
    loops: Loops = ()
    home: bool = True
    variables: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    fed: tuple[Word, ...] = ()


@dataclass(slots=True)
class ShellText:
    """What one text holds.

    `root` is its tree. `targets` are the files that output goes to, None for one that is not known, each with the
    place of the redirect in the text. `assigned` are the names that are
    assigned on their own, to count for every command. `hidden` tells that code may run which is not written there,
    `opened` that output goes to a file without a simple command of its own: `> f`, `[[ a ]] > f`, `$(> f)`.
    `redirects` are the files of all redirects, each with its place in the text and the loops around it. `drawn` are the
    names of the variables whose values are given to others. `pipes` tells where a command begins whose output, and
    nothing else, is the input of the one that begins at the key.
    """

    root: Node
    commands: list[SimpleCommand] = field(default_factory=list)
    targets: list[tuple[str | None, int]] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    hidden: bool = False
    opened: bool = False
    redirects: list[tuple[Redirect, int, Loops]] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    pipes: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _NodePlace:
    depth: int
    redirected: bool = False
    quoted: bool = False
    redirects: tuple[Redirect, ...] = ()
    loops: Loops = ()

    def inside(self) -> "_NodePlace":
        """One level deeper."""
        return replace(self, depth=self.depth + 1, quoted=False)


class _Walk:
    def __init__(self, source: ShellSource, depth: int) -> None:
        self.source = source
        # Whether `&>` stands before: to other shells the command ends there, and words behind it begin the next one.
        self.both = False
        self.script = ShellText(source.root)
        self.stack = [(source.root, _NodePlace(depth))]

    def run(self) -> ShellText:
        while self.stack:
            node, place = self.stack.pop()
            if place.depth > MAX_DEPTH or len(self.script.commands) > MAX_COMMANDS:
                raise UncertainShellError
            if node.type in EXPANSIONS:
                self._expansion(node, place)
            elif node.type == "command":
                self._command(node.children, place)
            elif node.type in ("declaration_command", "unset_command"):
                self._declaration(node, place)
            elif node.type == "redirected_statement":
                self._redirected(node, place)
            elif node.type == "test_command":
                self._test(node, place)
            elif node.type == "variable_assignment":
                self.script.assigned.extend(_given(*self._assignment(node, place)))
            elif node.type == "variable_assignments":
                self.source.tile(node.children, node.start_byte, node.end_byte, lines=False)
                self._push(node.children, place)
            elif node.type in STATEMENTS:
                self._statement(node, place)
            else:
                raise UncertainShellError
        return self.script

    def _push(self, nodes: Iterable[Node], place: _NodePlace) -> None:
        self.stack.extend((node, place) for node in reversed(list(nodes)))

    def _push_expansions(self, found: Iterable[tuple[Node, bool]], place: _NodePlace) -> None:
        for node, quoted in found:
            # What an expansion runs has the output of its own.
            inner = _NodePlace(place.depth + 1, place.redirected, quoted or place.quoted, (), place.loops)
            self.stack.append((node, inner))

    def _word(self, node: Node, place: _NodePlace) -> Word:
        word, found = self.source.word(node)
        self._push_expansions(found, place)
        return word

    # ------------------------------------------------------------ statements

    def _statement(self, node: Node, place: _NodePlace) -> None:
        source, children = self.source, node.children
        if node.type == "pipeline":
            self.script.pipes.update(pipes_of(node))
        if node.type in _NESTING:
            place = place.inside()
        if place.redirected and (node.type == "case_statement" or any(child.type == "((" for child in children)):
            # A choice may hold no command, and a sum is none.
            self.script.opened = True
        start, end = (0, len(source.data)) if node.type == "program" else (node.start_byte, node.end_byte)
        opening = next((i for i, child in enumerate(children) if child.type == "(("), None)
        if opening is not None and children[opening + 1 :]:
            # `((…))`, alone or as the head of a loop.
            closing = next((i for i, child in enumerate(children) if child.type == "))"), len(children) - 1)
            start = children[closing].end_byte
            self._sum(children[opening + 1 : closing], children[opening].end_byte, children[closing].start_byte, place)
            children = children[closing + 1 :]
        elif node.type == "subshell":
            source.no_sum(children[0])
        source.tile(children, start, end, lines=True)
        inner: list[Node] = []
        chosen: list[Word] = []
        variable = ""
        for child in children:
            if child.type == "comment":
                source.comment(child)
            elif child.type in STATEMENTS:
                inner.append(child)
            elif child.type == "variable_name" and node.type == "for_statement":
                variable = self._name(child)
                self.script.assigned.extend(given(variable, None))
            elif child.is_named and node.type in ("for_statement", "case_statement", "case_item"):
                # The words of a loop, the value and the patterns of a `case`.
                chosen.append(self._word(child, place))
            elif child.is_named or child.type not in _TOKENS:
                raise UncertainShellError
        if variable and chosen and children[0].type == "for":
            place = replace(place, loops=(*place.loops, (variable, tuple(chosen))))
        self._push(inner, place)

    def _name(self, node: Node) -> str:
        name = self.source.text(node)
        if not _NAME.fullmatch(name):
            raise UncertainShellError
        return name.decode()

    def _redirected(self, node: Node, place: _NodePlace) -> None:
        body, *redirects = node.children
        if body.type == "command":
            self._command([*body.children, *redirects], place)
        elif body.type not in STATEMENTS:
            self._command(node.children, place)
        else:
            self.source.tile(node.children, node.start_byte, node.end_byte, lines=False)
            before, first = len(self.script.targets), len(self.script.redirects)
            extra, later = self._redirects(redirects, place)
            if extra:
                raise UncertainShellError
            opened = (*place.redirects, *(one for one, _, _ in self.script.redirects[first:]))
            redirected = place.redirected or len(self.script.targets) > before
            self._push([body, *later], replace(place, redirected=redirected, quoted=False, redirects=opened))

    # ------------------------------------------------------------ simple commands

    def _command(self, children: list[Node], place: _NodePlace) -> None:
        self.source.tile(children, children[0].start_byte, children[-1].end_byte, lines=False)
        words: list[Word] = []
        assigned: list[str] = []
        later: list[Node] = []
        before, first = len(self.script.targets), len(self.script.redirects)
        self.both = False
        for child in children:
            if child.type.endswith("_redirect"):
                extra, rest = self._redirects([child], place)
                if extra and (self.both or not words):
                    raise UncertainShellError
                words.extend(extra)
                later.extend(rest)
            elif child.type == "variable_assignment" and not words:
                assigned.extend(_given(*self._assignment(child, place)))
            elif child.type in STATEMENTS or self.both or bool(words) is (child.type == "command_name"):
                raise UncertainShellError
            else:
                words.append(self._word(child, place))
                if len(words) == 1 and self.source.text(child) in _RESERVED:
                    raise UncertainShellError
        redirected = place.redirected or len(self.script.targets) > before
        if words:
            opened = (*place.redirects, *(one for one, _, _ in self.script.redirects[first:]))
            self.script.commands.append(
                SimpleCommand(
                    tuple(words),
                    redirected,
                    tuple(assigned),
                    children[0].start_byte,
                    redirects=opened,
                    loops=place.loops,
                )
            )
        else:
            self.script.assigned.extend(assigned)
            self.script.opened = self.script.opened or redirected
        self._push(later, place)

    def _assignment(self, node: Node, place: _NodePlace) -> tuple[str, Word]:
        # The name, and all of it as a word.
        left, operator, *value = node.children
        if left.end_byte != operator.start_byte or len(value) > 1:
            raise UncertainShellError
        target = _TARGET.fullmatch(self.source.text(left))
        if target is None or self.source.text(operator) not in (b"=", b"+="):
            raise UncertainShellError
        if value and value[0].start_byte != operator.end_byte:
            raise UncertainShellError
        name = target[1].decode()
        if value:
            self.script.drawn += variables_in(self.source.text(value[0]).decode())
        word = Word("")
        if value and value[0].type == "array":
            array = value[0]
            self.source.tile(array.children, array.start_byte, array.end_byte, lines=False)
            for child in array.children[1:-1]:
                self._word(child, place)
            word = Word("", kind=WordKind.OPEN)
        elif value:
            word = self._word(value[0], place)
        return name, replace(word, start=f"{name}={word.start}")

    def _declaration(self, node: Node, place: _NodePlace) -> None:
        children = node.children
        self.source.tile(children, node.start_byte, node.end_byte, lines=False)
        words = [Word(self.source.text(children[0]).decode())]
        for child in children[1:]:
            if child.type == "variable_assignment":
                name, word = self._assignment(child, place)
                self.script.assigned.extend(_given(name, word))
                words.append(word)
            else:
                words.append(self._word(child, place))
        self.script.commands.append(self._plain(words, node, place))

    def _plain(self, words: list[Word], node: Node, place: _NodePlace) -> SimpleCommand:
        # A command without redirects and assignments of its own.
        return SimpleCommand(
            tuple(words), place.redirected, at=node.start_byte, redirects=place.redirects, loops=place.loops
        )

    def _test(self, node: Node, place: _NodePlace) -> None:
        source = self.source
        flat: list[Node] = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type in ("unary_expression", "binary_expression", "parenthesized_expression"):
                stack.extend(reversed(child.children))
            else:
                flat.append(child)
        double = flat[0].type == "[["
        if not double and flat[0].type != "[":
            raise UncertainShellError
        source.tile(flat, node.start_byte, node.end_byte, lines=False)
        words: list[Word] = []
        for child in flat:
            text = source.text(child)
            if double and (child.type in ("regex", "extglob_pattern") or not child.is_named):
                if not _PATTERN.fullmatch(text) and text not in (b"<", b">", b"&&"):
                    raise UncertainShellError
                words.append(Word(text.decode()))
            elif text in (b"[", b"]"):
                words.append(Word(text.decode()))
            else:
                words.append(self._word(child, place))
        if not double:
            self.script.commands.append(self._plain(words, node, place))
        else:
            self.script.opened = self.script.opened or place.redirected
            if any(word.known and word.start in _ARITHMETIC_TESTS for word in words):
                self.script.hidden = True

    # ------------------------------------------------------------ redirects

    def _redirects(self, nodes: Iterable[Node], place: _NodePlace) -> tuple[list[Word], list[Node]]:
        # The words that are the command's all the same, and the statements that follow on a here-document's line.
        extra: list[Word] = []
        later: list[Node] = []
        for node in nodes:
            self.source.no_descriptor(node)
            if node.type != "heredoc_redirect":
                extra.extend(self._redirect(node, place))
                continue
            line, found = self.source.here_document(node)
            self._push_expansions(found, place)
            self._prints([self.source.text(each).decode() for each, _ in found], node, place)
            for child in line:
                if child.type == "file_redirect" and not later:
                    self.source.no_descriptor(child)
                    extra.extend(self._redirect(child, place))
                elif child.type in STATEMENTS:
                    later.append(child)
                elif child.is_named and not later:
                    extra.append(self._word(child, place))
                elif child.type not in _TOKENS:
                    raise UncertainShellError
        return extra, later

    def _redirect(self, node: Node, place: _NodePlace) -> list[Word]:
        # The words behind it that are the command's.
        children = node.children
        self.source.tile(children, node.start_byte, node.end_byte, lines=False)
        if children[0].type == "file_descriptor":
            # Other shells take two digits for a word.
            if not _DIGIT.fullmatch(self.source.text(children[0])):
                raise UncertainShellError
            children = children[1:]
        operator, *words = children
        read = [self._word(word, place) for word in words]
        if operator.type in _CLOSES:
            # INVARIANT: these take no word, though the parser counts the next one to them.
            return read
        if not words:
            raise UncertainShellError
        self.both = self.both or operator.type in _BOTH
        if node.type == "file_redirect":
            self._target(operator.type, words, read, node.start_byte, place)
        elif node.type != "herestring_redirect":
            raise UncertainShellError
        else:
            self._prints([word.raw for word in read[:1]], node, place)
        return read[1:]

    def _prints(self, texts: list[str], node: Node, place: _NodePlace) -> None:
        # A command that gets a variable of the environment as its input reads the environment.
        names = [name for text in texts for name in variables_in(text)]
        self.script.drawn += names
        if any(may_be_inherited(name) for name in names):
            self.script.redirects.append((Redirect(False, Word(ENVIRONMENT)), node.start_byte, place.loops))

    def _target(self, operator: str, nodes: list[Node], words: list[Word], at: int, place: _NodePlace) -> None:
        word, raw = words[0], self.source.text(nodes[0])
        # Bash expands what follows these twice, what is quoted too.
        if operator in (">&", "<&") and not _TWICE_THE_SAME.fullmatch(raw):
            raise UncertainShellError
        if operator in ("<", "<&"):
            if word.known and word.start.startswith(_SOCKETS):
                self.script.targets.append((word.start, at))
            if not (operator == "<&" and word.known and _DESCRIPTOR.fullmatch(word.start)):
                self.script.redirects.append((Redirect(False, word), at, place.loops))
        elif operator == ">&" and word.known and _DESCRIPTOR.fullmatch(word.start):
            return
        elif operator in _OUTPUT:
            self.script.redirects.append((Redirect(True, word), at, place.loops))
            if operator == "<>":
                self.script.redirects.append((Redirect(False, word), at, place.loops))
            if word.known:
                if word.start != "/dev/null":
                    self.script.targets.append((None if word.start.startswith("~") else word.start, at))
            else:
                self.script.targets.append((home_path(word), at))
        else:
            raise UncertainShellError

    # ------------------------------------------------------------ expansions

    def _expansion(self, node: Node, place: _NodePlace) -> None:
        source = self.source
        text = source.text(node).lstrip(b" \t\n")
        if node.type == "simple_expansion":
            source.variable(node)
        elif node.type == "expansion":
            name, found = source.braced(node)
            if name is not None:
                self.script.assigned.extend(given(name, None))
            self._push_expansions(found, place)
        elif node.type == "arithmetic_expansion":
            if not (text.startswith(b"$((") and text.endswith(b"))")):
                raise UncertainShellError
            self._sum(node.children[1:-1], node.end_byte - len(text) + 3, node.end_byte - 2, place)
        else:
            # Bash takes backslashes, and in quotes the quotes too, away before it reads what stands in backticks.
            if text.startswith(b"`") and (b"\\" in text or (place.quoted and b'"' in text)):
                raise UncertainShellError
            self._substitution(node, replace(place, quoted=False))

    def _substitution(self, node: Node, place: _NodePlace) -> None:
        children = node.children
        self.source.no_sum(children[0])
        self.source.tile(children, children[0].start_byte, node.end_byte, lines=True)
        inner: list[Node] = []
        for child in children:
            if child.type == "comment":
                self.source.comment(child)
            elif child.type == "file_redirect":
                before = len(self.script.targets)
                self._redirects([child], place)
                self.script.opened = self.script.opened or len(self.script.targets) > before
            elif child.type in STATEMENTS:
                inner.append(child)
            elif child.type not in _TOKENS:
                raise UncertainShellError
        self._push(inner, place)

    def _sum(self, nodes: list[Node], start: int, end: int, place: _NodePlace) -> None:
        variables, found = self.source.arithmetic(nodes, start, end)
        self.script.hidden = self.script.hidden or variables
        self._push_expansions(found, place)


def _given(name: str, word: Word) -> tuple[str, ...]:
    return given(name, word.start.partition("=")[2] if word.known else None)


def walk(text: str, depth: int) -> ShellText:
    """What a shell text holds that stands `depth` levels deep in another.

    Raises:
        UncertainShellError: it cannot be read honestly, or is nested too deep.
    """
    return _Walk(ShellSource(text), depth).run()
