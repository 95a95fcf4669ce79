"""Proofs of claims with a solver, which the extra `prove` brings."""
