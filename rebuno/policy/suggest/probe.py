"""Asks the language itself whether a condition holds of a call, so that a suggestion means what it was found by."""

from collections.abc import Iterable

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.conditions import BundleNames
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.sessions import in_session, of_session
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.diagnostics import Severity
from rebuno.policy.syntax.link import link_bundle
from rebuno.policy.syntax.source import Source


class Probe:
    """Conditions, ready to be asked. `statements` are the lines of the bundle that they name things of."""

    def __init__(self, statements: Iterable[str], conditions: Iterable[str]) -> None:
        self._names = {condition: f"c{number}" for number, condition in enumerate(dict.fromkeys(conditions))}
        lines = ["bundle probe", 'default deny because "a probe"', *statements]
        lines += [f"condition {name} = {condition}" for condition, name in self._names.items()]
        bundle, mistakes = link_bundle(Source("\n".join(lines) + "\n", stem="probe"))
        found = [d for d in (*mistakes, *check_bundle(bundle, warn=False)) if d.severity is Severity.ERROR]
        if found:
            raise AssertionError(f"a suggested condition does not compile: {found[0]}")
        self._bundle: tree.Bundle = bundle
        self._compiled: dict[str, BundleNames] = {}

    def holds(self, condition: str, facts: Facts) -> bool:
        """Whether the condition is yes, beyond doubt."""
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
