"""Texts of bundles as trees and as policies."""

from rebuno.policy.matcher.build import from_tree
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.soft_roots import read_soft_roots
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tree import Bundle


def tree_of(text: str) -> Bundle:
    """The syntax tree of a bundle that is a single file."""
    bundle, found = parse_bundle(Source(text))
    assert not found, "\n".join(map(str, found)) + "\n" + text
    return read_soft_roots(bundle)


def policy_of(text: str) -> Policy:
    """The policy of a text that only has to parse."""
    return from_tree(tree_of(text), Source(text))
