"""Writes a bundle the one way that all bundles are written."""
