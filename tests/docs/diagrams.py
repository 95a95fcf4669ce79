"""A syntax check of the Mermaid diagrams in the pages: the part of Mermaid that the pages use, and no more."""

import re
from typing import Final

_ID: Final = r"[A-Za-z_][\w]*"
# Words that Mermaid reads as its own.
_RESERVED: Final = {"end", "default", "class", "style", "graph", "subgraph"}
_NODE: Final = rf"(?P<{{name}}>{_ID})(?:\[\"[^\"\[\]]+\"\]|\{{{{\"[^\"]+\"\}}}}|\(\[\"[^\"]+\"\]\)|\[\(\"[^\"]+\"\)\])?"
_ARROW: Final = r"(?:-->|-\. [\w ]+ \.->|-- [\w ,]+ -->|<-->)"
_EDGE: Final = re.compile(rf"{_NODE.format(name='left')}(?: {_ARROW} {_NODE.format(name='right')})?")
_SUBGRAPH: Final = re.compile(rf'subgraph {_ID}(?:\["[^"]+"\])?')
_PARTICIPANT: Final = re.compile(rf"(?:participant|actor) (?P<id>{_ID}) as [^;#]+")
_MESSAGE: Final = re.compile(rf"(?P<left>{_ID})(?:->>|-->>)(?P<right>{_ID}): [^;#]+")
_STATE: Final = re.compile(rf"(?P<left>\[\*\]|{_ID}) --> (?P<right>\[\*\]|{_ID})(?:: [^:;#]+)?")


def mistakes(diagram: str) -> list[str]:
    """The lines of a diagram that Mermaid would refuse, or that are outside the part that is checked."""
    head, *lines = [line.strip() for line in diagram.strip().splitlines()]
    lines = [line for line in lines if line]
    match head:
        case "flowchart TD" | "flowchart LR":
            return _flowchart(lines)
        case "sequenceDiagram":
            return _sequence(lines)
        case "stateDiagram-v2":
            return [line for line in lines if not _named(_STATE.fullmatch(line))]
        case _:
            return [head]


def _named(match: re.Match[str] | None) -> bool:
    return match is not None and not _RESERVED & set(match.groupdict().values())


def _flowchart(lines: list[str]) -> list[str]:
    wrong, depth = [], 0
    for line in lines:
        if line == "end":
            depth -= 1
        elif _SUBGRAPH.fullmatch(line):
            depth += 1
        elif not _named(_EDGE.fullmatch(line)):
            wrong.append(line)
    return wrong if depth == 0 else [*wrong, "a subgraph without its end"]


def _sequence(lines: list[str]) -> list[str]:
    wrong, known = [], set()
    for line in lines:
        if found := _PARTICIPANT.fullmatch(line):
            known.add(found["id"])
        elif not (found := _MESSAGE.fullmatch(line)) or not {found["left"], found["right"]} <= known:
            wrong.append(line)
    return wrong
