"""What equal tests have in common, so that what is found out about one of them is found out once."""

from rebuno.policy.syntax.tree import ListLiteral, Literal, Op, PathPart, Quantifier, Test

Texts = tuple[str, ...]
Shape = tuple[Op, bool, bool, Quantifier | None, Texts, str, tuple[PathPart, ...], str | Texts | None]


def shape(test: Test) -> Shape | None:
    """Everything of a test but its places. None where it is none of the usual ones: those ask one path, for texts that
    they write down themselves or for nothing."""
    operand, right = test.operand, test.right
    if test.block is not None or len(operand.paths) != 1:
        return None
    asked: str | Texts | None = None
    if isinstance(right, Literal):
        # INVARIANT: texts only. 1, 1.0 and true are equal in Python.
        if type(right.value) is not str:
            return None
        asked = right.value
    elif isinstance(right, ListLiteral):
        texts = [item.value for item in right.items if isinstance(item, Literal) and type(item.value) is str]
        if len(texts) != len(right.items):
            return None
        asked = tuple(texts)
    elif right is not None:
        return None
    path = operand.paths[0]
    facets = tuple([name.text for name in operand.facets]) if operand.facets else ()
    return (test.op, test.negated, test.ignoring_case, operand.quantifier, facets, path.root, path.parts, asked)
