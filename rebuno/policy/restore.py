"""Compiles a policy again from its stored texts, without any file."""

from collections.abc import Sequence
from pathlib import Path

from rebuno.errors import BundleError
from rebuno.model.collector import paused
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.compile import from_trees, permissive_policy
from rebuno.policy.matcher.build import packages_of
from rebuno.policy.matcher.build import policy_digest as stamp
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, Severity
from rebuno.policy.syntax.link import link_bundle
from rebuno.policy.syntax.source import NO_SPAN, Source
from rebuno.policy.syntax.tree import Bundle, File


@paused()
def restore_policy(digest: str, sources: Sequence[tuple[str, str]]) -> Policy:
    """The policy of that digest, from the (path, text) pairs of its `sources`: each bundle, then the files it uses.

    Raises:
        BundleError: the texts give no policy or another policy, as with another version of the language or of a facet
            package.
    """
    anyone = permissive_policy()
    if digest == anyone.digest:
        return anyone
    pairs: list[tuple[Bundle, Source]] = []
    found: list[Diagnostic] = []
    rest = list(sources)
    while rest:
        (path, text), *rest = rest
        source = Source(text, path, _stem(path), Path(path).parent)
        bundle, mistakes = link_bundle(source, dict(reversed(rest)))
        found += [d for d in (*mistakes, *check_bundle(bundle, warn=False)) if d.severity is Severity.ERROR]
        pairs.append((bundle, source))
        del rest[: len(bundle.files)]
    if found:
        raise BundleError(found)
    policy = from_trees(pairs) if pairs else None
    if policy is None or policy.digest != digest:
        message = f"the texts kept under the digest `{digest[:12]}…` do not make that policy here"
        help = "use the versions of rebuno and of the facet packages that the run began with, or run without `pin`"
        raise BundleError([Diagnostic(Code.UNREADABLE_FILE, message, NO_SPAN, "", help)])
    return policy


def texts_make_policy(digest: str, sources: Sequence[tuple[str, str]]) -> bool | None:
    """Whether the stored (path, text) pairs are those of the policy with that digest. None if that is unknown, because
    a facet package that they use may have had another version."""
    if digest == permissive_policy().digest:
        return True
    layers: list[tuple[Source, Sequence[File]]] = []
    bundles: list[Bundle] = []
    rest = list(sources)
    while rest:
        (path, text), *rest = rest
        source = Source(text, path, _stem(path), Path(path).parent)
        try:
            bundle, _ = link_bundle(source, dict(reversed(rest)))
        except ValueError:
            # No file can have such a path.
            return False
        # The hash leaves a byte order mark out, so the texts are compared too.
        if [file.text for file in bundle.files] != [text for _, text in rest[: len(bundle.files)]]:
            return False
        layers.append((source, bundle.files))
        bundles.append(bundle)
        del rest[: len(bundle.files)]
    packages = packages_of(bundles)
    if layers and stamp(layers, packages) == digest:
        return True
    return None if packages else False


def _stem(path: str) -> str:
    return Source("").stem if path == Source("").path else Path(path).stem
