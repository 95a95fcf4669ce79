"""The names of a bundle: who defines them, of what sort they are, who uses them, and which conditions go in circles."""

from typing import Final

from rebuno.policy import syntax as s
from rebuno.policy.diagnostics import Code, Report, line_of
from rebuno.policy.names import FIXED_IDS, RESERVED, did_you_mean

Definition = s.Let | s.Known | s.Condition

DEEPEST: Final = 200  # levels of a condition with the conditions that it names
WIDEST: Final = 100_000  # tests of a condition with the conditions that it names


def sort_of(definition: Definition) -> str:
    """What a definition is, with its article."""
    if isinstance(definition, s.Known):
        return "a `known`"
    if isinstance(definition, s.Condition):
        return "a `condition`"
    value = definition.value
    if isinstance(value, s.Literal):
        return "a string" if isinstance(value.value, str) else "a number"
    return "a list"


class Names:
    """The namespace that `let`, `known` and `condition` share."""

    def __init__(self, bundle: s.Bundle, report: Report) -> None:
        self._report = report
        self._defined: dict[str, Definition] = {}
        self._used: set[str] = set()
        self._broken = bundle.broken
        self._circles: set[frozenset[str]] = set()
        # Names may come from a file that is used.
        self._open = any(isinstance(statement, s.Use) for statement in bundle.statements)
        # Of each condition: the conditions that it names and how deep, its own depth, the number of its nodes.
        self._mentions: dict[str, list[tuple[s.Name, int]]] = {}
        self._depths: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        own = [statement for statement in bundle.statements if isinstance(statement, s.Let | s.Known | s.Condition)]
        # Used files come first, so that a clash is found where it can be mended.
        for statement in sorted(own, key=lambda definition: definition.name.span.path == bundle.path):
            self._define(statement)

    def _define(self, statement: Definition) -> None:
        name = statement.name
        first = self._defined.setdefault(name.text, statement)
        if first is not statement:
            message = f"the name `{name.text}` is defined twice; first at {line_of(first.name.span, name.span)}"
            self._report.error(Code.DUPLICATE_NAME, message, name.span, "rename or remove one of the two")
        elif name.text in RESERVED:
            message = f"`{name.text}` is a word of the language"
            self._used.add(name.text)
            self._report.error(Code.RESERVED_NAME, message, name.span, f"call it `{name.text}_` or `my_{name.text}`")

    def find(self, name: s.Name, hint: str = "") -> Definition | None:
        """What `name` stands for; None, after a finding, where nothing is known about it. The use counts."""
        self._used.add(name.text)
        found = self._defined.get(name.text)
        if found is None and name.text not in self._broken and not self._open:
            help = did_you_mean(name.text, list(self._defined)) or hint
            help = help or "define it with `let`, `known` or `condition`"
            self._report.error(Code.UNKNOWN_NAME, f"the name `{name.text}` is not defined", name.span, help)
        return found

    def peek(self, name: str) -> Definition | None:
        """What `name` stands for, without a finding where it stands for nothing."""
        if name in self._defined:
            self._used.add(name)
        return self._defined.get(name)

    def grows(self, condition: str, depth: int) -> None:
        """Counts one more node of `condition`, `depth` levels down."""
        self._depths[condition] = max(self._depths.get(condition, 0), depth)
        self._sizes[condition] = self._sizes.get(condition, 0) + 1

    def mention(self, condition: str, name: s.Name, depth: int) -> None:
        """Notes that `condition` names another, `depth` levels down."""
        self._mentions.setdefault(condition, []).append((name, depth))

    def unused(self, path: str) -> None:
        """Warns of the definitions in a file that nobody uses."""
        for name, definition in self._defined.items():
            if name not in self._used and definition.name.span.path in ("", path):
                message = f"{sort_of(definition)} that nobody uses: `{name}`"
                self._report.warning(Code.UNUSED_NAME, message, definition.name.span, "use it or remove it")

    def circles(self) -> None:
        """Reports conditions that name themselves, directly or through others, and those that grow beyond bounds."""
        depths: dict[str, int] = {}
        sizes: dict[str, int] = {}
        for start in self._mentions:
            trail: dict[str, None] = {}  # the way here, in order
            stack = [start]
            while stack:
                name = stack[-1]
                if name in depths:
                    stack.pop()
                elif name in trail:
                    # Everything that it names is measured.
                    stack.pop()
                    del trail[name]
                    self._measure(name, depths, sizes)
                else:
                    trail[name] = None
                    for mention, _ in self._mentions.get(name, ()):
                        if mention.text in trail:
                            self._circle(mention, list(trail))
                        elif mention.text not in depths:
                            stack.append(mention.text)

    def _circle(self, mention: s.Name, trail: list[str]) -> None:
        circle = trail[trail.index(mention.text) :]
        if frozenset(circle) in self._circles:
            return
        self._circles.add(frozenset(circle))
        way = " → ".join(f"`{name}`" for name in [*circle, mention.text])
        self._report.error(
            Code.CYCLE, f"the condition goes in a circle: {way}", mention.span, "take one name out of it"
        )

    def _measure(self, name: str, depths: dict[str, int], sizes: dict[str, int]) -> None:
        mentions = self._mentions.get(name, ())
        depth = max([self._depths.get(name, 0), *(at + depths.get(m.text, 0) for m, at in mentions)])
        size = self._sizes.get(name, 0) + sum(sizes.get(m.text, 0) for m, _ in mentions)
        definition = self._defined.get(name)
        if definition is not None and (depth > DEEPEST or size > WIDEST):
            message = f"the condition `{name}`, with those that it names, is deeper than {DEEPEST} or has more than "
            self._report.error(Code.TOO_DEEP, f"{message}{WIDEST:,} tests", definition.name.span, "make it simpler")
            depth, size = 0, 0
        depths.setdefault(name, depth)
        sizes.setdefault(name, size)


def check_ids(rules: list[s.Rule], report: Report) -> None:
    """Reports rule ids that occur twice or that the kernel keeps for itself."""
    first: dict[str, s.Name] = {}
    for rule in rules:
        name = rule.id
        if name.text.startswith("__") or name.text in FIXED_IDS:
            message = f"the kernel keeps the rule id `{name.text}` for itself"
            report.error(Code.RESERVED_NAME, message, name.span, "choose another id")
        earlier = first.setdefault(name.text, name)
        if earlier is not name:
            message = f"two rules have the id `{name.text}`; the first is at line {earlier.span.line}"
            report.error(Code.DUPLICATE_ID, message, name.span, "rename one of the two")
