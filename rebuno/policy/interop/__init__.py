"""Bundles in other forms: YAML bundles of the published kernel, JSON trees, differences."""
