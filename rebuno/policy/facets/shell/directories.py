"""Where each command of one shell text may stand, as the text changes the directory on the way.

A place is a tuple: `""` (where the text begins), `"/"` or `"~"`, and the names from there on. A set of places is a
frozenset; None where it is not known.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tree_sitter import Node

from rebuno.policy.facets.shell.directory_changes import DirectoryChange
from rebuno.policy.facets.shell.tree import STATEMENTS
from rebuno.policy.facets.shell.words import UncertainShellError

Place = tuple[str, ...]
Spots = frozenset[Place] | None

HERE: Final[Spots] = frozenset({("",)})
MAX_PLACES: Final = 4
# A place with more names, or longer ones, is not known: each word below it would cost as much to read.
MAX_NAMES: Final = 32
MAX_LETTERS: Final = 512

_SUBSTITUTION: Final = re.compile(rb"`|[$<>](?:\\\n)*\(")
# How often each step may be taken anew for the loops around it.
_ROUNDS: Final = 16
# What a text may hold that is more than commands one behind the other.
_OTHER: Final = re.compile(rb"[`<>(){}]|(?<!&)&(?!&)|(?<!\|)\|(?!\|)")
_ENDS: Final = frozenset({";", "\n", "comment"})
_JOINTS: Final = frozenset({"&&", "||"})
_PIPES: Final = frozenset({"|", "|&"})
_SIGNS: Final = frozenset({*_JOINTS, *_PIPES, "!"})
_CHAINS: Final = frozenset({"list", "pipeline", "negated_command", "redirected_statement"})
_LOOPS: Final = frozenset({"while_statement", "for_statement", "c_style_for_statement"})
_BODIES: Final = frozenset({"do_group", "compound_statement"})
_ELSES: Final = frozenset({"elif_clause", "else_clause"})
_SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})


def moved(spots: Spots, to: str | None) -> Spots:
    """Where a change of directory to `to` leads from there."""
    if to is None:
        return None
    if spots is None:
        # From the root and from home it leads to one place, wherever it began.
        return _few([joined(("",), to)]) if to[:1] in ("/", "~") else None
    return _few([joined(place, to) for place in spots])


def joined(place: Place, to: str) -> Place:
    """The place that a path leads to from there, by its words alone."""
    names = list(place) if to[:1] not in ("/", "~") else [to[:1]]
    for name in to.lstrip("~").split("/"):
        if name != "..":
            if name not in ("", "."):
                names.append(name)
        elif len(names) > 1 and names[-1] != "..":
            names.pop()
        elif names[0] != "/":
            names.append("..")
    return tuple(names)


def text_of(place: Place) -> str:
    """The place as a path; the empty text for the one where the text begins."""
    if place[0] == "/":
        return "/" + "/".join(place[1:])
    text = "/".join(place if place[0] else place[1:])
    # A directory whose name begins with `~` is no home.
    return f"./{text}" if text[:1] == "~" and not place[0] else text


def _few(places: Iterable[Place]) -> Spots:
    found = frozenset(places)
    if len(found) > MAX_PLACES:
        return None
    for one in found:
        if len(one) > MAX_NAMES or sum(map(len, one)) > MAX_LETTERS:
            return None
    return found


def union(one: Spots, other: Spots) -> Spots:
    """One of the two."""
    if one is other:
        return one
    if one is None or other is None:
        return None
    # Each place is one of a set that was found small enough.
    both = one | other
    return both if len(both) <= MAX_PLACES else None


class _Op(Enum):
    NOTE = auto()  # what begins at this byte stands here
    MOVE = auto()  # the command at this byte has run
    NEXT = auto()  # `;`, a line break, `!`: whether what came before succeeded is not looked at
    AND = auto()
    OR = auto()
    AND_DONE = auto()
    OR_DONE = auto()
    ENTER = auto()  # a shell of its own begins
    LEAVE = auto()
    CHOOSE = auto()  # `if` begins, or with 1 `case`
    THEN = auto()
    ITEM = auto()  # a branch ends; with 1 the next one may run after it
    CHOSEN = auto()
    LOOP = auto()
    WHILE = auto()  # the condition of a loop has run
    AGAIN = auto()


Step = tuple[_Op, int]
_ITEM: Final[Step] = (_Op.ITEM, 0)
_Items = list[Node | Step]


def spots(root: Node, moves: Mapping[int, DirectoryChange], start: Spots) -> Callable[[int], Spots]:
    """Where the commands and redirects of a text stand, by where they begin. `moves` are the commands that change the
    directory, by where they begin; `start` is where the text begins. Takes time linear in the text."""
    plain = _straight(root)
    if plain is not None:
        return _walked(plain, moves, start).get
    try:
        return _run(_Tape(root).steps, moves, start).get
    except UncertainShellError:
        return lambda at: None


def _straight(root: Node) -> list[tuple[str, int]] | None:
    """The commands of a text, by where they begin, each with the sign before it, where there is nothing but commands
    between `&&`, `||`, `;` and line breaks; None for any other text."""
    if _OTHER.search(root.text or b"<"):
        return None
    found: list[tuple[str, int]] = []
    joint = ";"
    stack = [*reversed(root.children)]
    while stack:
        node = stack.pop()
        kind = node.type
        if kind == "command":
            found.append((joint, node.start_byte))
            joint = ";"
        elif kind == "list":
            stack.extend(reversed(node.children))
        elif kind in _JOINTS:
            joint = kind
        elif kind not in _ENDS:
            return None
    return found


def _walked(
    commands: Sequence[tuple[str, int]], moves: Mapping[int, DirectoryChange], start: Spots
) -> dict[int, Spots]:
    # What `_run` says of the same text, which most texts are like, without laying it out.
    noted: dict[int, Spots] = {}
    sure = perhaps = start
    for joint, at in commands:
        before = sure, perhaps
        if joint == "&&":
            perhaps = sure
        else:
            sure = perhaps
        noted[at] = perhaps
        if at in moves:
            sure = moved(perhaps, moves[at].to)
            perhaps = union(perhaps, sure)
        if joint == "||":
            sure = union(sure, before[0])
        if joint != ";":
            perhaps = union(perhaps, before[1])
    return noted


class _Tape:
    """Lays a text out as steps in the order in which bash takes them, loops once."""

    def __init__(self, root: Node) -> None:
        self.steps: list[Step] = []
        self.stack: _Items = []
        text = root.text or b"`<"
        # Whether words may hold commands, and whether there are redirects; where not, they need no look.
        self.deep = _SUBSTITUTION.search(text) is not None
        self.wide = self.deep or b"<" in text or b">" in text
        self._push(self._statements(root.children))
        while self.stack:
            item = self.stack.pop()
            if isinstance(item, tuple):
                self.steps.append(item)
            elif item.type in STATEMENTS:
                self._push(self._chain(item))
            elif item.type in _SUBSTITUTIONS:
                self._push(self._shell(item.children))
            else:
                # Whatever runs inside a word, a redirect or a sum runs in a shell of its own.
                if item.type == "file_redirect":
                    self.steps.append((_Op.NOTE, item.start_byte))
                if self.deep or item.type.endswith("_redirect"):
                    self._push(item.children)

    def _push(self, items: Sequence[Node | Step]) -> None:
        self.stack.extend(reversed(items))

    def _shell(self, children: Sequence[Node]) -> _Items:
        return [(_Op.ENTER, 0), *self._statements(children), (_Op.LEAVE, 0)]

    def _statements(self, children: Sequence[Node]) -> _Items:
        items: _Items = []
        first = True
        for at, child in enumerate(children):
            if child.type not in STATEMENTS:
                if self.deep:
                    items.append(child)
                continue
            if not first:
                items.append((_Op.NEXT, 0))
            first = False
            apart = at + 1 < len(children) and children[at + 1].type == "&"
            items += [(_Op.ENTER, 0), child, (_Op.LEAVE, 0)] if apart else [child]
        return items

    # ------------------------------------------------------------ lists and pipes

    def _chain(self, node: Node) -> _Items:
        # The parser's nesting of `a && b > f | c` is not bash's, so it is taken apart and put together again.
        items: _Items = []
        for joint, pipe in _split(_flat(node), _JOINTS):
            if joint:
                items.append((_Op.AND if joint == "&&" else _Op.OR, 0))
            parts = [[one for one in part if one != "!"] for _, part in _split(pipe, _PIPES)]
            for part in parts:
                steps = self._part(part)
                items += [(_Op.ENTER, 0), *steps, (_Op.LEAVE, 0)] if len(parts) > 1 else steps
            if "!" in pipe:
                items.append((_Op.NEXT, 0))
            if joint:
                items.append((_Op.AND_DONE if joint == "&&" else _Op.OR_DONE, 0))
        return items

    def _part(self, nodes: Sequence[Node | str]) -> _Items:
        # One command with its redirects; a command may also be made of redirects and the words behind them.
        there = [node for node in nodes if not isinstance(node, str)]
        bodies = [node for node in there if node.type in STATEMENTS]
        if not there or len(bodies) > 1:
            raise UncertainShellError
        body = bodies[0] if bodies else there[0]
        items: _Items = [(_Op.NOTE, body.start_byte), *(node for node in there if node.type not in STATEMENTS)]
        if not bodies:
            return [*items, (_Op.MOVE, body.start_byte)]
        if body.type == "command":
            return [*items, *(body.children if self.wide else ()), (_Op.MOVE, body.start_byte)]
        if body.type in _CHAINS:
            raise UncertainShellError
        return [*items, *self._compound(body)]

    # ------------------------------------------------------------ compound commands

    def _compound(self, node: Node) -> _Items:
        children = node.children
        if node.type == "subshell":
            return self._shell(children)
        if node.type == "if_statement":
            return [(_Op.CHOOSE, 0), *self._branches(children), (_Op.CHOSEN, 0)]
        if node.type in _LOOPS:
            return self._loop(children)
        if node.type == "case_statement":
            return self._case(children)
        if node.type in ("compound_statement", "do_group"):
            return self._statements(children)
        return list(children)

    def _branches(self, children: Sequence[Node]) -> _Items:
        # INVARIANT: each branch ends with an `ITEM`, so that what follows begins where the condition failed.
        then = next((at for at, child in enumerate(children) if child.type == "then"), None)
        if then is None:
            return self._statements(children)
        end = next((at for at, child in enumerate(children) if child.type in _ELSES), len(children))
        items = [*self._statements(children[:then]), (_Op.THEN, 0), *self._statements(children[then:end]), _ITEM]
        for clause in children[end:]:
            items += self._branches(clause.children) if clause.type in _ELSES else []
        return items

    def _loop(self, children: Sequence[Node]) -> _Items:
        body = next((at for at, child in enumerate(children) if child.type in _BODIES), None)
        if body is None:
            raise UncertainShellError
        inner = self._compound(children[body])
        if children[0].type not in ("while", "until"):
            return [*children[:body], (_Op.LOOP, 0), *inner, (_Op.AGAIN, 0)]
        head = self._statements(children[:body])
        return [(_Op.LOOP, 0), *head, (_Op.WHILE, int(children[0].type == "until")), *inner, (_Op.AGAIN, 0)]

    def _case(self, children: Sequence[Node]) -> _Items:
        items: _Items = [child for child in children if child.type != "case_item"]
        items.append((_Op.CHOOSE, 1))
        for child in children:
            if child.type == "case_item":
                falls = any(token.type in (";&", ";;&") for token in child.children)
                items += [*self._statements(child.children), (_Op.ITEM, int(falls))]
        return [*items, (_Op.CHOSEN, 0)]


def _flat(node: Node) -> list[Node | str]:
    # A chain as bash reads it: commands, each with its redirects behind it, and the signs between them.
    found: list[Node | str] = []
    stack = [node]
    while stack:
        here = stack.pop()
        if here.type in _CHAINS:
            stack.extend(reversed(here.children))
        elif here.type == "heredoc_redirect":
            # What follows on the line stands before the body in the text, and is not a part of the command.
            line = [child for child in here.children if child.type != "heredoc_body"]
            found += [child for child in here.children if child.type == "heredoc_body"]
            stack.extend(reversed(line))
        elif here.type in _SIGNS:
            found.append(here.type)
        elif here.is_named and here.type != "comment":
            found.append(here)
        elif here.type not in ("<<", "<<-", "\n", "comment"):
            raise UncertainShellError
    return found


def _split(items: Sequence[Node | str], signs: frozenset[str]) -> list[tuple[str, list[Node | str]]]:
    # The runs between the signs, each with the one before it.
    runs: list[tuple[str, list[Node | str]]] = [("", [])]
    for item in items:
        if isinstance(item, str) and item in signs:
            runs.append((item, []))
        else:
            runs[-1][1].append(item)
    return runs


@dataclass(slots=True)
class _DirectoryFrame:
    """What is under way: where a list, a shell, a choice or a loop began, and what it has come to so far."""

    sure: Spots = frozenset()  # where it may stand if it has succeeded
    perhaps: Spots = frozenset()  # where it may stand at all
    other: Spots = frozenset()  # where the next branch begins
    step: int = 0


def _run(steps: Sequence[Step], moves: Mapping[int, DirectoryChange], start: Spots) -> dict[int, Spots]:
    # INVARIANT: `perhaps` of a statement holds every place that a part of it may stand in, in this shell; so `break`
    # and `continue` lead nowhere else.
    noted: dict[int, Spots] = {}
    sure = perhaps = start
    frames: list[_DirectoryFrame] = []
    at, left = 0, _ROUNDS * len(steps)
    while at < len(steps):
        op, number = steps[at]
        at += 1
        left -= 1
        if left < 0:
            raise UncertainShellError
        match op:
            case _Op.NOTE:
                noted[number] = perhaps
            case _Op.MOVE:
                if number in moves:
                    sure = moved(perhaps, moves[number].to)
                    perhaps = union(perhaps, sure)
            case _Op.NEXT:
                sure = perhaps
            case _Op.AND:
                frames.append(_DirectoryFrame(perhaps=perhaps))
                perhaps = sure
            case _Op.AND_DONE:
                perhaps = union(perhaps, frames.pop().perhaps)
            case _Op.OR:
                frames.append(_DirectoryFrame(sure, perhaps))
                sure = perhaps
            case _Op.OR_DONE:
                frame = frames.pop()
                sure, perhaps = union(sure, frame.sure), union(perhaps, frame.perhaps)
            case _Op.ENTER:
                frames.append(_DirectoryFrame(perhaps=perhaps))
            case _Op.LEAVE:
                sure = perhaps = frames.pop().perhaps
            case _Op.CHOOSE:
                frames.append(_DirectoryFrame(perhaps, perhaps, perhaps) if number else _DirectoryFrame())
            case _Op.THEN:
                frames[-1].other, perhaps = perhaps, sure
            case _Op.ITEM:
                frame = frames[-1]
                frame.sure, frame.perhaps = union(frame.sure, sure), union(frame.perhaps, perhaps)
                if number:
                    frame.other = union(frame.other, perhaps)
                sure = perhaps = frame.other
            case _Op.CHOSEN:
                frame = frames.pop()
                sure, perhaps = union(sure, frame.sure), union(perhaps, frame.perhaps)
            case _Op.LOOP:
                frames.append(_DirectoryFrame(perhaps=perhaps, step=at))
            case _Op.WHILE:
                frames[-1].other = union(frames[-1].other, perhaps)
                perhaps = perhaps if number else sure
                sure = perhaps
            case _Op.AGAIN:
                frame = frames[-1]
                grown = union(union(frame.perhaps, frame.other), perhaps)
                sure = perhaps = grown
                if grown == frame.perhaps:
                    frames.pop()
                else:
                    frame.perhaps, at = grown, frame.step
    return noted
