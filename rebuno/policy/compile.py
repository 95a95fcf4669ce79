"""Compiles texts to a policy: link, check, build."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rebuno.errors import BundleError
from rebuno.model.collector import paused
from rebuno.model.decision import PERMISSIVE, Decision, Verdict
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.check.secrets import shown_by_others
from rebuno.policy.matcher.build import from_tree, packages_of, policy_digest
from rebuno.policy.matcher.index import RuleIndex
from rebuno.policy.matcher.policy import FillingLayer, FillingLayers, Layer, Layers, Policy, Ruling, SessionLayer
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, Severity
from rebuno.policy.syntax.link import link_bundle
from rebuno.policy.syntax.source import NO_SPAN, Source, read_source
from rebuno.policy.syntax.tree import Bundle, BundleLine

logger: Final = logging.getLogger("rebuno.policy")

YAML = (".yaml", ".yml")


def compile_bundle(source: Source) -> Policy:
    """The policy of one bundle.

    Raises:
        BundleError: the bundle has errors. The exception lists all of them. There is never a policy of a part of it.
    """
    return compile_policy([source])


def compile_text(text: str, *, name: str = "bundle") -> Policy:
    """The policy of a bundle that is given as a text. `name` is its name if it has no `bundle` line.

    Raises:
        BundleError: the bundle has errors, or uses files.
    """
    return compile_bundle(Source(text, stem=name))


@paused()
def compile_policy(sources: Sequence[Source]) -> Policy:
    """The policy of an agent's bundles. Each bundle is a layer, outermost first; the strictest verdict wins. A source
    whose path ends in `.yaml` or `.yml` is a YAML bundle.

    Raises:
        BundleError: a bundle has errors, two bundles have one name, or there is no bundle. The exception lists all
            errors of all bundles.
    """
    if not sources:
        raise BundleError([Diagnostic(Code.UNREADABLE_FILE, "a policy needs at least one bundle", NO_SPAN)])
    bundles = []
    sources, found = _as_rules(sources)
    for source in sources:
        bundle, mistakes = link_bundle(source)
        found += [d for d in (*mistakes, *check_bundle(bundle, warn=False)) if d.severity is Severity.ERROR]
        bundles.append(bundle)
    found += _same_names(bundles)
    if not found and len(bundles) > 1:
        found += [d for bundle in bundles for d in shown_by_others(bundle, bundles)]
    if found:
        raise BundleError(found)
    return from_trees(list(zip(bundles, sources, strict=True)))


def from_trees(pairs: Sequence[tuple[Bundle, Source]]) -> Policy:
    """The policy of linked and checked trees, each with its source, outermost layer first.

    Raises:
        BundleError: a condition is too large to be evaluated.
    """
    stamp = policy_digest(
        [(source, bundle.files) for bundle, source in pairs], packages_of([bundle for bundle, _ in pairs])
    )
    layers = [from_tree(bundle, source, stamp) for bundle, source in pairs]
    if len(layers) == 1:
        return layers[0]
    return FillingLayers(layers) if any(map(_fills, layers)) else Layers(layers)


def _fills(layer: Layer) -> bool:
    return isinstance(layer.plain if isinstance(layer, SessionLayer) else layer, FillingLayer)


def shadow_policies(paths: Sequence[str | Path]) -> list[Layer]:
    """The bundles at these paths, each by itself, to be tried beside a policy.

    What each says of a step is recorded with the step, and decides nothing. A bundle that cannot be read or has errors
    is reported to the log and left out: it stops nothing.

    Raises:
        TypeError: one path is given in the place of a list.
    """
    if isinstance(paths, str | Path):
        raise TypeError('`shadow` is a list of paths: `shadow=["new.rbp"]`')
    found: list[Layer] = []
    for path in paths:
        try:
            found += compile_bundle(read_source(path)).layers
        except BundleError as error:
            logger.error("the shadow bundle `%s` is left out: %s", path, error)
    return found


def permissive_policy() -> Policy:
    """The policy that allows everything, for users who ask for it."""
    stamp = policy_digest(())
    last: RuleIndex[Ruling] = RuleIndex(
        (), (None, True, Decision(Verdict.ALLOW, PERMISSIVE, bundle=PERMISSIVE, digest=stamp))
    )
    return Layer(PERMISSIVE, stamp, (), (), {}, last)


def _as_rules(sources: Sequence[Source]) -> tuple[list[Source], list[Diagnostic]]:
    if not any(source.path.endswith(YAML) for source in sources):
        return list(sources), []
    # Imported on use: few policies are YAML.
    from rebuno.policy.interop.yaml_convert import rules_source

    rules: list[Source] = []
    found: list[Diagnostic] = []
    for source in sources:
        try:
            rules.append(rules_source(source))
        except BundleError as error:
            found += error.diagnostics
    return rules, found


def _same_names(bundles: Sequence[Bundle]) -> list[Diagnostic]:
    # Rule ids are unique only within a bundle, so the journal names a rule by its bundle and its id.
    found = []
    first: dict[str, Bundle] = {}
    for bundle in bundles:
        if bundle.name in first:
            message = f"two layers are named `{bundle.name}`; the first is `{first[bundle.name].path}`"
            place = next((line.name.span for line in bundle.statements if isinstance(line, BundleLine)), NO_SPAN)
            help = "begin one of them with a `bundle` line of its own"
            found.append(Diagnostic(Code.DUPLICATE_BUNDLE, message, place, bundle.path, help))
        first.setdefault(bundle.name, bundle)
    return found
