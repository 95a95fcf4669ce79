"""The diagrams of the pages are Mermaid that code hosts render."""

import pytest

from tests.docs.diagrams import mistakes
from tests.docs.pages import Block
from tests.docs.test_pages import BLOCKS

DIAGRAMS = [block for block in BLOCKS if block.sort == "mermaid"]


@pytest.mark.parametrize("block", DIAGRAMS, ids=[f"{block.page}:{block.line}" for block in DIAGRAMS])
def test_diagrams_are_mermaid(block: Block) -> None:
    """A host shows a diagram with a mistake as an error message."""
    assert mistakes(block.body) == []


def test_there_are_diagrams() -> None:
    """The architecture page draws the parts, the way of a submission and the life of a step."""
    assert len([block for block in DIAGRAMS if block.page == "docs/architecture.md"]) == 3


@pytest.mark.parametrize(
    ("diagram", "wrong"),
    [
        ('flowchart TD\n  a["A"] --> b\n', []),
        ('flowchart TD\n  a["A] --> b\n', ['a["A] --> b']),
        ("flowchart TD\n  a -> b\n", ["a -> b"]),
        ("flowchart TD\n  a --> end\n", ["a --> end"]),
        ("flowchart TD\n  subgraph s\n  a --> b\n", ["a subgraph without its end"]),
        ("flow TD\n  a --> b\n", ["flow TD"]),
        ("sequenceDiagram\n  participant A as one\n  A->>A: hello\n", []),
        ("sequenceDiagram\n  participant A as one\n  A->>B: hello\n", ["A->>B: hello"]),
        ("sequenceDiagram\n  participant A as one\n  A->>A: x; y\n", ["A->>A: x; y"]),
        ("stateDiagram-v2\n  [*] --> open: begun\n", []),
        ("stateDiagram-v2\n  [*] -> open\n", ["[*] -> open"]),
    ],
)
def test_mistakes_are_found(diagram: str, wrong: list[str]) -> None:
    """The check can fail."""
    assert mistakes(diagram) == wrong
