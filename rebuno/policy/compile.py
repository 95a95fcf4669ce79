"""From text to a policy: parse, check, assemble."""

from collections.abc import Sequence

from rebuno.errors import BundleError
from rebuno.model.decision import PERMISSIVE, Decision, Verdict
from rebuno.policy.assemble import digest, from_tree
from rebuno.policy.check import check
from rebuno.policy.decide import Policy, Ruling
from rebuno.policy.diagnostics import Code, Diagnostic, Severity
from rebuno.policy.parse import parse
from rebuno.policy.source import NOWHERE, Source
from rebuno.policy.subjects import Index


def compile_bundle(source: Source) -> Policy:
    """The policy of one bundle.

    Raises:
        BundleError: the bundle has errors; all of them are in it, and there is no policy, never a smaller one.
    """
    bundle, found = parse(source)
    found = [d for d in (*found, *check(bundle)) if d.severity is Severity.ERROR]
    if found:
        raise BundleError(found)
    return from_tree(bundle, source)


def compile_text(text: str, *, name: str = "bundle") -> Policy:
    """The policy of a bundle given as text; `name` counts where it has no `bundle` line.

    Raises:
        BundleError: the bundle has errors.
    """
    return compile_bundle(Source(text, stem=name))


def compile_policy(sources: Sequence[Source]) -> Policy:
    """The policy of an agent's bundles, one a layer.

    Raises:
        BundleError: a bundle has errors, there is none, or there are several.
    """
    if len(sources) == 1:
        return compile_bundle(sources[0])
    code = Code.NOT_BUILT_YET if sources else Code.UNREADABLE_FILE
    message = "not built yet: layers" if sources else "a policy needs at least one bundle"
    raise BundleError([Diagnostic(code, message, NOWHERE)])


def permissive() -> Policy:
    """The policy that allows everything; only for where it was asked for."""
    stamp = digest(())
    last: Index[Ruling] = Index((), (None, True, Decision(Verdict.ALLOW, PERMISSIVE, bundle=PERMISSIVE, digest=stamp)))
    return Policy(PERMISSIVE, stamp, (), (), {}, last)
