"""From texts to a policy: link, check, assemble."""

from collections.abc import Sequence

from rebuno.errors import BundleError
from rebuno.model.decision import PERMISSIVE, Decision, Verdict
from rebuno.policy.check.bundle import check
from rebuno.policy.collecting import paused
from rebuno.policy.matcher.build import digest, from_tree, packages_of
from rebuno.policy.matcher.index import Index
from rebuno.policy.matcher.policy import Layer, Layers, Policy, Ruling
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, Severity
from rebuno.policy.syntax.link import link
from rebuno.policy.syntax.source import NOWHERE, Source
from rebuno.policy.syntax.tree import Bundle, BundleLine

YAML = (".yaml", ".yml")


def compile_bundle(source: Source) -> Policy:
    """The policy of one bundle.

    Raises:
        BundleError: the bundle has errors; all of them are in it, and there is no policy, never a smaller one.
    """
    return compile_policy([source])


def compile_text(text: str, *, name: str = "bundle") -> Policy:
    """The policy of a bundle given as text; `name` counts where it has no `bundle` line.

    Raises:
        BundleError: the bundle has errors, or uses files.
    """
    return compile_bundle(Source(text, stem=name))


@paused()
def compile_policy(sources: Sequence[Source]) -> Policy:
    """The policy of an agent's bundles, one a layer, outermost first; the strictest verdict wins. A source whose path
    ends in `.yaml` or `.yml` is a YAML bundle.

    Raises:
        BundleError: a bundle has errors, two have one name, or there is none; all errors of all bundles are in it.
    """
    if not sources:
        raise BundleError([Diagnostic(Code.UNREADABLE_FILE, "a policy needs at least one bundle", NOWHERE)])
    bundles = []
    sources, found = _as_rules(sources)
    for source in sources:
        bundle, mistakes = link(source)
        found += [d for d in (*mistakes, *check(bundle, warn=False)) if d.severity is Severity.ERROR]
        bundles.append(bundle)
    found += _same_names(bundles)
    if found:
        raise BundleError(found)
    return from_trees(list(zip(bundles, sources, strict=True)))


def from_trees(pairs: Sequence[tuple[Bundle, Source]]) -> Policy:
    """The policy of trees that were linked and checked already, each with its source, outermost layer first.

    Raises:
        BundleError: a condition is too large to be evaluated.
    """
    stamp = digest([(source, bundle.files) for bundle, source in pairs], packages_of([bundle for bundle, _ in pairs]))
    layers = [from_tree(bundle, source, stamp) for bundle, source in pairs]
    return layers[0] if len(layers) == 1 else Layers(layers)


def permissive() -> Policy:
    """The policy that allows everything; only for where it was asked for."""
    stamp = digest(())
    last: Index[Ruling] = Index((), (None, True, Decision(Verdict.ALLOW, PERMISSIVE, bundle=PERMISSIVE, digest=stamp)))
    return Layer(PERMISSIVE, stamp, (), (), {}, last)


def _as_rules(sources: Sequence[Source]) -> tuple[list[Source], list[Diagnostic]]:
    if not any(source.path.endswith(YAML) for source in sources):
        return list(sources), []
    # Few policies are YAML; the others do not wait for its reader.
    from rebuno.policy.interop.yaml_convert import as_rules

    rules: list[Source] = []
    found: list[Diagnostic] = []
    for source in sources:
        try:
            rules.append(as_rules(source))
        except BundleError as error:
            found += error.diagnostics
    return rules, found


def _same_names(bundles: Sequence[Bundle]) -> list[Diagnostic]:
    # Rule ids are unique in a bundle only, and the journal names a rule by both.
    found = []
    first: dict[str, Bundle] = {}
    for bundle in bundles:
        if bundle.name in first:
            message = f"two layers are named `{bundle.name}`; the first is `{first[bundle.name].path}`"
            place = next((line.name.span for line in bundle.statements if isinstance(line, BundleLine)), NOWHERE)
            help = "begin one of them with a `bundle` line of its own"
            found.append(Diagnostic(Code.DUPLICATE_BUNDLE, message, place, bundle.path, help))
        first.setdefault(bundle.name, bundle)
    return found
