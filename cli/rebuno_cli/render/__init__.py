"""Rendering for terminals, pipes and JSON; the only package that imports rich."""
