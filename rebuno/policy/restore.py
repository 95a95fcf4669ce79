"""Compiles a policy again from the texts that were kept of it, without looking at any file."""

from collections.abc import Sequence
from pathlib import Path

from rebuno.errors import BundleError
from rebuno.policy.check.bundle import check
from rebuno.policy.collecting import paused
from rebuno.policy.compile import from_trees, permissive
from rebuno.policy.matcher.build import digest as stamp
from rebuno.policy.matcher.build import packages_of
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, Severity
from rebuno.policy.syntax.link import link
from rebuno.policy.syntax.source import NOWHERE, Source
from rebuno.policy.syntax.tree import Bundle, File


@paused()
def restore(digest: str, sources: Sequence[tuple[str, str]]) -> Policy:
    """The policy of that digest, from the (path, text) pairs of its `sources`: each bundle, then the files it uses.

    Raises:
        BundleError: the texts make no policy, or another one, as they may under another version of the language or of
            a package of facets.
    """
    anyone = permissive()
    if digest == anyone.digest:
        return anyone
    pairs: list[tuple[Bundle, Source]] = []
    found: list[Diagnostic] = []
    rest = list(sources)
    while rest:
        (path, text), *rest = rest
        source = Source(text, path, _stem(path), Path(path).parent)
        bundle, mistakes = link(source, dict(reversed(rest)))
        found += [d for d in (*mistakes, *check(bundle, warn=False)) if d.severity is Severity.ERROR]
        pairs.append((bundle, source))
        del rest[: len(bundle.files)]
    if found:
        raise BundleError(found)
    policy = from_trees(pairs) if pairs else None
    if policy is None or policy.digest != digest:
        message = f"the texts kept under the digest `{digest[:12]}…` do not make that policy here"
        help = "use the versions of rebuno and of the facet packages that the run began with, or run without `pin`"
        raise BundleError([Diagnostic(Code.UNREADABLE_FILE, message, NOWHERE, "", help)])
    return policy


def keeps(digest: str, sources: Sequence[tuple[str, str]]) -> bool | None:
    """Whether the kept (path, text) pairs are those of the policy with that digest; None where that cannot be said: a
    package of facets that they use may have been another version then."""
    if digest == permissive().digest:
        return True
    layers: list[tuple[Source, Sequence[File]]] = []
    bundles: list[Bundle] = []
    rest = list(sources)
    while rest:
        (path, text), *rest = rest
        source = Source(text, path, _stem(path), Path(path).parent)
        try:
            bundle, _ = link(source, dict(reversed(rest)))
        except ValueError:
            # A path that no file can have.
            return False
        # What is hashed of a file is not all of its text: a mark of the byte order at its start is left out.
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
