"""What a rule may ask for and this kernel does not enforce yet; delete a row when it does."""

from typing import Final

from rebuno.errors import BundleError
from rebuno.policy.decide import Policy
from rebuno.policy.diagnostics import Code, Diagnostic
from rebuno.policy.syntax import Budget, Limit, Rule

UNENFORCED: Final = {
    Limit: "limit",
    Budget: "budget",
}


def refuse_unenforced(policy: Policy) -> None:
    """Refuses a policy that asks for more than the kernel does: it would be a weaker one than its author wrote.

    Raises:
        BundleError: with every such clause.
    """
    found = []
    for bundle in policy.bundles:
        rules = [statement for statement in bundle.statements if isinstance(statement, Rule)]
        for clause in (clause for rule in rules for clause in rule.clauses):
            word = UNENFORCED.get(type(clause))
            if word is not None:
                message = f"not built yet: the kernel does not enforce `{word}` yet"
                help = "take it out; `rebuno policy test` and `explain` know it already"
                found.append(Diagnostic(Code.NOT_BUILT_YET, message, clause.span, bundle.path, help))
    if found:
        raise BundleError(found)
