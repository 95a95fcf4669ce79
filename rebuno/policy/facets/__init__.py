"""Readers of foreign text: what a rule means by `program of`, `host of`, `path of` and the others."""
