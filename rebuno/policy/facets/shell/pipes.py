"""Which command of a pipe reads what another one writes, and nothing else."""

from collections.abc import Iterator

from tree_sitter import Node


def pipes_of(pipeline: Node) -> Iterator[tuple[int, int]]:
    """For each command whose input is the output of the one before it: where it begins, and where that one does."""
    outer = pipeline.parent
    if outer is not None and outer.type == "redirected_statement" and not all(map(_writes, outer.children[1:])):
        return
    parts = pipeline.children
    for before, sign, after in zip(parts, parts[1:], parts[2:], strict=False):
        kept = before.type == "redirected_statement" and all(map(_writes_errors, before.children[1:]))
        first = before.children[0] if kept else before
        if sign.type == "|" and _is_plain(first) and _is_plain(after):
            yield after.start_byte, first.start_byte


def _writes(redirect: Node) -> bool:
    return redirect.type == "file_redirect" and any(child.type in (">", ">>") for child in redirect.children[:2])


def _writes_errors(redirect: Node) -> bool:
    return _writes(redirect) and redirect.children[0].text == b"2"


def _is_plain(node: Node) -> bool:
    return node.type == "command" and not any(child.type.endswith("_redirect") for child in node.children)
