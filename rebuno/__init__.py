"""Rebuno."""
