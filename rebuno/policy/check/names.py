"""Checks the names of a bundle: definitions, their sorts, their uses, and cycles of conditions."""

from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport, line_of
from rebuno.policy.syntax.keywords import FIXED_IDS, RESERVED_WORDS, did_you_mean

Definition = s.Let | s.Known | s.Condition | s.NamedLimit


def sort_of(definition: Definition) -> str:
    """The sort of a definition, with an article."""
    if isinstance(definition, s.Known):
        return "a `known`"
    if isinstance(definition, s.Condition):
        return "a `condition`"
    if isinstance(definition, s.NamedLimit):
        return "a `limit`"
    value = definition.value
    if isinstance(value, s.Literal):
        return "a string" if isinstance(value.value, str) else "a number"
    return "a list"


class DefinedNames:
    """The namespace that `let`, `known`, `condition` and `limit` share."""

    def __init__(self, bundle: s.Bundle, report: DiagnosticReport) -> None:
        self._report = report
        self._defined: dict[str, Definition] = {}
        self._used: set[str] = set()
        self._broken = bundle.broken
        self._circles: set[frozenset[str]] = set()
        # A file that the bundle uses may define more names.
        self._open = any(isinstance(statement, s.Use) for statement in bundle.statements)
        # For each condition, the conditions that it names.
        self._mentions: dict[str, list[s.Name]] = {}
        own = [statement for statement in bundle.statements if isinstance(statement, Definition)]
        # Definitions of used files come first, so that a clash is reported in the bundle, where the author can fix it.
        for statement in sorted(own, key=lambda definition: definition.name.span.path == bundle.path):
            self._define(statement)

    def _define(self, statement: Definition) -> None:
        name = statement.name
        first = self._defined.setdefault(name.text, statement)
        if first is not statement:
            message = f"the name `{name.text}` is defined twice; first at {line_of(first.name.span, name.span)}"
            self._report.error(Code.DUPLICATE_NAME, message, name.span, "rename or remove one of the two")
        elif name.text in RESERVED_WORDS:
            message = f"`{name.text}` is a word of the language"
            self._used.add(name.text)
            self._report.error(Code.RESERVED_NAME, message, name.span, f"call it `{name.text}_` or `my_{name.text}`")

    def find(self, name: s.Name, hint: str = "") -> Definition | None:
        """The definition of `name`, which counts as used; None, with a diagnostic, for an unknown name."""
        self._used.add(name.text)
        found = self._defined.get(name.text)
        if found is None and name.text not in self._broken and not self._open:
            help = did_you_mean(name.text, list(self._defined)) or hint
            help = help or "define it with `let`, `known` or `condition`"
            self._report.error(Code.UNKNOWN_NAME, f"the name `{name.text}` is not defined", name.span, help)
        return found

    def peek(self, name: str) -> Definition | None:
        """The definition of `name`; None, without a diagnostic, for an unknown name."""
        if name in self._defined:
            self._used.add(name)
        return self._defined.get(name)

    def complete(self, name: str) -> bool:
        """Whether a name that is not defined here is defined nowhere: no file that could not be read may define it."""
        return name not in self._broken and not self._open

    def limits(self) -> list[str]:
        """The names of all limits."""
        return [name for name, definition in self._defined.items() if isinstance(definition, s.NamedLimit)]

    def mention(self, condition: str, name: s.Name) -> None:
        """Records that `condition` names another condition."""
        self._mentions.setdefault(condition, []).append(name)

    def unused(self, path: str) -> None:
        """Warns about the unused definitions of a file."""
        for name, definition in self._defined.items():
            if name not in self._used and definition.name.span.path in ("", path):
                message = f"{sort_of(definition)} that is never used: `{name}`"
                self._report.warning(Code.UNUSED_NAME, message, definition.name.span, "use it or remove it")

    def circles(self) -> list[str]:
        """Reports conditions that name themselves, directly or through others. The result is all conditions that name
        others or are named, each after those that it names."""
        done: dict[str, None] = {}
        for start in self._mentions:
            trail: dict[str, None] = {}  # the conditions on the way to this one, in order
            stack = [start]
            while stack:
                name = stack[-1]
                if name in done:
                    stack.pop()
                elif name in trail:
                    # All conditions that it names are done.
                    stack.pop()
                    del trail[name]
                    done[name] = None
                else:
                    trail[name] = None
                    for mention in self._mentions.get(name, ()):
                        if mention.text in trail:
                            self._circle(mention, list(trail))
                        elif mention.text not in done:
                            stack.append(mention.text)
        return list(done)

    def _circle(self, mention: s.Name, trail: list[str]) -> None:
        circle = trail[trail.index(mention.text) :]
        if frozenset(circle) in self._circles:
            return
        self._circles.add(frozenset(circle))
        way = " → ".join(f"`{name}`" for name in [*circle, mention.text])
        self._report.error(Code.CYCLE, f"the condition names itself: {way}", mention.span, "remove one of these names")


def check_ids(rules: list[s.Rule], report: DiagnosticReport) -> None:
    """Reports duplicate rule ids, and ids that are reserved for the kernel."""
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
