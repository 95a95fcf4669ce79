"""Asks the language itself whether a condition holds of a call, so that a suggestion means what it was found by."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.conditions import BundleNames
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.sessions import in_session, of_session
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.diagnostics import Severity
from rebuno.policy.syntax.link import link_bundle
from rebuno.policy.syntax.source import Source


class Tried:
    """Conditions, ready to be asked. `statements` are the lines of the bundle that they name things of."""

    def __init__(self, statements: Iterable[str], conditions: Iterable[str]) -> None:
        named = {condition: f"c{number}" for number, condition in enumerate(dict.fromkeys(conditions))}
        head = ["bundle probe", 'default deny because "a probe"', *statements]
        self._bundle, wrong = _linked(head, named)
        # What the language refuses, such as an odd name of an option, is no way to let a value pass.
        self._names = {condition: name for condition, name in named.items() if name not in wrong}
        if wrong:
            self._bundle, wrong = _linked(head, self._names)
            if wrong:
                raise AssertionError("conditions that were compiled before do not compile again")
        self._compiled: dict[str, BundleNames] = {}

    def holds(self, condition: str, facts: Facts) -> bool:
        """Whether the condition is yes, beyond doubt. One that does not compile never is."""
        if condition not in self._names:
            return False
        facts.tests = 0
        facts.readings = None
        return bool(self._in(facts.workdir).check(self._names[condition], False, None)(facts))

    def _in(self, folder: str) -> BundleNames:
        if folder not in self._compiled:
            bundle = self._bundle
            if folder and of_session(bundle):
                bundle = in_session(bundle, folder)
            self._compiled[folder] = names_of(bundle)
        return self._compiled[folder]


def _linked(head: Sequence[str], named: Mapping[str, str]) -> tuple[tree.Bundle, set[str]]:
    """The bundle, and the names of the conditions that it must not have."""
    lines = [*head, *(f"condition {name} = {condition}" for condition, name in named.items())]
    bundle, mistakes = link_bundle(Source("\n".join(lines) + "\n", stem="probe"))
    found = [d for d in (*mistakes, *check_bundle(bundle, warn=False)) if d.severity is Severity.ERROR]
    starts = list(accumulate((line.count("\n") + 1 for line in lines), initial=1))
    names = list(named.values())
    wrong = set()
    for mistake in found:
        number = bisect_right(starts, mistake.span.line) - 1 - len(head)
        if number < 0:
            raise AssertionError(f"a suggested statement does not compile: {mistake}")
        wrong.add(names[number])
    return bundle, wrong
