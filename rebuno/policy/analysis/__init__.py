"""The static solver: what can be proved about conditions from their text alone."""
